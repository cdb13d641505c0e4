package webhook_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdtyped "sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/ownership-handoff/handoff/test/ledger"
)

// objectKind is a kind of object that histories are generated for: how the API server tracks its fields, how kubectl merges
// it, and the fields that clients set.
type objectKind struct {
	gvk schema.GroupVersionKind
	// skeleton is the part of every manifest that never changes, as JSON.
	skeleton string
	// settable are the fields that clients set. The first one is the scale field, if the kind has one.
	settable  []field
	scale     fieldpath.Path // nil for a kind without a scale subresource
	defaulted bool           // whether a missing scale field becomes 1

	types              managedfields.TypeConverter
	fields, scaleField *managedfields.FieldManager
	reader             ledger.Reader
	merging            any // the Go type by whose tags kubectl merges; nil for a custom resource
}

// field is a field that a client can set, with the values that it can have.
type field struct {
	path   fieldpath.Path
	values []any
	// unit names the unit of docs/decisions.md that the field belongs to, "" for a field that is in none.
	unit string
}

func newObjectKind(t *testing.T, k objectKind) objectKind {
	t.Helper()
	manager := func(subresource string) *managedfields.FieldManager {
		fields, err := managedfields.NewDefaultCRDFieldManager(k.types, sameVersion{}, noDefaults{}, sameVersion{},
			k.gvk, k.gvk.GroupVersion(), subresource, nil)
		if err != nil {
			t.Fatal(err)
		}
		return fields
	}
	k.fields, k.scaleField, k.reader = manager(""), manager("scale"), ledger.NewReader(k.types)
	return k
}

// noDefaults leaves missing fields missing. The scale field is defaulted by objectKind.withDefault.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// sameVersion converts and creates objects of a kind with one version.
type sameVersion struct{}

func (sameVersion) Convert(any, any, any) error { return nil }

func (sameVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (sameVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (field, text string, err error) {
	return label, value, nil
}

func (sameVersion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func pathOf(elements ...any) fieldpath.Path { return fieldpath.MakePathOrDie(elements...) }

func deploymentKind(t *testing.T) objectKind {
	t.Helper()
	app := func(names ...any) fieldpath.Path {
		return pathOf(append([]any{"spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app")}, names...)...)
	}
	text, number := []any{"1", "2", "3"}, []any{int64(1), int64(2), int64(3)}
	return newObjectKind(t, objectKind{
		gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		skeleton: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{
			"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
			"spec":{"containers":[{"name":"app","image":"app:1"}]}}}}`,
		settable: []field{
			{pathOf("spec", "replicas"), nil, ""},
			{pathOf("spec", "minReadySeconds"), number, ""},
			{app("resources", "requests", "cpu"), []any{"1m", "2m"}, "resources"},
			{app("resources", "limits", "cpu"), text, "resources"}, {app("resources", "limits", "memory"), text, "resources"},
			{app("env", fieldpath.KeyByFields("name", "A"), "value"), text, ""},
			{app("livenessProbe", "periodSeconds"), number, ""}, {app("livenessProbe", "timeoutSeconds"), number, ""},
			{pathOf("spec", "paused"), []any{true, false}, "paused"},
			{pathOf("spec", "template", "spec", "securityContext", "fsGroup"), number, ""},
			{pathOf("spec", "template", "spec", "nodeSelector"), []any{map[string]any{"zone": "1"}, map[string]any{"zone": "2"}}, ""},
			{pathOf("spec", "template", "metadata", "annotations", "example.com/a~1b"), text, "annotation a"},
			{pathOf("spec", "template", "metadata", "annotations", "restarted"), text, "annotation b"},
			{pathOf("metadata", "labels", "tier"), text, "label tier"}, {pathOf("metadata", "labels", "example.com/part"), text, "label part"},
			{pathOf("metadata", "annotations", "example.com/note"), text, "note"},
		},
		scale: pathOf("spec", "replicas"), defaulted: true,
		types: applyconfigurations.NewTypeConverter(clientscheme.Scheme), merging: appsv1.Deployment{},
	})
}

// awkwardKeys need escaping in a JSON pointer, in JSON, in a path or in more than one of them.
func awkwardKeys() []string {
	return []string{
		"plain", "a.b", "a", "b", "with/slash", "til~de", "~0", "~1", "~01", "a~1b/c", `quo"te`, `back\slash`, "ünï-çødé", "日本",
		" ", "0", "-", "_", "[0]", `[name="x"]`, "<&>", "f:x", ".", "*",
	}
}

func configMapKind(t *testing.T) objectKind {
	t.Helper()
	var settable []field
	for _, key := range awkwardKeys() {
		settable = append(settable, field{pathOf("data", key), []any{"1", "2", "", "{}", "a\nb"}, "data " + key})
	}
	for _, key := range []string{"one", "t/w~o"} {
		settable = append(settable, field{pathOf("binaryData", key), []any{"AAAA", "BBBB"}, ""},
			field{pathOf("metadata", "labels", "example.com/"+key), []any{"1", "2"}, "label " + key},
			field{pathOf("metadata", "annotations", "example.com/"+key), []any{"1", "2"}, "annotation " + key})
	}
	return newObjectKind(t, objectKind{
		gvk:      corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		skeleton: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}}`,
		settable: settable,
		types:    applyconfigurations.NewTypeConverter(clientscheme.Scheme), merging: corev1.ConfigMap{},
	})
}

// widgetSchema is what the API server makes of a CRD with list and map types.
const widgetSchema = `types:
- name: widget
  map:
    fields:
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {namedType: metadata}}
    - {name: spec, type: {namedType: spec}}
- name: metadata
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: namespace, type: {scalar: string}}
    - {name: uid, type: {scalar: string}}
    - {name: labels, type: {namedType: strings}}
    - {name: annotations, type: {namedType: strings}}
    - {name: finalizers, type: {namedType: set}}
    - {name: managedFields, type: {namedType: untyped}}
