package threeway_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// unlikeUpstream is a case of docs/merge-differences.md, with the results of upstream and of Merge.
type unlikeUpstream struct {
	typed                any
	base, manifest, live string
	upstream             string // a result, or behind "error:" a part of the error
	handoff              string // likewise
}

func TestDifferencesFromStrategicPatch(t *testing.T) {
	pod, service := &corev1.Pod{}, &corev1.Service{}
	for name, c := range map[string]unlikeUpstream{
		"leftovers: directives stay in an object that is added again": {
			pod, `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"finalizers":["a"]}}`, `{}`,
			`{"metadata":{"finalizers":["a"],"$deleteFromPrimitiveList/finalizers":["b"],"$setElementOrder/finalizers":["a"]}}`,
			`{"metadata":{"finalizers":["a"]}}`,
		},
		"leftovers: deletions stay in an element that is added again": {
			pod, `{"spec":{"containers":[{"name":"a","image":"i","ports":[{"containerPort":1}]}]}}`, `{"spec":{"containers":[{"name":"a","ports":[]}]}}`,
			`{"spec":{"containers":[{"name":"b"}]}}`,
			`{"spec":{"containers":[{"name":"a","image":null,"ports":[{"containerPort":1,"$patch":"delete"}]},{"name":"b"}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[]},{"name":"b"}]}}`,
		},
		"leftovers: a union that is added again": {
			pod, `{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}`, `{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}}`, `{"spec":{"volumes":[{"name":"w"}]}}`,
			`{"spec":{"volumes":[{"name":"v","emptyDir":null,"hostPath":{"path":"/"},"$retainKeys":["hostPath","name"]},{"name":"w"}]}}`,
			`{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}},{"name":"w"}]}}`,
		},
		"leftovers: a list over null": {
			pod, `{"spec":{"containers":[{"name":"a","image":"i"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":null}}`,
			`error:expected a []interface {}`, `{"spec":{"containers":[{"name":"a"}]}}`,
		},
		"duplicate keys: an element twice": {
			service, ``, `{"spec":{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"}]}}`, `{"spec":{"ports":[{"port":53,"protocol":"TCP"}]}}`,
			`{"spec":{"ports":[{"port":53,"protocol":"UDP"}]}}`,
			`error:manifest: .spec.ports[port=53]: the list has the element twice`,
		},
		"duplicate values: a value twice in a set": {
			pod, ``, `{"metadata":{"finalizers":["b"]}}`, `{"metadata":{"finalizers":["a","a"]}}`,
			`{"metadata":{"finalizers":["b","a"]}}`, `error:live: .metadata.finalizers[="a"]: the list has the element twice`,
		},
		"JSON texts: the last one of a name counts": {
			pod, ``, `{"spec":{"nodeName":"a","nodeName":"b"}}`, `{}`, `{"spec":{"nodeName":"b"}}`, `error:manifest: reading JSON: jsontext: duplicate object member name`,
		},
		"JSON texts: half of a surrogate pair": {
			pod, ``, `{"spec":{"nodeName":"\ud800"}}`, `{}`, `{"spec":{"nodeName":"\ufffd"}}`, `error:manifest: reading JSON: jsontext: invalid surrogate pair`,
		},
		"JSON texts: invalid UTF-8": {
			pod, ``, "{\"spec\":{\"nodeName\":\"\xff\"}}", `{}`, `{"spec":{"nodeName":"\ufffd"}}`, `error:manifest: reading JSON: jsontext: invalid UTF-8`,
		},
		"wrong kinds: an object over another object, declared as a scalar": {
			pod, ``, `{"spec":{"nodeName":{"a":1}}}`, `{"spec":{"nodeName":{"a":2}}}`, `{"spec":{"nodeName":{"a":1}}}`,
			`error:manifest: .spec.nodeName: the value is of the wrong kind: it is an object`,
		},
		"wrong kinds: an object over another object, declared as a list": {
			pod, ``, `{"spec":{"containers":{"a":1}}}`, `{"spec":{"containers":{"a":2}}}`, `{"spec":{"containers":{"a":1}}}`,
			`error:manifest: .spec.containers: the value is of the wrong kind: it is an object`,
		},
		"keys of two kinds: one element or two": {
			service, `{"spec":{"ports":[{"port":"80"}]}}`, `{"spec":{"ports":[]}}`, `{"spec":{"ports":[{"port":80}]}}`,
			`{"spec":{"ports":[{"port":80}]}}`, `{"spec":{"ports":[{"port":80}]}}`,
		},
		"unknown fields: strategicpatch does not look inside": {
			pod, ``, `{"spec":{"future":{"a":1}}}`, `{"spec":{"future":{"a":2,"b":3}}}`,
			`error:unable to find api field`, `{"spec":{"future":{"a":1,"b":3}}}`,
		},
		"unknown fields: of a type with its own JSON encoding": {
			&apiextensionsv1.JSONSchemaProps{}, ``, `{"items":{"properties":{"a":{"type":"string"}}}}`, `{"items":{"properties":{"a":{}}}}`,
			`error:unable to find api field`, `{"items":{"properties":{"a":{"type":"string"}}}}`,
		},
		"directives in the manifest: an instruction": {
			pod, ``, `{"spec":{"$patch":"replace","nodeName":"a"}}`, `{"spec":{"hostname":"b"}}`, `{"spec":{"hostname":"b"}}`,
			`error:manifest: .spec: the field is a patch directive, not part of an object: $patch`,
		},
		"large numbers: rounded": {
			pod, ``, `{"spec":{"priority":12345678901234567890}}`, `{}`, `{"spec":{"priority":12345678901234567000}}`, `{"spec":{"priority":12345678901234567890}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var types schema.Types
			base, manifest, live := []byte(c.base), []byte(c.manifest), []byte(c.live)
			got, err := upstreamStrategic(base, manifest, live, c.typed)
			same(t, "upstream", c.upstream, got, err)
			got, err = threeway.Merge(base, manifest, live, types.Of(c.typed), threeway.Options{})
			same(t, "handoff", c.handoff, got, err)
		})
	}
}

func TestDifferencesFromJSONMergePatch(t *testing.T) {
	for name, c := range map[string]unlikeUpstream{
		"large numbers: a change that upstream misses": {
			nil, ``, `{"n":9007199254740993}`, `{"n":9007199254740992}`, `{"n":9007199254740992}`, `{"n":9007199254740993}`,
		},
		"JSON texts: the last one of a name counts": {
			nil, ``, `{"a":1,"a":2}`, `{}`, `{"a":2}`, `error:manifest: reading JSON: jsontext: duplicate object member name`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := upstreamMergePatch([]byte(c.base), []byte(c.manifest), []byte(c.live))
			same(t, "upstream", c.upstream, got, err)
			got, err = threeway.Merge([]byte(c.base), []byte(c.manifest), []byte(c.live), schema.JSONMergePatch(), threeway.Options{})
			same(t, "handoff", c.handoff, got, err)
		})
	}
}

// same checks that a merge returns the wanted JSON or error.
func same(t *testing.T, who, want string, got []byte, err error) {
	t.Helper()
	if part, ok := strings.CutPrefix(want, "error:"); ok {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one with %q, result %s", who, err, part, got)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", who, err)
		return
	}
	expect.Equal(t, who, jsontest.Decode(t, []byte(want)), jsontest.Decode(t, got))
}

func TestInputErrorsHaveTheFieldsPath(t *testing.T) {
	for name, c := range map[string]struct {
		base, manifest, live string
		reason               error
		want                 string
	}{
		"an element without its key": {
			``, `{"spec":{"containers":[{"name":"a"},{"image":"i"}]}}`, `{"spec":{"containers":[{"name":"a","image":"x"}]}}`,
			threeway.ErrNoKey, `manifest: .spec.containers[1]: the element lacks the key of its list: name`,
		},
		"an element of the base without its key": {
			`{"spec":{"containers":[{}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a","image":"x"}]}}`,
			threeway.ErrNoKey, `base: .spec.containers[0]: the element lacks the key of its list: name`,
		},
		"a key that is an object": {
			``, `{"spec":{"containers":[{"name":{}}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`,
			threeway.ErrWrongKind, `manifest: .spec.containers[0].name: the value is of the wrong kind: it is an object`,
		},
		"a number in a list of objects": {
			``, `{"spec":{"containers":[{"name":"a"},1]}}`, `{"spec":{"containers":[{"name":"a"}]}}`,
			threeway.ErrWrongKind, `manifest: .spec.containers[1]: the value is of the wrong kind: it is a number`,
		},
		"an object in a list of strings, in live": {
			``, `{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":[{}]}}`,
			threeway.ErrWrongKind, `live: .metadata.finalizers[0]: the value is of the wrong kind: it is an object`,
		},
		"an object over another object, declared as a string": {
			``, `{"metadata":{"labels":{"a.b/c":{}}}}`, `{"metadata":{"labels":{"a.b/c":{"x":1}}}}`,
			threeway.ErrWrongKind, `manifest: .metadata.labels.a.b/c: the value is of the wrong kind: it is an object`,
		},
		"a text that is not an object":   {``, `[]`, `{}`, threeway.ErrWrongKind, `manifest: the value is of the wrong kind: it is a list`},
		"a text that ends early":         {``, `{}`, `{"a":`, nil, `live: reading JSON: `},
		"trailing text after the object": {`{} {}`, `{"a":1}`, `{}`, nil, `base: reading JSON: `},
	} {
		t.Run(name, func(t *testing.T) {
			var types schema.Types
			_, err := threeway.Merge([]byte(c.base), []byte(c.manifest), []byte(c.live), types.Of(&corev1.Pod{}), threeway.Options{})
			var input *threeway.InputError
			if !errors.As(err, &input) || !strings.HasPrefix(err.Error(), c.want) || c.reason != nil && !errors.Is(err, c.reason) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
