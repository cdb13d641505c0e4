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

	mergeschema "github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// objectKind is a kind of object that histories are generated for: how the API server tracks its fields, how kubectl merges
// it, and the fields that managers set.
type objectKind struct {
	gvk schema.GroupVersionKind
	// skeleton is the part of every manifest that never changes, as JSON.
	skeleton string
	slots    []slot
	scale    fieldpath.Path // nil for a kind without a scale subresource

	types              managedfields.TypeConverter
	fields, scaleField *managedfields.FieldManager
	merging            mergeschema.Schema
}

// slot is a field that a manager can set, with the values that it can have.
type slot struct {
	path   fieldpath.Path
	values []any
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
	k.fields, k.scaleField = manager(""), manager("scale")
	return k
}

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

func deploymentKind(t *testing.T) objectKind {
	t.Helper()
	app := func(names ...any) fieldpath.Path {
		return pathOf(append([]any{"spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app")}, names...)...)
	}
	text := func(path fieldpath.Path) slot { return slot{path, []any{"1", "2", "3"}} }
	number := func(path fieldpath.Path) slot { return slot{path, []any{int64(1), int64(2), int64(3)}} }
	return newObjectKind(t, objectKind{
		gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		skeleton: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{
			"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
			"spec":{"containers":[{"name":"app","image":"app:1"}]}}}}`,
		slots: []slot{
			number(pathOf("spec", "replicas")), number(pathOf("spec", "minReadySeconds")),
			text(app("resources", "requests", "cpu")), text(app("resources", "requests", "memory")),
			text(app("resources", "limits", "cpu")), text(app("resources", "limits", "memory")),
			text(app("env", fieldpath.KeyByFields("name", "A"), "value")), text(app("env", fieldpath.KeyByFields("name", "B"), "value")),
			text(app("ports", fieldpath.KeyByFields("containerPort", 80, "protocol", "TCP"), "name")),
			number(app("livenessProbe", "periodSeconds")), number(app("livenessProbe", "timeoutSeconds")),
			number(app("livenessProbe", "failureThreshold")),
			number(pathOf("spec", "strategy", "rollingUpdate", "maxSurge")),
			number(pathOf("spec", "strategy", "rollingUpdate", "maxUnavailable")),
			number(pathOf("spec", "template", "spec", "securityContext", "fsGroup")),
			number(pathOf("spec", "template", "spec", "securityContext", "runAsUser")),
			text(pathOf("spec", "template", "spec", "nodeSelector", "zone")), // nodeSelector is atomic
			text(pathOf("spec", "template", "spec", "nodeSelector", "disk")),
			text(pathOf("spec", "template", "metadata", "annotations", "example.com/a~1b")),
			text(pathOf("spec", "template", "metadata", "annotations", "restarted")),
			text(pathOf("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "sidecar"), "image")),
			text(pathOf("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "sidecar"), "resources", "limits", "cpu")),
			text(pathOf("spec", "template", "spec", "volumes", fieldpath.KeyByFields("name", "v"), "configMap", "name")),
			text(pathOf("metadata", "labels", "tier")), text(pathOf("metadata", "labels", "example.com/part")),
			text(pathOf("metadata", "annotations", "example.com/note")),
		},
		scale: pathOf("spec", "replicas"),
		types: applyconfigurations.NewTypeConverter(clientscheme.Scheme), merging: new(mergeschema.Types).Of(appsv1.Deployment{}),
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
	slots := make([]slot, 0, 2*len(awkwardKeys()))
	for _, key := range awkwardKeys() {
		slots = append(slots, slot{pathOf("data", key), []any{"1", "2", "", "{}", "a\nb"}})
	}
	for _, key := range []string{"one", "t/w~o"} {
		slots = append(slots, slot{pathOf("binaryData", key), []any{"AAAA", "BBBB"}},
			slot{pathOf("metadata", "labels", "example.com/"+key), []any{"1", "2"}},
			slot{pathOf("metadata", "annotations", "example.com/"+key), []any{"1", "2"}})
	}
	return newObjectKind(t, objectKind{
		gvk:      corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		skeleton: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}}`,
		slots:    slots,
		types:    applyconfigurations.NewTypeConverter(clientscheme.Scheme), merging: new(mergeschema.Types).Of(corev1.ConfigMap{}),
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

