package threeway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

func TestMergeRejectsASchemaThatInfersKeys(t *testing.T) {
	for name, c := range map[string]struct {
		place schema.Schema
		want  string
	}{
		"as the whole schema":                 {&twoway.Inferred{}, ""},
		"nested in another":                   {inferring{}, ".a: "},
		"as kustomize's, that replaces lists": {twoway.Kustomize(), "-"},
	} {
		for _, live := range []string{`{"a":[{"name":"x"}]}`, `{"a":[ {"name":"x"}]}`, `{"a":[{"name":"y"}]}`} {
			t.Run(name+"/"+live, func(t *testing.T) {
				manifest := []byte(`{"a":[{"name":"x"}]}`)
				_, err := threeway.Merge(nil, manifest, []byte(live), c.place, threeway.Options{})
				if c.want == "-" && err != nil {
					t.Errorf("error %v, want none", err)
				}
				if c.want != "-" && (!errors.Is(err, threeway.ErrNoStrategy) || !strings.HasPrefix(err.Error(), c.want)) {
					t.Errorf("error %v, want %q and %v", err, c.want, threeway.ErrNoStrategy)
				}
			})
		}
	}
}

// inferring is a schema that knows the root, and infers the keys of lists nested under it.
type inferring struct{}

func (inferring) Field(string) schema.Schema { return &twoway.Inferred{} }
func (inferring) Element() schema.Schema     { return &twoway.Inferred{} }
func (inferring) Strategy() schema.Strategy  { return schema.Strategy{} }
