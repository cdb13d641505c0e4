package twoway_test

import (
	"errors"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

func TestTwoWayInputErrorsHaveTheFieldsPath(t *testing.T) {
	for name, c := range map[string]struct {
		manifest, live string
		reason         error
		path           string
	}{
		"a scalar over an object":                 {`{a: {b: 1}}`, `{a: {b: {c: 1}}}`, twoway.ErrWrongKind, ".a.b"},
		"a list over an object":                   {`{a: []}`, `{a: {}}`, twoway.ErrWrongKind, ".a"},
		"an object over a scalar":                 {`{a: {}}`, `{a: 1}`, twoway.ErrWrongKind, ".a"},
		"an object over a list, at the root":      {`{}`, `[]`, twoway.ErrWrongKind, ""},
		"a scalar in an element":                  {containers(`{name: a, ports: 1}`), containers(`{name: a, ports: []}`), twoway.ErrWrongKind, `.spec.template.spec.containers[name="a"].ports`},
		"a scalar in an element of two keys":      {ports(`{containerPort: 1, protocol: TCP, x: 1}`), ports(`{containerPort: 1, protocol: TCP, x: []}`), twoway.ErrWrongKind, `.spec.template.spec.containers[name="a"].ports[containerPort=1,protocol="TCP"].x`},
		"a scalar in a list of objects":           {containers(`a`), containers(`{name: a}`), twoway.ErrWrongKind, ".spec.template.spec.containers[0]"},
		"an element without a key":                {containers(`{name: a}, {}`), containers(`{name: a}`), twoway.ErrNoKey, ".spec.template.spec.containers[1]"},
		"an element without the first key":        {ports(`{protocol: TCP}`), ports(`{containerPort: 1}`), twoway.ErrNoKey, `.spec.template.spec.containers[name="a"].ports[0]`},
		"a directive that is not a string":        {`{a: {$patch: 1}}`, `{a: {}}`, twoway.ErrUnknownDirective, ".a"},
		"an unknown directive in a new field":     {`{a: {b: {$patch: keep}}}`, `{}`, twoway.ErrUnknownDirective, ".a.b"},
		"a fraction in a key":                     {`{apiVersion: v1, kind: Pod, metadata: {ownerReferences: [{uid: 1.5, x: 1}]}}`, `{metadata: {ownerReferences: [{uid: 1.5, x: []}]}}`, twoway.ErrWrongKind, `.metadata.ownerReferences[uid=1.5].x`},
		"a large number in a key":                 {`{apiVersion: v1, kind: Pod, metadata: {ownerReferences: [{uid: 1e30, x: 1}]}}`, `{metadata: {ownerReferences: [{uid: 1e30, x: []}]}}`, twoway.ErrWrongKind, `.metadata.ownerReferences[uid=1e+30].x`},
		"an empty name":                           {`{a: {"": 1}}`, `{a: {b: 1}}`, twoway.ErrEmptyName, `.a`},
		"an empty name that is null":              {`{a: {"": null}}`, `{a: {b: 1}}`, twoway.ErrEmptyName, `.a`},
		"an empty name in a new field":            {`{a: {b: {"": 1}}}`, `{}`, twoway.ErrEmptyName, `.a.b`},
		"an empty name in a replacement":          {`{a: {$patch: replace, b: {"": 1}}}`, `{a: {}}`, twoway.ErrEmptyName, `.a.b`},
		"an empty name in live":                   {`{a: {b: 1}}`, `{a: {"": 1}}`, twoway.ErrEmptyName, `.a`},
		"the first of two, by the order of names": {`{a: 1, b: 1}`, `{a: [], b: []}`, twoway.ErrWrongKind, ".a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := twoWayCase{manifest: c.manifest, live: c.live}.merge(t)
			var input *twoway.InputError
			if !errors.As(err, &input) || !errors.Is(err, c.reason) || input.Path.String() != c.path {
				t.Errorf("got the error %v, want an InputError at %s with the reason %v", err, c.path, c.reason)
			}
		})
	}
}

func TestTwoWayRejectsInvalidTexts(t *testing.T) {
	for name, c := range map[string]struct{ manifest, live, want string }{
		"no JSON":                            {`{`, `{}`, "manifest: reading JSON"},
		"nothing":                            {`{}`, ``, "live: reading JSON"},
		"two values":                         {`{} {}`, `{}`, "more follows the value"},
		"a duplicate name":                   {`{"a":1,"a":2}`, `{}`, "duplicate"},
		"a duplicate name in an unused part": {`{}`, `{"a":{"b":1,"b":2}}`, "duplicate"},
		"an invalid string":                  {`{}`, "{\"a\":\"\xff\"}", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := twoway.Merge([]byte(c.manifest), []byte(c.live), nil, twoway.Options{})
			expect.Error(t, "merge", c.want, err)
		})
	}
}

func TestTwoWayKeepsNumbersAndUnchangedTexts(t *testing.T) {
	manifest := `{"a":{"n":12345678901234567890},"l":[{"name":"x","v":1.50}]}`
	live := `{"a":{"m":0.10,"n":1},"b":{ "z":1e3, "a":"\u00e9" },"l":[{"name":"x","w":[1, 2]}]}`
	want := `{"a":{"m":0.10,"n":12345678901234567890},"b":{ "z":1e3, "a":"\u00e9" },"l":[{"name":"x","w":[1, 2],"v":1.50}]}`
	got, err := twoway.Merge([]byte(manifest), []byte(live), nil, twoway.Options{})
	expect.NoError(t, err)
	expect.Equal(t, "result", want, string(got))
}
