package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestOwners(t *testing.T) {
	update := func(manager string) string { return entry(manager, "Update", early, ownsReplicas, "") }
	apply := func(manager string) string { return entry(manager, "Apply", early, ownsReplicas, "") }
	scale := func(manager string) string { return entry(manager, "Update", "", ownsReplicas, "scale") }
	image := entry("kubectl-edit", "Update", early, ownsImage, "")
	ruled := ruled(managers, ownership.Rule{Fields: []ownership.Pattern{{fieldpath.MatchAnyPathElement()}}})
	targeted := ownership.ObjectContext{Managers: managers, Scale: replicas, Autoscaler: "HorizontalPodAutoscaler/web"}
	scaled := ownership.ObjectContext{Managers: managers, Scale: replicas}
	controlled := ownership.ObjectContext{Managers: ruled}
	both := ownership.ObjectContext{Managers: ruled, Scale: replicas}
	owned := func(o ownership.Owner, by string) ownership.FieldOwner { return ownership.FieldOwner{Kind: o, By: by} }
	for sentence, c := range map[string]struct {
		context ownership.ObjectContext
		live    []string
		base    ownership.Declaration
		want    ownership.FieldOwner
	}{
		"the base sets it, and no entry has it":                             {scaled, nil, ownership.Sets, owned(ownership.Manifest, "")},
		"the base sets null, and no entry has it":                           {scaled, nil, ownership.Clears, owned(ownership.Manifest, "")},
		"of two appliers the first is named":                                {scaled, []string{apply("flux"), update("helm")}, ownership.Sets, owned(ownership.Manifest, "flux")},
		"a person's kubectl scale":                                          {scaled, []string{scale("kubectl")}, ownership.Lacks, owned(ownership.Imperative, "kubectl")},
		"a person takes precedence over an applier that set the same value": {scaled, []string{apply("flux"), update("kubectl-edit")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"whatever the order":                                                {scaled, []string{update("kubectl-edit"), update("helm")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"of two people the first is named":                                  {scaled, []string{update("kubectl-edit"), scale("kubectl")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"a controller takes precedence over a person":                       {controlled, []string{update("kubectl-edit"), update("vpa")}, ownership.Sets, owned(ownership.Controller, "vpa")},
		"an applier is no controller, whatever a rule says":                 {controlled, []string{apply("vpa")}, ownership.Lacks, owned(ownership.Manifest, "vpa")},
		"a rule without a controller that has written":                      {controlled, nil, ownership.Sets, owned(ownership.Manifest, "")},
		"an autoscaler that targets it, without an entry":                   {targeted, nil, ownership.Lacks, owned(ownership.Autoscaler, "HorizontalPodAutoscaler/web")},
		"an autoscaler that targets it takes precedence over all":           {targeted, []string{update("kubectl-edit"), update("keda")}, ownership.Sets, owned(ownership.Autoscaler, "HorizontalPodAutoscaler/web")},
		"an autoscaler by its entry for the scale field":                    {scaled, []string{scale("keda")}, ownership.Lacks, owned(ownership.Autoscaler, "keda")},
		"even where it applied":                                             {scaled, []string{apply("keda")}, ownership.Lacks, owned(ownership.Autoscaler, "keda")},
		"an autoscaler's entry takes precedence over a controller's":        {both, []string{update("vpa"), scale("keda")}, ownership.Sets, owned(ownership.Autoscaler, "keda")},
		"an autoscaler that manages another field counts as a client":       {ownership.ObjectContext{Managers: managers}, []string{update("keda")}, ownership.Lacks, owned(ownership.Imperative, "keda")},
		"or a controller's":                                                 {controlled, []string{update("keda")}, ownership.Lacks, owned(ownership.Controller, "keda")},
		"the HPA controller's old entry is a client's if no HPA targets the object": {
			scaled, []string{scale("kube-controller-manager")}, ownership.Sets, owned(ownership.Imperative, "kube-controller-manager"),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			declares := []string{"{}", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":null}}`}[c.base]
			fields, err := c.context.OwnedFields(object(t, liveWith(`,"spec":{"replicas":7}`, declares, append(c.live, image)...)))
			if err != nil || len(fields) < 1 {
				t.Fatal(fields, err)
			}
			got := fields[0].Owner
			got.Kind = got.Kind.Decided()
			expect.Equal(t, "owned", c.want, got)
		})
	}
}

func TestRulesMatchKindsAndNamespaces(t *testing.T) {
	for sentence, c := range map[string]struct {
		group, kind, namespaces    string // of the rule
		ofGroup, ofKind, namespace string
		want                       bool
	}{
		"its kind":                       {"apps", "Deployment", "", "apps", "Deployment", "shop", true},
		"another kind":                   {"apps", "Deployment", "", "apps", "StatefulSet", "shop", false},
		"the same kind of another group": {"apps", "Deployment", "", "example.com", "Deployment", "shop", false},
		"any group":                      {"*", "Deployment", "", "example.com", "Deployment", "shop", true},
		"any kind":                       {"apps", "*", "", "apps", "StatefulSet", "shop", true},
		"any kind of another group":      {"apps", "*", "", "example.com", "StatefulSet", "shop", false},
		"no group or kind means any":     {"", "", "", "example.com", "Whatever", "shop", true},
		"any of the core group":          {"*", "*", "", "", "Pod", "shop", true},
		"the core group by its name":     {"core", "Pod", "", "", "Pod", "shop", true},
		"the core group is no other":     {"core", "Deployment", "", "apps", "Deployment", "shop", false},
		"another is not the core group":  {"apps", "Pod", "", "", "Pod", "shop", false},
		"a pattern of namespaces":        {"", "", "shop-*", "", "Secret", "shop-eu", true},
		"another namespace":              {"", "", "shop-*", "", "Secret", "web", false},
		"an object outside namespaces, under such a pattern": {"", "", "*", "", "ClusterRole", "", false},
		"one under a rule for all":                           {"", "", "", "", "ClusterRole", "", true},
	} {
		rule := ownership.Rule{Kinds: []schema.GroupKind{{Group: c.group, Kind: c.kind}}, Namespaces: strings.Fields(c.namespaces)}
		expect.Equal(t, sentence, c.want, rule.Matches(schema.GroupKind{Group: c.ofGroup, Kind: c.ofKind}, c.namespace, ownership.Object{}))
	}
}

func TestParseControllerFields(t *testing.T) {
	const ports = `.spec.ports[port=80,protocol="TCP"]`
	for sentence, c := range map[string]struct {
		text  string
		want  []string
		wrong bool
	}{
		"space alone":                {" \n, ,", nil, false},
		"two, with space":            {" .spec.replicas , .spec.paused ", []string{".spec.replicas", ".spec.paused"}, false},
		"on lines":                   {".spec.replicas\n.spec.paused\n", []string{".spec.replicas", ".spec.paused"}, false},
		"a comma at the end":         {".spec.replicas,", []string{".spec.replicas"}, false},
		"a comma within brackets":    {ports + ",.spec.replicas", []string{ports, ".spec.replicas"}, false},
		"one of two is broken":       {"spec.paused,.spec.replicas", []string{".spec.replicas"}, true},
		"all are broken":             {"a,b", nil, true},
		"a bracket that never ends":  {".spec.ports[port=80,.spec.replicas", nil, true},
		"a bracket too many":         {".spec.ports],.spec.replicas", []string{".spec.ports]", ".spec.replicas"}, false},
		"a bracket within a name":    {`.metadata.labels["a]b"],.spec.replicas`, []string{".metadata.labels.a]b", ".spec.replicas"}, false},
		"a comma and quotes in keys": {`.spec.c[name="a,\"b"],.spec.replicas`, []string{`.spec.c[name="a,\"b"]`, ".spec.replicas"}, false},
		"handoff's own annotation":   {`.metadata.annotations["ownership-handoff.io/mode"]`, nil, true},
		"a wildcard":                 {".spec.c[*].image,.*.x", []string{".spec.c", ""}, false},
		"a bracket within a key":     {`.spec.c[name="a[b"],.spec.replicas`, []string{`.spec.c[name="a[b"]`, ".spec.replicas"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			patterns, err := ownership.ParseControllerFields(c.text)
			var got []string
			for _, pattern := range patterns {
				path, _ := pattern.Path()
				got = append(got, path.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.wrong {
				t.Errorf("want an error: %t, got %v; paths (-want +got):\n%s", c.wrong, err, diff)
			}
		})
	}
}

func TestParseControllerFieldsReportsTheFirstErrors(t *testing.T) {
	_, err := ownership.ParseControllerFields(strings.Repeat("broken,", 9))
	expect.Equal(t, "line breaks between eight of nine errors", 7, strings.Count(err.Error(), "\n"))
}
