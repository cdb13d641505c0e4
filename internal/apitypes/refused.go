package apitypes

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// KeptField is a field of a live object whose value is to be kept in the incoming one.
type KeptField struct {
	Kind schema.GroupKind
	Path fieldpath.Path
	// Live and Incoming are the objects.
	Live, Incoming *jsontree.Node
	// IsKept reports whether another field, one nested under it or a parent of it, is kept as well.
	IsKept func(fieldpath.Path) bool
}

// RefusedUnit returns the reason if the API server refuses the value of a label, an annotation or the resources of a container beside what
// the incoming object sets, as far as the names in the value tell.
func (f KeptField) RefusedUnit() string {
	last := nameAt(f.Path, 1)
	container, isAppArmor := strings.CutPrefix(last, appArmorPrefix)
	switch {
	case isAppArmor && nameAt(f.Path, 2) == "annotations" && !fieldpattern.IsNamed(f.Path[0], "metadata"):
		return f.appArmorOf(container)
	case last == "resources" && nameAt(f.Path, 2) == "": // of an element of a list
		return f.otherResources()
	default:
		return ""
	}
}

// nameAt returns the name of the nth element of a path from its end, which is number 1; "" if it is not the name of a field.
func nameAt(path fieldpath.Path, n int) string {
	if n > len(path) || path[len(path)-n].FieldName == nil {
		return ""
	}
	return *path[len(path)-n].FieldName
}

// podSpecIn returns the pod spec of an object that a field of a pod template belongs to.
func (f KeptField) podSpecIn(o *jsontree.Node) *jsontree.Node {
	at := slices.IndexFunc(f.Path, func(e fieldpath.PathElement) bool { return fieldpattern.IsNamed(e, "template") })
	return o.Find(f.Path[:at+1]).Member("spec")
}

// appArmorPrefix is the prefix of annotations of a pod that name a container (k8s.io/api/core/v1, annotation_key_constants.go), and
// appArmorField the field that replaces them.
const (
	appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/"
	appArmorField  = "appArmorProfile"
)

// appArmorOf returns the reason if the pod template that an annotation belongs to does not have its container, or sets the field that
// replaces the annotation: the two must be equal (ValidateAppArmorPodAnnotations in k8s.io/kubernetes/pkg/apis/core/validation).
func (f KeptField) appArmorOf(container string) string {
	spec := f.podSpecIn(f.Incoming)
	in := cmp.Or(elementNamed(spec.Member("containers"), container), elementNamed(spec.Member("initContainers"), container))
	switch {
	case in == nil:
		return "the manifest removed container " + container
	case in.At("securityContext", appArmorField) != nil || spec.At("securityContext", appArmorField) != nil:
		return "the manifest sets " + appArmorField
	}
	return ""
}

// elementNamed returns the element of a list with a name, nil if there is none.
func elementNamed(list *jsontree.Node, name string) *jsontree.Node {
	return list.Child(fieldpath.PathElement{Key: fieldpath.KeyByFields("name", name)})
}

// otherResources returns the reason if a container's resources name a resource claim that the pod spec does not have, or if the
// manifest sets the resources of the whole pod, which limit those of all its containers together (validatePodResourceConsistency there).
func (f KeptField) otherResources() string {
	spec := f.podSpecIn(f.Incoming)
	if spec.Member("resources") != nil {
		return "the manifest sets resources of the pod"
	}
	for claim := range f.Live.Find(f.Path).Member("claims").Parts() {
		name, _ := claim.Member("name").String()
		if elementNamed(spec.Member("resourceClaims"), name) == nil {
			return "the manifest removed resource claim " + name
		}
	}
	return ""
}

var (
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// Contradicted returns the reason if any field contradicts another one that the incoming object sets: a CA that of a server that it
// removes or does not verify (ValidateCustomResourceConversion in k8s.io/apiextensions-apiserver, ValidateAPIService in
// k8s.io/kube-aggregator), and a request its limit. If both are kept, the API server has accepted them.
func (f KeptField) Contradicted() string {
	inResources := nameAt(f.Path, 3) == "resources" && nameAt(f.Path, 1) != ""
	switch strategy, _ := f.Incoming.At("spec", "conversion", "strategy").String(); {
	case f.Kind == crdKind && fieldpattern.HasPrefix(f.Path, fieldpath.MakePathOrDie("spec", "conversion", "webhook")):
		if strategy != "Webhook" && !f.IsKept(fieldpath.MakePathOrDie("spec", "conversion", "strategy")) {
			return "the manifest removed the conversion webhook"
		}
	case f.Kind == apiServiceKind && f.Path.Equals(fieldpath.MakePathOrDie("spec", "caBundle")):
		switch skips := fieldpath.MakePathOrDie("spec", "insecureSkipTLSVerify"); {
		case f.IsKept(skips):
		case !f.Incoming.At("spec", "service").IsObject():
			return "the manifest removed the service"
		case f.Incoming.At("spec", "insecureSkipTLSVerify").Kind() == 't':
			return "the manifest sets insecureSkipTLSVerify"
		}
	case inResources && nameAt(f.Path, 2) == "requests":
		return f.overLimit("limits")
	case inResources && nameAt(f.Path, 2) == "limits":
		return f.overLimit("requests")
	}
	return ""
}

// overLimit returns the reason if a kept request exceeds the limit that the manifest sets, or a kept limit is less than its request.
// Requests of extended resources and huge pages must equal them (ValidateResourceRequirements in
// k8s.io/kubernetes/pkg/apis/core/validation). other is the list of the one that the manifest sets.
func (f KeptField) overLimit(other string) string {
	name := nameAt(f.Path, 1)
	counterpart := slices.Concat(f.Path[:len(f.Path)-2], fieldpath.MakePathOrDie(other, name))
	kept, errKept := quantity(f.Live.Find(f.Path).Text())
	set, errSet := quantity(f.Incoming.Find(counterpart).Text())
	compared := kept.Cmp(set)
	switch {
	case errKept != nil || errSet != nil || compared == 0 || f.IsKept(counterpart):
		return ""
	case strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-"):
		return "it must equal " + other + "." + name
	case other == "limits" && compared > 0:
		return "it exceeds limits." + name
	case other == "requests" && compared < 0:
		return "it is less than requests." + name
	}
	return ""
}
