package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

// routes is a write of an atomic list by server-side apply, under a rule whose writer has written it.
type routes struct {
	field          string // of the rule, under .spec
	live, incoming string // the values of .spec.http
}

func (r routes) write(t *testing.T) (ownership.Write, ownership.ObjectContext) {
	t.Helper()
	fields, err := ownership.ParseControllerFields(".spec" + r.field)
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "e2e.example.com", Version: "v1", Kind: "Routes"}
	rules, err := ownership.NewRules(ownership.Rule{Name: "weights", Fields: fields, Writers: []string{"rollouts"}}).For(kind.GroupKind(), "", ownership.Object{})
	if err != nil {
		t.Fatal(err)
	}
	const owns = `{"f:spec":{"f:http":{}}}`
	controller, applier := entry("rollouts", "Update", early, owns, ""), entry("flux", "Apply", late, owns, "")
	of := func(http, managers string) ownership.Object {
		return object(t, fmt.Sprintf(`{"metadata":{"managedFields":[%s]},"spec":{"http":%s}}`, managers, http))
	}
	managers := ownership.Managers{}.WithRules(rules, nil)
	w := ownership.Write{
		Kind: kind, Managers: managers, Live: of(r.live, controller), Incoming: of(r.incoming, applier),
		LiveEntries: entries(t, controller), IncomingEntries: entries(t, applier),
	}
	w.Sender = ownership.Sender{Writer: ownership.Applier, Entry: w.IncomingEntries[0]}
	w.Manifests = managers.ManifestsOf(w.Sender, w.Live, w.Incoming, w.LiveEntries)
	return w, ownership.ObjectContext{Managers: managers}
}

func TestFieldsInsideAtomicFieldsAreContested(t *testing.T) {
	const byName = ".http[name=*].weight"
	for sentence, c := range map[string]struct {
		routes routes
		want   []string
	}{
		"an element with a name": {routes{byName, `[{"name":"a","weight":1}]`, `[{"name":"a","weight":2}]`}, []string{`.spec.http[name="a"].weight: 1, 2`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w, context := c.routes.write(t)
			contested, err := context.ContestedFields(w)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range contested {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s: %s, %s; %s", f.Path, f.Live, f.Incoming, f.Unmatched), "; "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("contested (-want +got):\n%s", diff)
			}
		})
	}
}
