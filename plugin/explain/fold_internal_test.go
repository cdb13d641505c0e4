package explain

import (
	"fmt"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestFolds(t *testing.T) {
	const me = `{"manager":"me","operation":"Apply","fieldsV1":%s}`
	for sentence, c := range map[string]struct {
		values, owned string
		want          []string
	}{
		"a whole object":                        {`{"a":{"b":1,"c":2}}`, `{"f:a":{"f:b":{},"f:c":{}}}`, []string{".a me 2"}},
		"two owners":                            {`{"a":{"b":{"x":1,"y":2},"c":2}}`, `{"f:a":{"f:b":{"f:x":{},"f:y":{}}}}`, []string{".a.b me 2", ".a.c  1"}},
		"a single field deep within":            {`{"a":{"b":{"c":1}}}`, `{}`, []string{".a.b.c  1"}},
		"a managed field nested under a scalar": {`{"a":1}`, `{"f:a":{"f:b":{}}}`, []string{".a  1", ".a.b me 1"}},
		"one owner before and after another":    {`{"a":1,"b":2,"c":3}`, `{"f:a":{},"f:c":{}}`, []string{".a me 1", ".b  1", ".c me 1"}},
		"nothing":                               {`{}`, `{}`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			o, err := ownership.ParseObject([]byte(`{"metadata":{"managedFields":[` + fmt.Sprintf(me, c.owned) + `]},` + c.values[1:]))
			if c.values == "{}" {
				o, err = ownership.ParseObject([]byte(`{}`))
			}
			expect.NoError(t, err)
			fields, err := ownership.ObjectContext{}.OwnedFields(o)
			expect.NoError(t, err)
			var got []string
			for _, f := range foldsOf(fields, 0) {
				got = append(got, fmt.Sprintf("%s %s %d", f.path, f.fields[0].Owner.By, len(f.fields)))
			}
			expect.Equal(t, "folds", c.want, got)
		})
	}
}
