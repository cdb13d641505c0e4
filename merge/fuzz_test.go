package merge_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// FuzzRewrite puts parts of live and incoming objects out of place, and keeps any of live's fields.
func FuzzRewrite(f *testing.F) {
	for base := range uint(6) {
		f.Add(base, []byte{}, []byte{3, 1, 2})
		f.Add(base, []byte{1, 4, 2, 0, 1, 3, 2, 1}, []byte{1, 0, 3, 2, 1, 1, 0, 2, 9, 4})
		f.Add(base, []byte{0, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 7, 3, 200, 31}, []byte{40, 30, 20, 10, 5, 4, 3, 2, 1})
	}
	f.Fuzz(func(t *testing.T, base uint, changes, fields []byte) {
		c := &choices{changes}
		pair := fuzzBases()[base%6]
		live, incoming := c.damaged(t, pair.live.text()), c.damaged(t, pair.incoming.text())
		by := []string{csa, "kubectl", "helm", "kubectl-edit", "x"}[c.next(5)]
		w, ok := fuzzedWrite(t, by, live, incoming)
		if !ok {
			return
		}
		paths := (&choices{fields}).paths(t, []byte(live))
		defer func() {
			if t.Failed() {
				t.Logf("by %s, kept %s\nlive     %s\nincoming %s", by, paths, live, incoming)
			}
		}()
		checkRewrite(t, w, paths)
	})
}

// fuzzBases are writes: client-side and server-side applies, and one that removes most of what there is.
func fuzzBases() []struct{ live, incoming stored } {
	const (
		pod = `{"paused":true,"replicas":7,"strategy":{"rollingUpdate":{"maxSurge":1},"type":"RollingUpdate"},"template":{"spec":{` +
			`"containers":[{"image":"a","name":"app","env":[{"name":"E","value":"1"}],"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],` +
			`"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}},{"image":"b","name":"side"}],"volumes":[{"emptyDir":{},"name":"v"}]}}}`
		podNow = `{"replicas":3,"strategy":{"type":"Recreate"},"template":{"spec":{` +
			`"containers":[{"image":"c","name":"app","env":[{"name":"E","valueFrom":{"fieldRef":{"fieldPath":"x"}}}],"resources":{"limits":{"cpu":"1"}}}]}}}`
		pool = `{"list":["a","b",1],"m/~":{"x":{"y":1}},"pool":{"size":{"max":9,"min":1}}}`
	)
	deep := []string{hpaEntry(), csaEntry(early, image), entry("x", "Update", early, "spec.paused", "spec.strategy.rollingUpdate.maxSurge")}
	applied := []string{hpaEntry(), entry("kubectl", "Apply", early, image, "spec.pool.size.min", "spec.pool.size.max")}
	return []struct{ live, incoming stored }{
		{
			stored{lastApplied: manifest3, spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), csaEntry(early, image)}},
			stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}},
		},
		{
			stored{lastApplied: `{"spec":` + podNow + `}`, spec: pod, entries: deep},
			stored{lastApplied: `{"spec":` + podNow + `}`, spec: podNow, entries: []string{csaEntry(late, image, count, "spec.strategy.type")}},
		},
		{
			stored{lastApplied: `{"spec":` + pod + `}`, spec: pod, entries: deep},
			stored{lastApplied: `{"spec":{}}`, spec: `{}`, entries: []string{csaEntry(late, image)}},
		},
		{
			stored{spec: pool, entries: applied},
			stored{spec: `{"list":["b"],"pool":{}}`, entries: []string{entry("kubectl", "Apply", late, image)}},
		},
		{
			stored{spec: pool, entries: applied},
			stored{spec: pool, entries: []string{entry("kubectl", "Apply", late, image, count), hpaEntry()}},
		},
		{stored{spec: pod, entries: deep}, stored{spec: podNow, entries: []string{entry("helm", "Update", late, count, image)}}},
	}
}

// fuzzedWrite returns a write of two objects; ok is false where they are none.
func fuzzedWrite(t *testing.T, by, live, incoming string) (w ownership.Write, ok bool) {
	t.Helper()
	w = ownership.Write{Managers: managers, Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}
	for _, o := range []struct {
		text    string
		object  *ownership.Object
		entries *[]ownership.Entry
	}{{live, &w.Live, &w.LiveEntries}, {incoming, &w.Incoming, &w.IncomingEntries}} {
		var err error
		if *o.object, err = ownership.ParseObject([]byte(o.text)); err != nil || !o.object.Present() {
			return w, false
		}
		if *o.entries, err = o.object.Entries(); err != nil {
			return w, false
		}
	}
	w.Sender = w.SentBy(by)
	w.Manifests = managers.ManifestsOf(w.Sender, w.Live, w.Incoming, w.LiveEntries)
	return w, true
}

