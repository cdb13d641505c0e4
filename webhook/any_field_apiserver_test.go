package webhook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// knob is a field that the generated writes turn, which may be absent. Its path is that of the rules; in a manifest it
// stands where the printf pattern puts its value.
type knob struct {
	path, manifest string
	number         bool
}

// knobs are fields at all the places that matter: in maps, in objects, in an element of a keyed list, under metadata.
func knobs() []knob {
	const inApp = `{"spec":{"template":{"spec":{"containers":[{"name":"app",%s}]}}}}`
	return []knob{
		{".metadata.labels.tier", `{"metadata":{"labels":{"tier":%s}}}`, false},
		{`.metadata.annotations["example.com/note"]`, `{"metadata":{"annotations":{"example.com/note":%s}}}`, false},
		{".spec.minReadySeconds", `{"spec":{"minReadySeconds":%s}}`, true},
		{".spec.revisionHistoryLimit", `{"spec":{"revisionHistoryLimit":%s}}`, true},
		{".spec.template.metadata.annotations.restarted", `{"spec":{"template":{"metadata":{"annotations":{"restarted":%s}}}}}`, false},
		{".spec.template.spec.securityContext.fsGroup", `{"spec":{"template":{"spec":{"securityContext":{"fsGroup":%s}}}}}`, true},
		{`.spec.template.spec.containers[name="app"].resources.limits.memory`,
			fmt.Sprintf(inApp, `"resources":{"limits":{"memory":%s}}`), false},
		{`.spec.template.spec.containers[name="app"].imagePullPolicy`, fmt.Sprintf(inApp, `"imagePullPolicy":%s`), false},
	}
}

// settings are values of knobs by their index; "null" is one that a manifest may say, and what is not there is absent.
type settings map[int]string

// text returns a value of a knob as JSON. None is 0, which Go leaves out as if it were absent.
func (k knob) text(value int) string {
	value++
	if k.number {
		return strconv.Itoa(value)
	}
	return strconv.Quote(strconv.Itoa(value))
}

// manifest returns settings as a manifest of the Deployment web. It contains the parents of all knobs, so that a dropped field
// does not drop its parent.
func (s settings) manifest(t *testing.T) string {
	t.Helper()
	whole := decode(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{},
		"annotations":{}},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"},
		"annotations":{}},"spec":{"securityContext":{},"containers":[{"name":"app","image":"app:1","resources":{"limits":{}}}]}}}}`)
	for i, value := range s {
		overlay(whole, decode(t, fmt.Sprintf(knobs()[i].manifest, value)))
	}
	return encode(whole)
}

// overlay sets in one document what another has; their lists have one element.
func overlay(into, from map[string]any) {
	for name, value := range from {
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		switch {
		case isObject:
			overlay(objectIn(into[name]), object)
		case isList:
			overlay(objectIn(into[name]), objectIn(list))
		default:
			into[name] = value
		}
	}
}

// objectIn returns an object, or the one that a list has.
func objectIn(value any) map[string]any {
	if list, ok := value.([]any); ok {
		value = list[0]
	}
	object, _ := value.(map[string]any)
	return object
}

// read returns the settings of an object.
func read(t *testing.T, object string) settings {
	t.Helper()
	s, document := settings{}, decode(t, object)
	for i, k := range knobs() {
		var value any = document
		for at := any(decode(t, fmt.Sprintf(k.manifest, "0"))); value != nil; {
			if list, ok := at.([]any); ok {
				at, value = list[0], objectIn(value)
				continue
			}
			inner, ok := at.(map[string]any)
			if !ok {
				s[i] = encode(value)
				break
			}
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				if name != "name" || len(inner) == 1 {
					object, _ := value.(map[string]any)
					at, value = inner[name], object[name]
				}
			}
		}
	}
	return s
}

// apiServer turns writes into what an API server sends to a webhook, with its own library for managedFields.
type apiServer struct {
	fields *managedfields.FieldManager
	place  schema.Schema
}

func newAPIServer(t *testing.T) apiServer {
	t.Helper()
	gvk := appsv1.SchemeGroupVersion.WithKind("Deployment")
	scheme := clientscheme.Scheme
	fields, err := managedfields.NewDefaultFieldManager(applyconfigurations.NewTypeConverter(scheme), scheme, noDefaults{}, scheme,
		gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return apiServer{fields: fields, place: new(schema.Types).Of(appsv1.Deployment{})}
}

// noDefaults leaves what is absent absent: a default would be a value that no writer of the model has set.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// patch is a write of a manager that sets or, by null, removes fields.
func (w apiServer) patch(t *testing.T, live, manager, merged string) string {
	t.Helper()
	incoming := decode(t, live)
	overlayOrRemove(incoming, decode(t, merged))
	return w.update(t, live, manager, encode(incoming))
}

func overlayOrRemove(into, from map[string]any) {
	for name, value := range from {
		switch v := value.(type) {
		case nil:
			delete(into, name)
		case []any:
			overlayOrRemove(objectIn(into[name]), objectIn(v))
		case map[string]any:
			if into[name] == nil {
				into[name] = map[string]any{}
			}
			overlayOrRemove(objectIn(into[name]), v)
		default:
			into[name] = value
		}
	}
}

// update is a write of a manager that sends the whole object.
func (w apiServer) update(t *testing.T, live, manager, incoming string) string {
	t.Helper()
	result, err := w.fields.Update(typed(t, live), typed(t, incoming), manager)
	return written(t, result, err)
}

// apply is kubectl's client-side apply.
func (w apiServer) apply(t *testing.T, live, manifest string) string {
	t.Helper()
	base, _ := at(decode(t, live), []string{"metadata", "annotations", lastApplied}).(string)
	annotated := func(manifest string) []byte { // kubectl's manifests hold their own annotation when they are merged
		document := decode(t, manifest)
		objectIn(at(document, []string{"metadata", "annotations"}))[lastApplied] = manifest
		return []byte(encode(document))
	}
	merged, err := threeway.MergeJSON([]byte(base), annotated(manifest), []byte(live), w.place, threeway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w.update(t, live, csa, string(merged))
}

// applyServerSide is a forced server-side apply.
func (w apiServer) applyServerSide(t *testing.T, live, manifest string) string {
	t.Helper()
	var applied map[string]any
	if err := json.Unmarshal([]byte(manifest), &applied); err != nil {
		t.Fatal(err)
	}
	result, err := w.fields.Apply(typed(t, live), unstructuredOf(applied), "kustomize-controller", true)
	return written(t, result, err)
}

func typed(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func written(t *testing.T, object runtime.Object, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		t.Fatalf("no Deployment but %T", object)
	}
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	return strings.Replace(encode(d), `,"status":{}`, "", 1)
}
