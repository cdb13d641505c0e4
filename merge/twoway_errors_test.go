package merge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/merge"
)

func TestTwoWayNamesWhatItCannotMerge(t *testing.T) {
	for name, c := range map[string]struct {
		source, destination string
		reason              error
		path                string
	}{
		"a scalar over an object":                     {`{a: {b: 1}}`, `{a: {b: {c: 1}}}`, merge.ErrWrongKind, ".a.b"},
		"a list over an object":                       {`{a: []}`, `{a: {}}`, merge.ErrWrongKind, ".a"},
		"an object over a scalar":                     {`{a: {}}`, `{a: 1}`, merge.ErrWrongKind, ".a"},
		"an object over a list, at the root":          {`{}`, `[]`, merge.ErrWrongKind, ""},
		"a scalar in an element":                      {containers(`{name: a, ports: 1}`), containers(`{name: a, ports: []}`), merge.ErrWrongKind, `.spec.template.spec.containers[name="a"].ports`},
		"a scalar in an element of two keys":          {ports(`{containerPort: 1, protocol: TCP, x: 1}`), ports(`{containerPort: 1, protocol: TCP, x: []}`), merge.ErrWrongKind, `.spec.template.spec.containers[name="a"].ports[containerPort=1,protocol="TCP"].x`},
		"a scalar in a list of objects":               {containers(`a`), containers(`{name: a}`), merge.ErrWrongKind, ".spec.template.spec.containers[0]"},
		"an element without a key":                    {containers(`{name: a}, {}`), containers(`{name: a}`), merge.ErrNoKey, ".spec.template.spec.containers[1]"},
		"an element without the first key":            {ports(`{protocol: TCP}`), ports(`{containerPort: 1}`), merge.ErrNoKey, `.spec.template.spec.containers[name="a"].ports[0]`},
		"a directive that is no string":               {`{a: {$patch: 1}}`, `{a: {}}`, merge.ErrUnknownDirective, ".a"},
		"a directive that is unknown, in what is new": {`{a: {b: {$patch: keep}}}`, `{}`, merge.ErrUnknownDirective, ".a.b"},
		"the first of two, by the order of names":     {`{a: 1, b: 1}`, `{a: [], b: []}`, merge.ErrWrongKind, ".a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := twoWayCase{source: c.source, destination: c.destination}.merge(t)
			var input *merge.InputError
			if !errors.As(err, &input) || !errors.Is(err, c.reason) {
				t.Fatalf("got the error %v, want an InputError with the reason %v", err, c.reason)
			}
			if got := input.Path.String(); got != c.path {
				t.Errorf("the error is at %s, want %s: %v", got, c.path, err)
			}
		})
	}
}

func TestTwoWayRefusesWhatJSONDoesNotDecodeInto(t *testing.T) {
	for name, source := range map[string]any{
		"a typed map":  map[string]any{"a": map[string]string{"b": "c"}},
		"a typed list": map[string]any{"a": []string{"b"}},
		"a struct":     map[string]any{"a": struct{}{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, destination := range []map[string]any{{}, {"a": "b"}, {"a": nil}} {
				_, err := merge.TwoWay(source, destination, nil, merge.TwoWayOptions{})
				if !errors.Is(err, merge.ErrWrongKind) {
					t.Errorf("got the error %v, want %v", err, merge.ErrWrongKind)
				}
			}
		})
	}
}

func TestTwoWayJSONReadsStrictly(t *testing.T) {
	for name, c := range map[string]struct{ source, destination, want string }{
		"no JSON":                            {`{`, `{}`, "source: decoding JSON"},
		"nothing":                            {`{}`, ``, "destination: decoding JSON"},
		"two values":                         {`{} {}`, `{}`, "more follows the value"},
		"a name twice":                       {`{"a":1,"a":2}`, `{}`, "duplicate"},
		"a name twice that is not looked at": {`{}`, `{"a":{"b":1,"b":2}}`, "duplicate"},
		"an invalid string":                  {`{}`, "{\"a\":\"\xff\"}", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := merge.TwoWayJSON([]byte(c.source), []byte(c.destination), nil, merge.TwoWayOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTwoWayJSONKeepsNumbersAndWhatItDoesNotTouch(t *testing.T) {
	source := `{"a":{"n":12345678901234567890},"l":[{"name":"x","v":1.50}]}`
	destination := `{"a":{"m":0.10,"n":1},"b":{ "z":1e3, "a":"\u00e9" },"l":[{"name":"x","w":[1, 2]}]}`
	want := `{"a":{"m":0.10,"n":12345678901234567890},"b":{ "z":1e3, "a":"\u00e9" },"l":[{"name":"x","v":1.50,"w":[1, 2]}]}`
	got, err := merge.TwoWayJSON([]byte(source), []byte(destination), nil, merge.TwoWayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
