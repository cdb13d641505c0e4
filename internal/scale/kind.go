package scale

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of scaler: its objects own the scale field of the objects that they reference.
type Kind struct {
	GroupKind schema.GroupKind

	// Path are the names of the fields that lead to the reference, an object with apiVersion, kind and name.
	Path []string
	// Managers are the field managers of its controller. A name proves nothing where the objects can be read.
	Managers []string

	// optional reports whether objects without a reference are valid: they are workloads themselves.
	optional bool
	// scaleDown reports whether the reference has a field scaleDown. Unless it is set, or if it is "never", objects do not scale.
	scaleDown bool
	// shares reports whether objects work beside another scaler of the same workload.
	shares bool
}

// Kinds returns the kinds of scalers that are known without a configuration, in the order in which they are named if several
// reference the same object. HorizontalPodAutoscalers are always known, and are not among them.
func Kinds() []Kind {
	return []Kind{
		{ // https://keda.sh/docs/latest/reference/scaledobject-spec/
			GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Path: []string{"spec", "scaleTargetRef"},
			Managers: []string{"keda", "keda-operator"},
		},
		{ // https://argoproj.github.io/argo-rollouts/migrating/, workloadRef.scaleDown
			GroupKind: schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}, Path: []string{"spec", "workloadRef"},
			optional: true, scaleDown: true,
		},
		{ // https://docs.flagger.app/usage/how-it-works#canary-target
			GroupKind: schema.GroupKind{Group: "flagger.app", Kind: "Canary"}, Path: []string{"spec", "targetRef"}, shares: true,
		},
	}
}

// Known returns the kind with what is known about it without a configuration, if it has the same path.
func (k Kind) Known() Kind {
	for _, known := range Kinds() {
		if known.GroupKind == k.GroupKind && slices.Equal(known.Path, k.Path) {
			return known
		}
	}
	return k
}

// IsWorkload reports whether the objects can also be workloads themselves, without a reference, as Rollouts.
func (k Kind) IsWorkload() bool { return k.optional }

// OwnsPods reports whether objects of a kind, in any group, also run pods: Rollouts, and Canaries, whose primary is a second workload.
// Their deletion deletes these pods.
func OwnsPods(kind string) bool {
	return slices.ContainsFunc(Kinds(), func(k Kind) bool { return k.GroupKind.Kind == kind && (k.optional || k.shares) })
}

// PathText returns the path of the reference, as ".spec.scaleTargetRef".
func (k Kind) PathText() string { return "." + strings.Join(k.Path, ".") }

// Errors of a scaler's reference. They quote nothing from the object.
var (
	errNoReference   = errors.New("the reference is missing")
	errNotAnObject   = errors.New("the reference is not an object")
	errNoName        = errors.New("the reference has no name")
	errBadAPIVersion = errors.New("the reference has a malformed apiVersion")
	errTooLong       = errors.New("the reference has a name, kind or apiVersion that no object can have, because it is too long")
)

// Target returns the object that a scaler references; ok is false if it scales none, which is not always an error: it can be
// being deleted (a finalizer can keep it forever), and an Argo Rollout can have its own pod template, or leave the scale of the
// referenced Deployment alone. As in KEDA, a missing apiVersion means apps/v1, and a missing kind Deployment.
func (k Kind) Target(object map[string]any) (target schema.GroupKind, name string, ok bool, err error) {
	if metadata, _ := object["metadata"].(map[string]any); metadata["deletionTimestamp"] != nil {
		return target, "", false, nil
	}
	reference, err := k.reference(object)
	if err != nil || reference == nil {
		return target, "", false, err
	}
	text := func(field, otherwise string) string {
		if value, isText := reference[field].(string); isText && value != "" {
			return value
		}
		return otherwise
	}
	if mode := text("scaleDown", "never"); k.scaleDown && mode == "never" {
		return target, "", false, nil
	}
	if name = text("name", ""); name == "" {
		return target, "", false, k.problem(errNoName)
	}
	if target, err = groupKind(text("apiVersion", "apps/v1"), text("kind", "Deployment"), name); err != nil {
		return target, "", false, k.problem(err)
	}
	return target, name, true, nil
}

// maxText is the maximum length of a name of an object, or of its group, kind or version. Users can write longer ones into a
// reference, which the webhook would cache.
const maxText = 253

// groupKind returns the group and kind of a reference.
func groupKind(apiVersion, kind, name string) (schema.GroupKind, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupKind{}, errBadAPIVersion
	}
	if max(len(gv.Group), len(gv.Version), len(kind), len(name)) > maxText { // the group is a part of the whole apiVersion in memory
		return schema.GroupKind{}, errTooLong
	}
	return schema.GroupKind{Group: gv.Group, Kind: kind}, nil
}

// reference returns the value at the path, nil if the object needs none.
func (k Kind) reference(object map[string]any) (map[string]any, error) {
	value, _, err := unstructured.NestedFieldNoCopy(object, k.Path...)
	reference, isObject := value.(map[string]any)
	switch {
	case err == nil && value == nil && k.optional:
		return nil, nil //nolint:nilnil // there is none, which is not an error
	case err == nil && value == nil:
		return nil, k.problem(errNoReference)
	case !isObject:
		return nil, k.problem(errNotAnObject)
	}
	return reference, nil
}

func (k Kind) problem(err error) error { return fmt.Errorf("%s: %w", k.PathText(), err) }
