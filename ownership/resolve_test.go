package ownership_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestOwners(t *testing.T) {
	update := func(manager string) string { return entry(manager, "Update", early, ownsReplicas, "") }
	apply := func(manager string) string { return entry(manager, "Apply", early, ownsReplicas, "") }
	scale := func(manager string) string { return entry(manager, "Update", "", ownsReplicas, "scale") }
	image := entry("kubectl-edit", "Update", early, ownsImage, "")
	ruled := ruled(managers, []ownership.Pattern{{fieldpath.MatchAnyPathElement()}})
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
		"no manager has declared it":                                        {scaled, nil, ownership.Lacks, owned(ownership.Default, "")},
		"managers of other fields do not count":                             {scaled, []string{image}, ownership.Lacks, owned(ownership.Default, "")},
		"the base sets it, and no entry has it":                             {scaled, nil, ownership.Sets, owned(ownership.Manifest, "")},
		"the base sets null, and no entry has it":                           {scaled, nil, ownership.Clears, owned(ownership.Manifest, "")},
		"an applier by an update":                                           {scaled, []string{update("helm")}, ownership.Lacks, owned(ownership.Manifest, "helm")},
		"an applier by server-side apply":                                   {scaled, []string{apply("anybody")}, ownership.Lacks, owned(ownership.Manifest, "anybody")},
		"the base, and an applier that manages it":                          {scaled, []string{update("helm")}, ownership.Sets, owned(ownership.Manifest, "helm")},
		"of two appliers the first is named":                                {scaled, []string{apply("flux"), update("helm")}, ownership.Sets, owned(ownership.Manifest, "flux")},
		"a person's command":                                                {scaled, []string{update("kubectl-edit")}, ownership.Lacks, owned(ownership.Imperative, "kubectl-edit")},
		"a person's kubectl scale":                                          {scaled, []string{scale("kubectl")}, ownership.Lacks, owned(ownership.Imperative, "kubectl")},
		"a client that no list names":                                       {scaled, []string{update("unknown")}, ownership.Lacks, owned(ownership.Imperative, "unknown")},
		"a person takes precedence over the base":                           {scaled, []string{update("kubectl-edit")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"a person takes precedence over an applier that set the same value": {scaled, []string{apply("flux"), update("kubectl-edit")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"whatever the order":                                                {scaled, []string{update("kubectl-edit"), update("helm")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"of two people the first is named":                                  {scaled, []string{update("kubectl-edit"), scale("kubectl")}, ownership.Sets, owned(ownership.Imperative, "kubectl-edit")},
		"a controller where a rule names the field":                         {controlled, []string{update("vpa")}, ownership.Lacks, owned(ownership.Controller, "vpa")},
		"a controller takes precedence over a person":                       {controlled, []string{update("kubectl-edit"), update("vpa")}, ownership.Sets, owned(ownership.Controller, "vpa")},
		"a person is no controller, whatever a rule says":                   {controlled, []string{update("kubectl-edit")}, ownership.Lacks, owned(ownership.Imperative, "kubectl-edit")},
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
			fields, err := c.context.Fields(object(t, `{"metadata":{"annotations":{"`+ownership.LastAppliedAnnotation+`":`+quoted(declares)+`},"managedFields":[`+
				strings.Join(append(c.live, image), ",")+`]},"spec":{"replicas":7}}`))
			if err != nil || len(fields) < 1 {
				t.Fatal(fields, err)
			}
			got := fields[0].Owner
			got.Kind = got.Kind.Decided()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("owned (-want +got):\n%s", diff)
			}
		})
	}
}

// ruled returns managers for an object in which a rule assigns fields to controllers.
func ruled(m ownership.Managers, fields []ownership.Pattern) ownership.Managers {
	rules, _ := ownership.NewRules(ownership.Rule{Fields: fields}).For(schema.GroupKind{}, "", ownership.Object{})
	return m.WithRules(rules, m.Scale)
}

func names(rule ownership.Rule, group, kind string, path fieldpath.Path) bool {
	return rule.Matches(schema.GroupKind{Group: group, Kind: kind}, "", ownership.Object{}) && slices.ContainsFunc(rule.Fields, func(p ownership.Pattern) bool { return p.Matches(path) })
}

func TestRuleFits(t *testing.T) {
	patterns, err := ownership.ParseControllerFields(`.spec.paused, .spec.template.spec.containers[*].resources`)
	if err != nil {
		t.Fatal(err)
	}
	paused := fieldpath.MakePathOrDie("spec", "paused")
	resources := fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app"), "resources")
	for sentence, c := range map[string]struct {
		group, kind     string // of the rule
		ofGroup, ofKind string
		path            fieldpath.Path
		want            bool
	}{
		"its kind, its first field":      {"apps", "Deployment", "apps", "Deployment", paused, true},
		"its kind, its second field":     {"apps", "Deployment", "apps", "Deployment", resources, true},
		"its kind, another field":        {"apps", "Deployment", "apps", "Deployment", replicas, false},
		"another kind":                   {"apps", "Deployment", "apps", "StatefulSet", paused, false},
		"the same kind of another group": {"apps", "Deployment", "example.com", "Deployment", paused, false},
		"any group":                      {"*", "Deployment", "example.com", "Deployment", paused, true},
		"any kind":                       {"apps", "*", "apps", "StatefulSet", paused, true},
		"any kind of another group":      {"apps", "*", "example.com", "StatefulSet", paused, false},
		"no group or kind means any":     {"", "", "example.com", "Whatever", paused, true},
		"any of the core group":          {"*", "*", "", "Pod", paused, true},
		"the core group by its name":     {"core", "Pod", "", "Pod", paused, true},
		"the core group is no other":     {"core", "Deployment", "apps", "Deployment", paused, false},
		"another is not the core group":  {"apps", "Pod", "", "Pod", paused, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			rule := ownership.Rule{Kinds: []schema.GroupKind{{Group: c.group, Kind: c.kind}}, Fields: patterns}
			if got := names(rule, c.ofGroup, c.ofKind, c.path); got != c.want {
				t.Errorf("want %t, got %t", c.want, got)
			}
		})
	}
	if names(ownership.Rule{}, "apps", "Deployment", paused) {
		t.Error("a rule without fields names one")
	}
}

func TestRulesMatchNamespaces(t *testing.T) {
	for sentence, c := range map[string]struct {
		rule      ownership.Rule
		namespace string
		want      bool
	}{
		"a rule for all namespaces": {ownership.Rule{}, "shop", true},
		"a pattern":                 {ownership.Rule{Namespaces: []string{"shop-*"}}, "shop-eu", true},
		"another namespace":         {ownership.Rule{Namespaces: []string{"shop-*"}}, "web", false},
		"an object outside namespaces, under such a pattern": {ownership.Rule{Namespaces: []string{"*"}}, "", false},
		"one under a rule for all":                           {ownership.Rule{}, "", true},
	} {
		if got := c.rule.Matches(schema.GroupKind{Kind: "Secret"}, c.namespace, ownership.Object{}); got != c.want {
			t.Errorf("%s: want %v, got %v", sentence, c.want, got)
		}
	}
}

func TestParseControllerFields(t *testing.T) {
	port := fieldpath.MakePathOrDie("spec", "ports", fieldpath.KeyByFields("port", 80, "protocol", "TCP"))
	for sentence, c := range map[string]struct {
		text    string
		matches []fieldpath.Path
		count   int
		wrong   bool
	}{
		"nothing":                    {"", nil, 0, false},
		"space alone":                {" \n, ,", nil, 0, false},
		"one":                        {".spec.replicas", []fieldpath.Path{replicas}, 1, false},
		"two, with space":            {" .spec.replicas , .spec.paused ", []fieldpath.Path{replicas, fieldpath.MakePathOrDie("spec", "paused")}, 2, false},
		"on lines":                   {".spec.replicas\n.spec.paused\n", []fieldpath.Path{replicas}, 2, false},
		"a comma at the end":         {".spec.replicas,", []fieldpath.Path{replicas}, 1, false},
		"a comma within brackets":    {`.spec.ports[port=80,protocol="TCP"],.spec.replicas`, []fieldpath.Path{port, replicas}, 2, false},
		"one of two is broken":       {"spec.paused,.spec.replicas", []fieldpath.Path{replicas}, 1, true},
		"all are broken":             {"a,b", nil, 0, true},
		"a bracket that never ends":  {".spec.ports[port=80,.spec.replicas", nil, 0, true},
		"a bracket too many":         {".spec.ports],.spec.replicas", []fieldpath.Path{replicas}, 2, false},
		"a bracket within a name":    {`.metadata.labels["a]b"],.spec.replicas`, []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "labels", "a]b"), replicas}, 2, false},
		"a comma and quotes in keys": {`.spec.c[name="a,\"b"],.spec.replicas`, []fieldpath.Path{fieldpath.MakePathOrDie("spec", "c", fieldpath.KeyByFields("name", `a,"b`)), replicas}, 2, false},
		"a bracket within a key":     {`.spec.c[name="a[b"],.spec.replicas`, []fieldpath.Path{fieldpath.MakePathOrDie("spec", "c", fieldpath.KeyByFields("name", `a[b`)), replicas}, 2, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			patterns, err := ownership.ParseControllerFields(c.text)
			if (err != nil) != c.wrong || len(patterns) != c.count {
				t.Fatalf("want %d patterns and an error %t, got %d and %v", c.count, c.wrong, len(patterns), err)
			}
			for _, path := range c.matches {
				matched := false
				for _, pattern := range patterns {
					matched = matched || pattern.Matches(path)
				}
				if !matched {
					t.Errorf("none matches %s", path)
				}
			}
		})
	}
}