// checkRewrite verifies what Rewrite promises.
func checkRewrite(t *testing.T, w ownership.Write, paths []fieldpath.Path) {
	t.Helper()
	kept := make([]merge.Change, len(paths))
	for i, path := range paths {
		kept[i] = merge.Change{Path: path, Field: merge.Field{Scale: path.Equals(replicas)}}
	}
	rewritten, err := merge.Rewrite(w, kept, nil)
	if err != nil {
		if !errors.Is(err, ownership.ErrManagedFields) {
			t.Errorf("an error of another kind: %v", err)
		}
		return
	}
	after := patched(t, string(w.Incoming.Text()), operationsOf(t, rewritten.Operations))
	object, err := ownership.ParseObject([]byte(after))
	if err != nil {
		t.Fatalf("the result is no object: %v: %s", err, after)
	}
	for i, path := range paths {
		if rewritten.Gone[i] || rewritten.ManifestWins[i] != "" {
			continue
		}
		want, got := decodedJSON(t, w.Live.Value(path)), decodedJSON(t, object.Value(path))
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s is kept as %v, and is %v", path, want, got)
		}
	}
	again := w
	if again.Incoming = object; len(object.ManagedFields()) > 0 {
		if again.IncomingEntries, err = object.Entries(); err != nil {
			t.Fatalf("the managedFields of the result: %v", err)
		}
	}
	if rewritten, err = merge.Rewrite(again, kept, nil); err != nil || len(rewritten.Operations) > 0 {
		t.Errorf("once more: %v, %s\non %s", err, operationsOf(t, rewritten.Operations), after)
	}
}

func decodedJSON(t *testing.T, text []byte) any {
	t.Helper()
	if text == nil {
		return "nothing there"
	}
	return jsontest.Decode(t, text)
}

// choices are numbers that the fuzzer chooses; zeros after the last.
type choices struct{ left []byte }

func (c *choices) next(of int) int {
	if len(c.left) == 0 {
		return 0
	}
	choice := int(c.left[0])
	c.left = c.left[1:]
	return choice % of
}

// damaged returns an object in which up to three parts were replaced or removed.
func (c *choices) damaged(t *testing.T, text string) string {
	t.Helper()
	object := decodedJSON(t, []byte(text))
	for range c.next(4) {
		c.change(object)
	}
	changed, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}

// change replaces or removes one part of a value.
func (c *choices) change(v any) {
	for {
		switch in := v.(type) {
		case map[string]any:
			names := slices.Sorted(maps.Keys(in))
			if len(names) == 0 || c.next(8) == 7 {
				in[[]string{"a", "replicas", "name", "spec"}[c.next(4)]] = c.replacement(nil)
				return
			}
			name := names[c.next(len(names))]
			switch c.next(6) {
			case 4:
				in[name] = c.replacement(in[name])
				return
			case 5:
				delete(in, name)
				return
			}
			v = in[name]
		case []any:
			if len(in) == 0 {
				return
			}
			i := c.next(len(in))
			switch c.next(6) {
			case 3:
				in[i], in[0] = in[0], in[i]
			case 4:
				in[i] = c.replacement(in[i])
				return
			case 5:
				in[i] = in[len(in)-1] // there twice
				return
			}
			v = in[i]
		default:
			return
		}
	}
}

func (c *choices) replacement(was any) any {
	values := []any{
		nil, "", "x", 0, 7, true, []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil}, []any{was}, map[string]any{"name": was},
		early, late, "Apply", "kubectl", manifest3, `{"spec":{"list":[1]}}`,
		map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
		map[string]any{"f:spec": map[string]any{".": map[string]any{}, "f:pool": map[string]any{"f:size": map[string]any{}}}},
	}
	return values[c.next(len(values))]
}

// paths returns fields that live has, as managers of fields name them.
func (c *choices) paths(t *testing.T, live []byte) []fieldpath.Path {
	t.Helper()
	spec, _ := decodedJSON(t, live).(map[string]any)
	paths := make([]fieldpath.Path, 0, 5)
	for range 1 + c.next(5) {
		path := fieldpath.MakePathOrDie("spec")
		path = c.path(path, spec["spec"])
		paths = append(paths, path)
	}
	o, err := ownership.ParseObject(live)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(paths, func(p fieldpath.Path) bool { return len(p) < 2 || o.Value(p) == nil })
}

func (c *choices) path(path fieldpath.Path, v any) fieldpath.Path {
	for {
		switch in := v.(type) {
		case map[string]any:
			if len(in) == 0 {
				return path
			}
			names := slices.Sorted(maps.Keys(in))
			name := names[c.next(len(names))]
			path, v = append(path, fieldpath.FieldNameElement(name)), in[name]
		case []any:
			if len(in) == 0 || path[len(path)-1].FieldName == nil {
				return path
			}
			v = in[c.next(len(in))]
			path = append(path, elementOf(v))
		default:
			return path
		}
		if c.next(6) == 5 {
			return path
		}
	}
}

// elementOf returns what names an element of a list: the key of a container, a port or what has a name, else its value.
func elementOf(v any) fieldpath.PathElement {
	object, isObject := v.(map[string]any)
	if !isObject {
		text, err := json.Marshal(v)
		if scalar, errValue := value.FromJSON(text); err == nil && errValue == nil {
			return fieldpath.ValueElement(scalar)
		}
		return fieldpath.IndexElement(0)
	}
	if port, ok := object["containerPort"].(json.Number); ok {
		if n, err := port.Int64(); err == nil {
			protocol, ok := object["protocol"].(string)
			if !ok {
				protocol = "TCP"
			}
			return fieldpath.PathElement{Key: fieldpath.KeyByFields("containerPort", n, "protocol", protocol)}
		}
	}
	name, _ := object["name"].(string)
	return fieldpath.PathElement{Key: fieldpath.KeyByFields("name", name)}
}
