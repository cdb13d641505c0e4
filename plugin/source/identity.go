package source

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Identity says which object is meant.
type Identity struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// IdentityOf returns the identity of an object.
func IdentityOf(o *unstructured.Unstructured) Identity {
	return Identity{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// String returns the name of the object as kubectl prints it, such as deployment.apps/web.
func (i Identity) String() string { return strings.ToLower(i.Kind.GroupKind().String()) + "/" + i.Name }

// Title returns the name of the object with its namespace.
func (i Identity) Title() string { return i.String() + i.In() }

// In returns the end of a kubectl command about the object, such as " -n shop". It is empty for an object outside namespaces.
func (i Identity) In() string {
	if i.Namespace == "" {
		return ""
	}
	return " -n " + i.Namespace
}

// IsSecret reports whether the object is a Secret. Most values of Secrets are hidden; see Hidden.
func (i Identity) IsSecret() bool { return i.Kind.Group == "" && i.Kind.Kind == "Secret" }

// MarshalJSON implements json.Marshaler.
func (i Identity) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
	}{i.Kind.GroupVersion().String(), i.Kind.Kind, i.Namespace, i.Name})
}

// inAnyVersion returns the identity without a version, by which others refer to the object.
func (i Identity) inAnyVersion() Identity {
	i.Kind.Version = ""
	return i
}