// widgetKind is a custom resource with keyed lists in maps in keyed lists, and a scale that is not at .spec.replicas.
func widgetKind(t *testing.T) objectKind {
	t.Helper()
	parser, err := smdtyped.NewParser(widgetSchema)
	if err != nil {
		t.Fatal(err)
	}
	pool := func(names ...any) fieldpath.Path {
		return pathOf(append([]any{"spec", "pools", fieldpath.KeyByFields("name", `a/~1"b`)}, names...)...)
	}
	zone := func(names ...any) fieldpath.Path {
		return pool(append([]any{"zones", fieldpath.KeyByFields("tier", 1, "zone", "z")}, names...)...)
	}
	text, number := []any{"1", "2", ""}, []any{int64(1), int64(2), int64(0)}
	return newObjectKind(t, objectKind{
		gvk:      schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		skeleton: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"web","namespace":"shop"},"spec":{"mode":"x"}}`,
		slots: []slot{
			{pathOf("spec", "scaling", "replicas"), []any{int64(1), int64(2), int64(3)}},
			{pathOf("spec", "scaling", "min"), number}, {pathOf("spec", "scaling", "note"), text},
			{pathOf("spec", "config", "a.b", "x/y"), text}, {pathOf("spec", "config", "a.b", "x~1y"), text},
			{pathOf("spec", "config", "a", "c.x/y"), text}, {pathOf("spec", "config", "a", ""), text},
			{pool("size"), number}, {pool("options", "o~0", "1"), text}, {pool("options", "o~0", "2"), text}, {pool("options", "p", "1"), text},
			{zone("weight"), number}, {zone("limits", "cpu"), text}, {zone("limits", "me.mory"), text},
			{pathOf("spec", "pools", fieldpath.KeyByFields("name", "second"), "size"), number},
			{pathOf("spec", "pools", fieldpath.KeyByFields("name", "second"), "options", "o", "1"), text},
			{pathOf("spec", "deep", "value"), text}, {pathOf("spec", "deep", "deep", "value"), text},
			{pathOf("spec", "deep", "deep", "other"), text}, {pathOf("spec", "deep", "deep", "deep", "value"), text},
			{pathOf("spec", "deep", "deep", "deep", "other"), text}, {pathOf("metadata", "labels", "a/b"), text},
		},
		scale: pathOf("spec", "scaling", "replicas"),
		types: parsedTypes{parser.Type("widget")}, merging: mergeschema.JSONMergePatch(),
	})
}

// update is a write of a manager that sends the whole object.
func (k objectKind) update(t *testing.T, live, incoming, manager string) string {
	t.Helper()
	result, err := k.fields.Update(objectOf(t, live), objectOf(t, incoming), manager)
	return storedText(t, result, err)
}

// scaleTo is a write through the scale subresource.
func (k objectKind) scaleTo(t *testing.T, live, incoming, manager string) string {
	t.Helper()
	result, err := k.scaleField.Update(objectOf(t, live), objectOf(t, incoming), manager)
	return storedText(t, result, err)
}

// applyClientSide is kubectl apply.
func (k objectKind) applyClientSide(t *testing.T, live, manifest string) string {
	t.Helper()
	base, _ := at(decode(t, live), []string{"metadata", "annotations", lastApplied}).(string)
	if base == "" {
		base = "{}"
	}
	merged, err := threeway.MergeJSON([]byte(base), []byte(annotated(t, manifest)), []byte(live), k.merging, threeway.Options{})
	if err != nil {
		t.Fatalf("%v: %s onto %s", err, manifest, live)
	}
	return k.update(t, live, string(merged), csa)
}

// annotated returns a manifest with itself in the last-applied annotation.
func annotated(t *testing.T, manifest string) string {
	t.Helper()
	object := objectOf(t, manifest)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastApplied] = manifest
	object.SetAnnotations(annotations)
	return encode(object.Object)
}

// applyServerSide is a forced server-side apply.
func (k objectKind) applyServerSide(t *testing.T, live, manifest, manager string) string {
	t.Helper()
	result, err := k.fields.Apply(objectOf(t, live), objectOf(t, manifest), manager, true)
	return storedText(t, result, err)
}

// fieldsOf returns all fields of an object, as the API server distinguishes them.
func (k objectKind) fieldsOf(t *testing.T, text string) *fieldpath.Set {
	t.Helper()
	object := objectOf(t, text)
	object.SetManagedFields(nil)
	value, err := k.types.ObjectToTyped(object)
	if err != nil {
		t.Fatal(err)
	}
	set, err := value.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return u
}

func storedText(t *testing.T, object runtime.Object, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("want an unstructured object, got %T", object)
	}
	return encode(u.Object)
}

func pathOf(elements ...any) fieldpath.Path { return fieldpath.MakePathOrDie(elements...) }
