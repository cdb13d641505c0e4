package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

// contestedBy returns the contested fields of a write by kubectl apply, with their owners.
func contestedBy(t *testing.T, context ownership.ObjectContext, live, incoming ownership.Object, managedBy ...string) []string {
	t.Helper()
	w := ownership.Write{
		Live: live, Incoming: incoming, LiveEntries: entries(t, managedBy...), Managers: managers,
		Sender: by(t, "kubectl-client-side-apply", "Update", ownsLastApplied),
	}
	var err error
	if w.Manifests, err = managers.ManifestsOf(w.Sender, live, incoming, w.LiveEntries); err != nil {
		t.Fatal(err)
	}
	context.Managers = managers
	contested, err := context.ContestedFields(w)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, c := range contested {
		if c.Declared.Manifest == ownership.Lacks {
			found = append(found, c.Path.String()+" "+c.Owner.Kind.String())
		}
	}
	return found
}

// applied is an object with a spec whose last-applied annotation is a manifest.
func applied(t *testing.T, text, manifest string) ownership.Object {
	t.Helper()
	annotations := fmt.Sprintf(`"annotations":{%q:%s}`, ownership.LastAppliedAnnotation, quoted(manifest))
	if !strings.Contains(text, `"metadata":{`) {
		return object(t, `{"metadata":{`+annotations+`},`+text[1:])
	}
	return object(t, strings.Replace(text, `"metadata":{`, `"metadata":{`+annotations+`,`, 1))
}

