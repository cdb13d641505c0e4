package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func printed(paths []fieldpath.Path) []string {
	found := make([]string, 0, len(paths))
	for _, path := range paths {
		found = append(found, path.String())
	}
	return found
}

func TestWhatControllersHaveWrittenOfWhatRulesGiveThem(t *testing.T) {
	const fields = `{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{"f:cpu":{}},"f:requests":{"f:cpu":{}}}}},"f:paused":{}}}`
	cpu := func(kind string) string { return `.spec.containers[name="app"].resources.` + kind + ".cpu" }
	for sentence, c := range map[string]struct {
		manager, operation, subresource, rules string
		want                                   []string
	}{
		"all beneath what a rule names": {"vpa", "Update", "", `.spec.containers[*].resources`, []string{cpu("limits"), cpu("requests")}},
		"of one element":                {"vpa", "Update", "", `.spec.containers[name="app"].resources.limits`, []string{cpu("limits")}},
		"not of another element":        {"vpa", "Update", "", `.spec.containers[name="web"].resources`, []string{}},
		"several rules":                 {"vpa", "Update", "", `.spec.paused,.spec.containers[*].resources.limits`, []string{".spec.paused", cpu("limits")}},
		"no rule, no field":             {"vpa", "Update", "", ``, []string{}},
		"not by an applier":             {"kubectl-client-side-apply", "Update", "", `.spec.paused`, []string{}},
		"not by server-side apply":      {"vpa", "Apply", "", `.spec.paused`, []string{}},
		"not by a person":               {"kubectl-patch", "Update", "", `.spec.paused`, []string{}},
		"not by a status":               {"vpa", "Update", "status", `.spec.paused`, []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			patterns, err := ownership.ParseControllerFields(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			live := entries(t, entry(c.manager, c.operation, early, fields, c.subresource))
			paths, err := managers.Controlled(live, patterns)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, printed(paths)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAManifestLetsGoOfThatSomebodyElseHasWritten(t *testing.T) {
	const base = `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true,"x":{"y":1,"z":2}}}`
	const written = `{"f:metadata":{"f:labels":{".":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{"k:{\"name\":\"E\"}":{"f:value":{}}}}},"f:other":{},"f:paused":{},"f:x":{"f:y":{}}}}`
	for sentence, c := range map[string]struct {
		manager, subresource, manifest string
		want                           []string
	}{
		"nothing while the manifest is the same": {"kubectl-edit", "", base, []string{}},
		"a field":                                {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"x":{"y":1,"z":2}}}`, []string{".spec.paused"}},
		"a field of an object":                   {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true,"x":{"z":2}}}`, []string{".spec.x.y"}},
		"an element of a list within one":        {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"2"}],"paused":true,"x":{"y":1,"z":2}}}`, []string{`.spec.containers[name="app"].env[name="E"].value`}},
		"a whole block":                          {"kubectl-edit", "", `{"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true}}`, []string{".metadata.labels.tier", ".spec.x.y"}},
		"not what changes its value":             {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"b"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":false,"x":{"y":1,"z":2}}}`, []string{}},
		"not what only an applier has":           {"kubectl-client-side-apply", "", `{"spec":{}}`, []string{}},
		"not what a status writer says":          {"my-operator", "status", `{"spec":{}}`, []string{}},
		"what an unlisted client has":            {"my-operator", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"x":{"y":1,"z":2}}}`, []string{".spec.paused"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			applied := func(manifest string) ownership.Object {
				return object(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, ownership.LastAppliedAnnotation, quoted(manifest)))
			}
			author := by(t, "kubectl-client-side-apply", "Update", ownsLastApplied)
			live := entries(t, entry(c.manager, "Update", early, written, c.subresource))
			manifests, err := ownership.ManifestsOf(author, applied(base), applied(c.manifest), live)
			if err != nil {
				t.Fatal(err)
			}
			paths, err := managers.LetGo(live, manifests)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, printed(paths)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