- name: untyped
  scalar: untyped
  list: {elementType: {namedType: untyped}, elementRelationship: atomic}
  map: {elementType: {namedType: untyped}, elementRelationship: atomic}
- name: strings
  map: {elementType: {scalar: string}}
- name: set
  list: {elementType: {scalar: string}, elementRelationship: associative}
- name: spec
  map:
    fields:
    - {name: mode, type: {scalar: string}}
    - {name: scaling, type: {namedType: scaling}}
    - {name: config, type: {map: {elementType: {namedType: strings}}}}
    - {name: pools, type: {list: {elementType: {namedType: pool}, elementRelationship: associative, keys: [name]}}}
    - {name: tags, type: {namedType: set}}
    - {name: deep, type: {namedType: deep}}
- name: scaling
  map:
    fields:
    - {name: replicas, type: {scalar: numeric}}
    - {name: min, type: {scalar: numeric}}
    - {name: note, type: {scalar: string}}
- name: pool
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: size, type: {scalar: numeric}}
    - {name: options, type: {map: {elementType: {namedType: strings}}}}
    - {name: zones, type: {list: {elementType: {namedType: zone}, elementRelationship: associative, keys: [zone, tier]}}}
- name: zone
  map:
    fields:
    - {name: zone, type: {scalar: string}}
    - {name: tier, type: {scalar: numeric}}
    - {name: weight, type: {scalar: numeric}}
    - {name: limits, type: {namedType: strings}}
- name: deep
  map:
    fields:
    - {name: value, type: {scalar: string}}
    - {name: other, type: {scalar: string}}
    - {name: deep, type: {namedType: deep}}
`

// parsedTypes is a TypeConverter of one kind, by a schema.
type parsedTypes struct{ of smdtyped.ParseableType }

func (p parsedTypes) ObjectToTyped(object runtime.Object, options ...smdtyped.ValidationOptions) (*smdtyped.TypedValue, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return p.of.FromUnstructured(content, options...)
}

func (p parsedTypes) TypedToObject(value *smdtyped.TypedValue) (runtime.Object, error) {
	content, _ := value.AsValue().Unstructured().(map[string]any)
	return unstructuredOf(content), nil
}

// widgetKind is a custom resource whose scale is not at .spec.replicas and has no default, with keyed lists and maps.
func widgetKind(t *testing.T) objectKind {
	t.Helper()
	parser, err := smdtyped.NewParser(widgetSchema)
	if err != nil {
		t.Fatal(err)
	}
	text, number := []any{"1", "2", ""}, []any{int64(1), int64(2), int64(0)}
	return newObjectKind(t, objectKind{
		gvk:      schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		skeleton: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"web","namespace":"shop"},"spec":{"mode":"x"}}`,
		settable: []field{
			{pathOf("spec", "scaling", "replicas"), nil, ""},
			{pathOf("spec", "scaling", "min"), number, ""}, {pathOf("spec", "scaling", "note"), text, ""},
			{pathOf("spec", "config", "a.b", "x/y"), text, ""}, {pathOf("spec", "config", "a.b", "x~1y"), text, ""},
			{pathOf("spec", "config", "a", "c.x/y"), text, ""}, {pathOf("spec", "config", "a", ""), text, ""},
			{pathOf("spec", "deep", "value"), text, ""}, {pathOf("spec", "deep", "deep", "value"), text, ""},
			{pathOf("metadata", "labels", "a/b"), text, "label"},
		},
		scale: pathOf("spec", "scaling", "replicas"),
		types: parsedTypes{parser.Type("widget")},
	})
}
