package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

// contestedBy returns the contested fields of a write by kubectl apply, with their owners.
func contestedBy(t *testing.T, rules []ownership.Pattern, live, incoming ownership.Object, managedBy ...string) []string {
	t.Helper()
	return contestedIn(t, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, rules, live, incoming, managedBy...)
}

func contestedIn(
	t *testing.T, kind schema.GroupVersionKind, rules []ownership.Pattern, live, incoming ownership.Object, managedBy ...string,
) []string {
	t.Helper()
	w := ownership.Write{
		Kind: kind,
		Live: live, Incoming: incoming, LiveEntries: entries(t, managedBy...), Managers: managers.WithControlled(rules),
		Sender: by(t, "kubectl-client-side-apply", "Update", ownsLastApplied),
	}
	w.Manifests = w.Managers.ManifestsOf(w.Sender, live, incoming, w.LiveEntries)
	contested, err := ownership.ObjectContext{Managers: w.Managers}.ContestedFields(w)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, c := range contested {
		if c.Declared.Manifest == ownership.Lacks || c.Owner.Kind == ownership.Controller {
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
			got := contestedBy(t, patterns, live, live,
				entry(c.manager, c.operation, early, fields, c.subresource))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContestedUnits(t *testing.T) {
	const (
		base = `{"metadata":{"labels":{"tier":"a"}},"data":{"k":"1"},"spec":{"paused":true,"minReadySeconds":1,"template":{` +
			`"metadata":{"annotations":{"x":"1"}},"spec":{"containers":[{"name":"app","image":"1","resources":{"limits":{"cpu":0.5}}}],"serviceAccountName":"a"}}}}`
		live = `{"metadata":{"labels":{"tier":"z"}},"data":{"k":"9"},"spec":{"paused":false,"minReadySeconds":9,"template":{` +
			`"metadata":{"annotations":{"x":"9"}},"spec":{"containers":[{"name":"app","image":"1","resources":{"limits":{"cpu":"1"}}}],"serviceAccountName":"b"}}}}`
		written = `{"f:metadata":{"f:labels":{".":{},"f:tier":{}}},"f:data":{"f:k":{}},"f:spec":{"f:minReadySeconds":{},"f:paused":{},"f:template":{` +
			`"f:metadata":{"f:annotations":{"f:x":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{"f:limits":{"f:cpu":{}}}}},"f:serviceAccountName":{}}}}}`
		tier, x   = `.metadata.labels.tier Imperative`, `.spec.template.metadata.annotations.x Imperative`
		resources = `.spec.template.spec.containers[name="app"].resources Imperative`
		account   = `.spec.template.spec.serviceAccountName Imperative`
	)
	change := strings.NewReplacer
	for sentence, c := range map[string]struct {
		live, manifest, manager, subresource string
		want                                 []string
	}{
		"nothing while the manifest is the same":      {live, base, "kubectl-edit", "", []string{}},
		"a label":                                     {live, change(`"tier":"a"`, ``).Replace(base), "kubectl-edit", "", []string{tier}},
		"a label with all other labels":               {live, change(`"labels":{"tier":"a"}`, ``).Replace(base), "kubectl-edit", "", []string{tier}},
		"an annotation of the pod template":           {live, change(`"x":"1"`, ``).Replace(base), "kubectl-edit", "", []string{x}},
		"the resources of a container":                {live, change(`,"resources":{"limits":{"cpu":0.5}}`, ``).Replace(base), "kubectl-edit", "", []string{resources}},
		"resources that the manifest sets to nothing": {live, change(`{"limits":{"cpu":0.5}}`, `{"limits":{}}`).Replace(base), "kubectl-edit", "", []string{resources}},
		"the service account":                         {live, change(`,"serviceAccountName":"a"`, ``).Replace(base), "kubectl-edit", "", []string{account}},
		"not the service account by another name":     {live, change(`"serviceAccountName":"a"`, `"serviceAccount":"a"`).Replace(base), "kubectl-edit", "", []string{}},
		"paused":                                         {live, change(`"paused":true,`, ``).Replace(base), "kubectl-edit", "", []string{".spec.paused Imperative"}},
		"no other field":                                 {live, change(`"minReadySeconds":1,`, ``).Replace(base), "kubectl-edit", "", []string{}},
		"not the data of other kinds":                    {live, change(`"data":{"k":"1"},`, ``).Replace(base), "kubectl-edit", "", []string{}},
		"not fields that change their value":             {live, change(`"tier":"a"`, `"tier":"b"`).Replace(base), "kubectl-edit", "", []string{}},
		"not with the value that the manifest set":       {change(`"tier":"z"`, `"tier":"a"`).Replace(live), change(`"tier":"a"`, ``).Replace(base), "kubectl-edit", "", []string{}},
		"not with the same quantity":                     {change(`"cpu":"1"`, `"cpu":"500m"`).Replace(live), change(`,"resources":{"limits":{"cpu":0.5}}`, ``).Replace(base), "kubectl-edit", "", []string{}},
		"not fields that only an applier manages":        {live, `{"spec":{}}`, "kubectl-client-side-apply", "", []string{}},
		"not fields of a manager that writes the status": {live, `{"spec":{}}`, "my-operator", "status", []string{}},
		"what an unlisted client has":                    {live, change(`"paused":true,`, ``).Replace(base), "my-operator", "", []string{".spec.paused Imperative"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := contestedBy(t, nil, applied(t, c.live, base), applied(t, c.live, c.manifest),
				entry(c.manager, "Update", early, written, c.subresource))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretKeysAreComparedWithStringData(t *testing.T) {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	for sentence, c := range map[string]struct {
		base, manifest string
		want           []string
	}{
		"data with another value":           {`{"data":{"k":"b25l"}}`, `{}`, []string{".data.k Imperative"}},
		"data with the value of live":       {`{"data":{"k":"dHdv"}}`, `{}`, []string{}},
		"stringData with another value":     {`{"stringData":{"k":"one"}}`, `{}`, []string{".data.k Imperative"}},
		"stringData with the value of live": {`{"stringData":{"k":"two"}}`, `{}`, []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			live := applied(t, `{"data":{"k":"dHdv"}}`, c.base)
			got := contestedIn(t, secret, nil, live, applied(t, `{"kind":"Secret"}`, c.manifest),
				entry("kubectl-edit", "Update", early, `{"f:data":{"f:k":{}}}`, ""))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesNameFieldsWrittenThroughAnotherVersion(t *testing.T) {
	const base, live = `{"spec":{"metrics":[1],"minReplicas":1}}`, `{"spec":{"metrics":[2],"minReplicas":3}}`
	for sentence, c := range map[string]struct {
		version, written, rule string
		want                   []string
	}{
		"at the same path":           {"v1", `{"f:spec":{"f:minReplicas":{}}}`, ".spec.minReplicas", []string{".spec.minReplicas Controller"}},
		"at another path":            {"v1", `{"f:spec":{"f:target":{}}}`, ".spec.metrics", []string{".spec.metrics Controller"}},
		"not what the base sets":     {"v1", `{"f:spec":{"f:target":{}}}`, ".spec.other", []string{}},
		"not through the same one":   {"v2", `{"f:spec":{"f:target":{}}}`, ".spec.metrics", []string{}},
		"not what nobody has set so": {"v1", `{"f:spec":{"f:target":{}}}`, ".spec.nothing", []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			rules, err := ownership.ParseControllerFields(c.rule)
			if err != nil {
				t.Fatal(err)
			}
			kind := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
			e := strings.Replace(entry("tuner", "Update", early, c.written, ""), `"apps/v1"`, `"autoscaling/`+c.version+`"`, 1)
			got := contestedIn(t, kind, rules, applied(t, live, base), applied(t, base, base), e)
			if len(got) == 0 {
				got = []string{}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