func TestContestedFieldsOfControllers(t *testing.T) {
	const fields = `{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{"f:cpu":{}},"f:requests":{"f:cpu":{}}}}},"f:paused":{}}}`
	cpu := func(kind string) string { return `.spec.containers[name="app"].resources.` + kind + ".cpu Controller" }
	for sentence, c := range map[string]struct {
		manager, operation, subresource, rules string
		want                                   []string
	}{
		"all fields nested under a rule's path": {"vpa", "Update", "", `.spec.containers[*].resources`, []string{cpu("limits"), cpu("requests")}},
		"of one element":                        {"vpa", "Update", "", `.spec.containers[name="app"].resources.limits`, []string{cpu("limits")}},
		"not of another element":                {"vpa", "Update", "", `.spec.containers[name="web"].resources`, []string{}},
		"several rules":                         {"vpa", "Update", "", `.spec.paused,.spec.containers[*].resources.limits`, []string{cpu("limits"), ".spec.paused Controller"}},
		"no rule, no field":                     {"vpa", "Update", "", ``, []string{}},
		"not by an applier":                     {"kubectl-client-side-apply", "Update", "", `.spec.paused`, []string{}},
		"not by server-side apply":              {"vpa", "Apply", "", `.spec.paused`, []string{}},
		"not by a person":                       {"kubectl-patch", "Update", "", `.spec.paused`, []string{}},
		"not by a status":                       {"vpa", "Update", "status", `.spec.paused`, []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			patterns, err := ownership.ParseControllerFields(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			live := applied(t, `{"spec":{"containers":[{"name":"app","image":"1","resources":{"limits":{"cpu":1},"requests":{"cpu":1}}}],"paused":true}}`, `{}`)
			got := contestedBy(t, ownership.ObjectContext{Controlled: patterns}, live, live,
				entry(c.manager, c.operation, early, fields, c.subresource))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContestedFieldsThatTheManifestDrops(t *testing.T) {
	const base = `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true,"x":{"y":1,"z":2}}}`
	const written = `{"f:metadata":{"f:labels":{".":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{"k:{\"name\":\"E\"}":{"f:value":{}}}}},"f:other":{},"f:paused":{},"f:x":{"f:y":{}}}}`
	for sentence, c := range map[string]struct {
		manager, subresource, manifest string
		want                           []string
	}{
		"nothing while the manifest is the same":         {"kubectl-edit", "", base, []string{}},
		"a field":                                        {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"x":{"y":1,"z":2}}}`, []string{".spec.paused Imperative"}},
		"a field of an object":                           {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true,"x":{"z":2}}}`, []string{".spec.x.y Imperative"}},
		"an element of a list within one":                {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"2"}],"paused":true,"x":{"y":1,"z":2}}}`, []string{`.spec.containers[name="app"].env[name="E"].value Imperative`}},
		"a whole block":                                  {"kubectl-edit", "", `{"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":true}}`, []string{".metadata.labels.tier Imperative", ".spec.x.y Imperative"}},
		"not fields that change their value":             {"kubectl-edit", "", `{"metadata":{"labels":{"tier":"b"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"paused":false,"x":{"y":1,"z":2}}}`, []string{}},
		"not fields that only an applier manages":        {"kubectl-client-side-apply", "", `{"spec":{}}`, []string{}},
		"not fields of a manager that writes the status": {"my-operator", "status", `{"spec":{}}`, []string{}},
		"what an unlisted client has":                    {"my-operator", "", `{"metadata":{"labels":{"tier":"a"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"1"}]}],"x":{"y":1,"z":2}}}`, []string{".spec.paused Imperative"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			const live = `{"metadata":{"labels":{"tier":"z"}},"spec":{"containers":[{"name":"app","image":"1","env":[{"name":"E","value":"9"}]}],"paused":false,"x":{"y":9,"z":2}}}`
			got := contestedBy(t, ownership.ObjectContext{}, applied(t, live, base), applied(t, live, c.manifest),
				entry(c.manager, "Update", early, written, c.subresource))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestOwnsFieldsWithItsValue(t *testing.T) {
	manifest := func(field string) string { return `{"spec":{"a":1,` + field + `}}` }
	for sentence, c := range map[string]struct {
		declared, live, claim string
		want                  []string
	}{
		"the very value":                                        {`"x":true`, `"x":true`, `"f:x":{}`, []string{".spec.x Manifest"}},
		"another value":                                         {`"x":true`, `"x":false`, `"f:x":{}`, []string{".spec.x Imperative"}},
		"a quantity as the API server stores it":                {`"limits":{"cpu":0.5}`, `"limits":{"cpu":"500m"}`, `"f:limits":{"f:cpu":{}}`, []string{".spec.limits.cpu Manifest"}},
		"another quantity":                                      {`"limits":{"cpu":0.5}`, `"limits":{"cpu":"501m"}`, `"f:limits":{"f:cpu":{}}`, []string{".spec.limits.cpu Imperative"}},
		"what only looks like a quantity":                       {`"version":"1.0"`, `"version":"1"`, `"f:version":{}`, []string{".spec.version Imperative"}},
		"an atomic list":                                        {`"command":["a","b"]`, `"command":["a","b"]`, `"f:command":{}`, []string{".spec.command Manifest"}},
		"an atomic list that another client changed":            {`"command":["a","b"]`, `"command":["a"]`, `"f:command":{}`, []string{".spec.command Imperative"}},
		"an atomic list with defaults":                          {`"ports":[{"port":1}]`, `"ports":[{"port":1,"protocol":"TCP"}]`, `"f:ports":{}`, []string{".spec.ports Manifest"}},
		"an atomic map":                                         {`"ref":{"fieldPath":"p"}`, `"ref":{"apiVersion":"v1","fieldPath":"p"}`, `"f:ref":{}`, []string{".spec.ref Manifest"}},
		"an atomic map with a member that another client added": {`"selector":{"a":"b"}`, `"selector":{"a":"b","c":"d"}`, `"f:selector":{}`, []string{".spec.selector Imperative"}},
		"an atomic list with limits of its own":                 {`"list":[{"max":{"cpu":"1000m"}}]`, `"list":[{"max":{"cpu":"1"}}]`, `"f:list":{}`, []string{".spec.list Manifest"}},
		"a value that only the applier manages":                 {`"x":true`, `"x":false`, ``, []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := contestedBy(t, ownership.ObjectContext{}, applied(t, manifest(c.live), manifest(c.declared)),
				applied(t, `{"spec":{"a":1}}`, `{"spec":{"a":1}}`), entry("kubectl-create", "Update", early, `{"f:spec":{`+c.claim+`}}`, ""))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
