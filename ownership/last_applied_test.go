package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestManifestsOnClientSideApply(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want ownership.Declaration
	}{
		"it sets it":                           {`{"spec":{"replicas":3}}`, ownership.Sets},
		"it sets it to zero":                   {`{"spec":{"replicas":0}}`, ownership.Sets},
		"it sets it to an empty string":        {`{"spec":{"replicas":""}}`, ownership.Sets},
		"it sets it to null":                   {`{"spec":{"replicas":null}}`, ownership.Clears},
		"it sets it to null, with white space": {"{\"spec\":{\"replicas\" : null\n}}", ownership.Clears},
		"it sets it to the string \"null\"":    {`{"spec":{"replicas":"null"}}`, ownership.Sets},
		"it lacks it":                          {`{"spec":{"image":"a"}}`, ownership.Lacks},
		"it has no spec":                       {`{}`, ownership.Lacks},
		"it sets a parent to null":             {`{"spec":null}`, ownership.Clears},
		"its spec is a list":                   {`{"spec":["replicas"]}`, ownership.Lacks},
		"it has the name elsewhere":            {`{"replicas":3,"spec":{"template":{"replicas":3}}}`, ownership.Lacks},
		"it writes the name with escapes":      {`{"sp\u0065c":{"replica\u0073":3}}`, ownership.Sets},
		"it starts with white space":           {"\n\t {\"spec\":{\"replicas\":3}}\n", ownership.Sets},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := declaredInLastApplied(t, c.text, replicas)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want.String(), got.String()); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}
