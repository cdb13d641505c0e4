package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
)

const head = "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\n"

func TestDefaultManagers(t *testing.T) {
	managers := config.Default().Managers()
	type lists struct{ Autoscaler, Applier, Imperative bool }
	for manager, want := range map[string]lists{
		"kubectl-client-side-apply":       {Applier: true},
		"helm":                            {Applier: true},
		"argocd-controller":               {Applier: true},
		"kustomize-controller":            {Applier: true},
		"helm-controller":                 {Applier: true},
		"argocd-application-controller":   {Applier: true},
		"fleetagent":                      {Applier: true},
		"kapp":                            {Applier: true},
		"HashiCorp":                       {Applier: true},
		"pulumi-kubernetes-3f1c":          {Applier: true},
		"kubectl":                         {Imperative: true},
		"kubectl-edit":                    {Imperative: true},
		"kubectl-patch":                   {Imperative: true},
		"kubectl-set":                     {Imperative: true},
		"kubectl-replace":                 {Imperative: true},
		"kubectl-rollout":                 {Imperative: true},
		"k9s":                             {Imperative: true},
		"keda":                            {Autoscaler: true},
		"keda-operator":                   {Autoscaler: true},
		"cluster-proportional-autoscaler": {Autoscaler: true},
		"kube-controller-manager":         {},
		"my-operator":                     {},
	} {
		e := ownership.Entry{Manager: manager, Operation: ownership.OperationUpdate}
		got := lists{managers.IsAutoscaler(manager), managers.IsApplier(e), managers.IsImperative(e)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", manager, diff)
		}
	}
	if rules := config.Default().Rules; len(rules) > 0 {
		t.Errorf("want no rules by default, got %v", rules)
	}
}

func TestAListInTheFileReplacesOnlyItsDefault(t *testing.T) {
	with := func(change func(*config.HandoffConfiguration)) config.HandoffConfiguration {
		c := config.Default()
		change(&c)
		return c
	}
	for sentence, c := range map[string]struct {
		text string
		want config.HandoffConfiguration
	}{
		"only apiVersion and kind": {head, config.Default()},
		"appliers": {head + "appliers: [helm, my-*]\n", with(func(c *config.HandoffConfiguration) {
			c.Appliers = []string{"helm", "my-*"}
		})},
		"imperative": {head + "imperative:\n- me\n", with(func(c *config.HandoffConfiguration) {
			c.Imperative = []string{"me"}
		})},
		"autoscalers": {head + "autoscalers: [mine]\n", with(func(c *config.HandoffConfiguration) {
			c.Autoscalers = []string{"mine"}
		})},
		"an empty list": {head + "appliers: []\n", with(func(c *config.HandoffConfiguration) {
			c.Appliers = []string{}
		})},
		"a list that is null": {head + "appliers:\n", with(func(c *config.HandoffConfiguration) {
			c.Appliers = []string{}
		})},
		"additions to appliers": {head + "appliers: {add: [ci, team-*]}\n", with(func(c *config.HandoffConfiguration) {
			c.Appliers = append(c.Appliers, "ci", "team-*")
		})},
		"a removal and an addition, also as an alias": {
			head + "imperative: &mine {remove: [k9s]}\nappliers: {remove: [kapp], add: [k9s]}\n",
			with(func(c *config.HandoffConfiguration) {
				c.Imperative = slices.DeleteFunc(c.Imperative, func(m string) bool { return m == "k9s" })
				c.Appliers = append(slices.DeleteFunc(c.Appliers, func(m string) bool { return m == "kapp" }), "k9s")
			}),
		},
		"nothing to add or remove": {head + "autoscalers: {add: [], remove: }\nappliers: {}\n", config.Default()},
		"a default that moves to another list": {
			head + "appliers: {remove: [helm]}\nimperative: {add: [helm]}\n", with(func(c *config.HandoffConfiguration) {
				c.Appliers = slices.DeleteFunc(c.Appliers, func(m string) bool { return m == "helm" })
				c.Imperative = append(c.Imperative, "helm")
			}),
		},
		"the writers of a rule": {
			head + "rules:\n- name: x\n  fields: [.spec.x]\n  writers: [my-operator, keda]\n", with(func(c *config.HandoffConfiguration) {
				c.Rules = []config.Rule{{Name: "x", Fields: []string{".spec.x"}, Writers: []string{"my-operator", "keda"}}}
			}),
		},
		"rules": {
			head + "rules:\n- name: size\n  kinds: [{group: apps, kind: '*'}]\n  fields: ['.spec.replicas', '.spec.template.spec.containers[*].resources']\n",
			with(func(c *config.HandoffConfiguration) {
				c.Rules = []config.Rule{
					{Name: "size", Kinds: []config.RuleKind{{Group: "apps", Kind: "*"}}, Fields: []string{".spec.replicas", ".spec.template.spec.containers[*].resources"}},
				}
			}),
		},
		"all lists, as JSON": {
			`{"apiVersion":"config.ownership-handoff.io/v1alpha1","kind":"HandoffConfiguration","appliers":["a"],"imperative":["b"],` +
				`"autoscalers":["c"],"scalers":[{"group":"keda.sh","kind":"ScaledJob","path":".spec.ref"}],"rules":[{"name":"x","fields":[".spec.x"]}]}`,
			config.HandoffConfiguration{
				APIVersion: config.APIVersion, Kind: config.Kind, Appliers: []string{"a"}, Imperative: []string{"b"},
				Autoscalers: []string{"c"}, Scalers: config.Scalers{{"keda.sh", "ScaledJob", ".spec.ref"}},
				Rules: []config.Rule{{Name: "x", Fields: []string{".spec.x"}}},
			},
		},
		"comments and the end of the document": {"# a comment\n---\n" + head + "...\n", config.Default()},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := config.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrorsNameTheFieldAndTheRemedy(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want []string
	}{
		"an empty file":                              {"", []string{"apiVersion", `""`, config.APIVersion}},
		"a comment alone":                            {"# nothing\n", []string{"apiVersion", config.APIVersion}},
		"null":                                       {"null\n", []string{"apiVersion", config.APIVersion}},
		"no kind":                                    {"apiVersion: config.ownership-handoff.io/v1alpha1\n", []string{"kind", config.Kind}},
		"no apiVersion":                              {"kind: HandoffConfiguration\n", []string{"apiVersion", config.APIVersion}},
		"an unknown apiVersion":                      {"apiVersion: config.ownership-handoff.io/v9\nkind: HandoffConfiguration\n", []string{"apiVersion", "v9"}},
		"an unknown kind":                            {"apiVersion: config.ownership-handoff.io/v1alpha1\nkind: Config\n", []string{"kind", `"Config"`}},
		"a field in the wrong case":                  {head + "Appliers: [helm]\n", []string{"unknown field", "Appliers"}},
		"a repeated field of a rule":                 {head + "rules:\n- name: X\n  name: Y\n  fields: [.a]\n", []string{"line 5", "name"}},
		"a list of lists":                            {head + "appliers: [[helm]]\n", []string{"appliers", "array"}},
		"a list instead of a string":                 {"apiVersion: [a]\nkind: b\n", []string{"apiVersion", "array"}},
		"a list instead of an object":                {"- a\n", []string{"the document", "array"}},
		"a string instead of an object":              {"handoff\n", []string{"the document", "string"}},
		"a tab":                                      {head + "rules:\n\t- name: X\n", []string{"line"}},
		"a second empty document":                    {head + "---\n", []string{"second YAML document"}},
		"an empty manager":                           {head + "appliers: [helm, '']\n", []string{"appliers[1]", `""`}},
		"a null in a list":                           {head + "imperative: [~]\n", []string{"imperative[0]", `""`, "correct or remove it"}},
		"a dash without a name":                      {head + "appliers:\n- helm\n-\n", []string{"appliers[1]", `""`, "correct or remove it"}},
		"a rule that is null":                        {head + "rules:\n- name: a\n  fields: [.a]\n- null\n", []string{"line 6", "rules[1].name", "not a name"}},
		"a path that is null":                        {head + "rules:\n- name: a\n  fields: [.a, ~]\n", []string{"rules[0].fields[1]", "empty"}},
		"an alias of null":                           {head + "rules:\n- name: a\n  edit: &nothing\n  fields: [.a, *nothing]\n", []string{"rules[0].fields[1]", "empty"}},
		"a bad pattern":                              {head + "autoscalers: [a, 'b-[']\n", []string{"autoscalers[1]", `"b-["`}},
		"a rule with a bad path":                     {head + "rules:\n- name: a\n  fields: [.a]\n- name: b\n  fields: [.a, b]\n", []string{"rules[1].fields[1]", "b"}},
		"a manager with spaces":                      {head + "appliers: [\" helm \"]\n", []string{"appliers[0]", `" helm "`, `write "helm"`}},
		"a manager that is too long":                 {head + "appliers: [" + strings.Repeat("a", 129) + "]\n", []string{"appliers[0]", "at most 128"}},
		"a manager with a line break":                {head + "appliers: [\"a\\nb\"]\n", []string{"appliers[0]", "printable"}},
		"a manager in two lists":                     {head + "appliers: [me]\nautoscalers: [me]\n", []string{"autoscalers[0]", `"me"`, "also in appliers", "remove it from one of them"}},
		"a manager of the defaults in two lists":     {head + "imperative: [helm]\n", []string{"imperative[0]", `"helm"`, "also in appliers", "defaults"}},
		"a removal of a name in another list":        {head + "appliers: {remove: [k9s]}\n", []string{"appliers.remove[0]", "not a default of appliers"}},
		"a removal from a default by a pattern":      {head + "imperative: {remove: [kubectl-edit]}\n", []string{"imperative.remove[0]", "not a default of imperative"}},
		"an addition of what is removed":             {head + "appliers: {add: [helm], remove: [helm]}\n", []string{"appliers.add[0]", "also in appliers.remove", "delete one"}},
		"an addition that is there twice":            {head + "appliers: {add: [ci, ci]}\n", []string{"appliers.add[1]", "listed twice"}},
		"a removal that is there twice":              {head + "appliers: {remove: [helm, helm]}\n", []string{"appliers.remove[1]", "listed twice"}},
		"an addition of a default of a list":         {head + "imperative: {add: [helm]}\n", []string{"imperative.add[0]", `"helm"`, "also in appliers", "appliers: {remove: [helm]}"}},
		"an addition of a later list's default":      {head + "appliers: {add: [keda]}\n", []string{"appliers.add[0]", `"keda"`, "also in autoscalers", "autoscalers: {remove: [keda]}"}},
		"an addition that is no name":                {head + "appliers: {add: ['']}\n", []string{"appliers.add[0]", `""`}},
		"an addition that is null":                   {head + "appliers: {add: [~]}\n", []string{"appliers.add[0]", `""`}},
		"a repeated change of a list":                {head + "appliers:\n  add: [ci]\n  add: [cd]\n", []string{"line 5", "add"}},
		"a rule's writer that is an applier":         {head + "rules:\n- {name: a, fields: [.spec.x], writers: [helm]}\n", []string{"rules[0].writers[0]", `"helm"`, "also in appliers", "appliers: {remove: [helm]}"}},
		"a rule's writer that is imperative":         {head + "imperative: [me]\nrules:\n- {name: a, fields: [.spec.x], writers: [a, me]}\n", []string{"rules[0].writers[1]", "also in imperative", "remove it from one of them"}},
		"a rule's writer that is no pattern":         {head + "rules:\n- {name: a, fields: [.spec.x], writers: ['a[']}\n", []string{"rules[0].writers[0]", `"a["`}},
		"a group with its version":                   {head + "rules:\n- {name: a, kinds: [{group: apps/v1}], fields: [.spec.x]}\n", []string{"rules[0].kinds[0].group", "apps/v1", "write apps"}},
		"a version instead of a group":               {head + "rules:\n- {name: a, kinds: [{group: v1}], fields: [.spec.x]}\n", []string{"rules[0].kinds[0].group", "write core"}},
		"an invalid group":                           {head + "rules:\n- {name: a, kinds: [{group: ' apps'}], fields: [.spec.x]}\n", []string{"rules[0].kinds[0].group", `" apps"`, "such as apps"}},
		"a plural resource name as kind":             {head + "rules:\n- {name: a, kinds: [{kind: deployments}], fields: [.spec.x]}\n", []string{"rules[0].kinds[0].kind", "deployments", "such as Deployment"}},
		"status":                                     {head + "rules:\n- {name: a, fields: [.spec.x, .status.*]}\n", []string{"rules[0].fields[1]", ".status.*", "delete the path"}},
		"the name":                                   {head + "rules:\n- {name: a, fields: [.metadata.name]}\n", []string{"rules[0].fields[0]", ".metadata.name", "use a path that"}},
		"everything":                                 {head + "rules:\n- {name: a, fields: ['.*']}\n", []string{"rules[0].fields[0]", ".*", "use a path that"}},
		"all metadata":                               {head + "rules:\n- {name: a, fields: ['.metadata']}\n", []string{"rules[0].fields[0]", "use a path that"}},
		"the last-applied annotation":                {head + "rules:\n- {name: a, fields: ['.metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]']}\n", []string{"rules[0].fields[0]", "last-applied", "list other annotations"}},
		"all annotations":                            {head + "rules:\n- {name: a, fields: ['.metadata.annotations.*']}\n", []string{"rules[0].fields[0]", "last-applied"}},
		"a list element of the object":               {head + "rules:\n- {name: a, fields: ['[0].x']}\n", []string{"rules[0].fields[0]", "begin with a field"}},
		"a key of a list element":                    {head + "rules:\n- {name: a, fields: ['.spec.ports[port=80].port']}\n", []string{"rules[0].fields[0]", "key of its list element", "delete the path"}},
		"a nested key of a list element":             {head + "rules:\n- {name: a, fields: ['.spec.route[to.host=*].to.host']}\n", []string{"rules[0].fields[0]", "key of its list element", "delete the path"}},
		"a field of managedFields":                   {head + "rules:\n- {name: a, fields: ['.metadata.managedFields[*].time']}\n", []string{"line 4", "rules[0].fields[0]", "never kept", "delete the path"}},
		"handoff's own annotation":                   {head + "rules:\n- {name: a, fields: [.metadata.annotations.ownership-handoff.io/applied-values]}\n", []string{"rules[0].fields[0]", "never kept", "delete the path"}},
		"handoff's own label":                        {head + "rules:\n- {name: a, fields: ['.metadata.labels[\"ownership-handoff.io/mode\"]']}\n", []string{"rules[0].fields[0]", "never kept"}},
		"what is never stored":                       {head + "rules:\n- {name: a, fields: [.stringData.password]}\n", []string{"rules[0].fields[0]", "never stored", ".data"}},
		"a name that is not one":                     {head + "rules:\n- {name: Right Sizer, fields: [.spec.x]}\n", []string{"line 4", "rules[0].name", `"Right Sizer"`, "such as right-sizer"}},
		"a namespace that is not one":                {head + "rules:\n- name: a\n  fields: [.spec.x]\n  namespaces: [shop, 'Shop[']\n", []string{"line 6", "rules[0].namespaces[1]", `"Shop["`, "such as shop-*"}},
		"an edit that is neither":                    {head + "rules:\n- {name: a, fields: [.spec.x], edit: never}\n", []string{"rules[0].edit", `"never"`, "neither keep nor apply"}},
		"any writer beside others":                   {head + "rules:\n- {name: a, fields: [.spec.x], writers: [b, '*']}\n", []string{"rules[0].writers[1]", "matches every manager", "delete the others"}},
		"a writer that matches an applier":           {head + "rules:\n- {name: a, fields: [.spec.x], writers: ['hel*']}\n", []string{"rules[0].writers[0]", "matches helm in appliers"}},
		"a writer that an applier's pattern matches": {head + "rules:\n- {name: a, fields: [.spec.x], writers: [pulumi-web]}\n", []string{"rules[0].writers[0]", `"pulumi-web"`, "pulumi-* in appliers", "remove"}},
		"rules that contradict each other": {
			head + "rules:\n- {name: a, fields: [.spec.x]}\n- {name: b, kinds: [{kind: Deployment}], fields: [.spec.y, .spec.x], edit: apply}\n",
			[]string{"line 5", "rules[1].fields[1]", ".spec.x is also in rule a with edit: keep, and here with edit: apply", "delete it from one of them"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text))
			if err == nil || !hasLine.MatchString(err.Error()) {
				t.Fatalf("no error with a line: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func TestPathsThatCanMatchAreValid(t *testing.T) {
	for sentence, rule := range map[string]string{
		"a path of one of the kinds":               `kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}], fields: [".spec.jobTemplate.spec.suspend", .spec.paused]`,
		"a field of a later version":               `kinds: [{group: apps, kind: Deployment}], fields: [".spec.template.spec.containers[*].new[0].x[name=*]"]`,
		"keys of a list":                           `kinds: [{group: core, kind: Service}], fields: [".spec.ports[port=80,protocol=\"TCP\"].nodePort", ".spec.ports[port=*].nodePort"]`,
		"any element and any key":                  `kinds: [{group: apps, kind: Deployment}], fields: [".spec.template.spec.containers.*.image", .spec.template.metadata.labels.*, ".spec.template.*[0]"]`,
		"an element of an atomic list":             `kinds: [{group: apps, kind: Deployment}], fields: [".spec.template.spec.containers[*].args[0]", ".spec.template.spec.tolerations[key=*].effect"]`,
		"a quantity and a number or a string":      `kinds: [{group: apps, kind: Deployment}], fields: [".spec.template.spec.containers[*].resources.limits.cpu", .spec.strategy.rollingUpdate.maxSurge]`,
		"a custom resource's list and map":         `kinds: [{group: a.b, kind: Deployment}], fields: [".spec.containers[0].image", .data.a.b]`,
		"any kind, or any of a group":              `kinds: [{group: apps, kind: "*"}], fields: [".spec.containers[0].image"]`,
		"a field that only one version has":        `kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}], fields: [.spec.targetCPUUtilizationPercentage, ".spec.metrics[0]"]`,
		"a key of data, a label and an annotation": `kinds: [{group: core, kind: ConfigMap}], fields: [".data[\"a.b\"]", .metadata.labels.a.b/c, ".metadata.annotations[\"a.b/c\"]"]`,
	} {
		if _, err := config.Parse([]byte(head + "rules:\n- {name: a, " + rule + "}\n")); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	if _, err := config.Read(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("want the missing file %s in: %v", file, err)
	}
}

func TestManagersAndRulesReturnTheParsedLists(t *testing.T) {
	c, err := config.Parse([]byte(head + "appliers: [a]\nimperative: [b]\nautoscalers: [c]\n" +
		"rules:\n- name: sizer\n  kinds: [{group: core, kind: ReplicationController}]\n  fields: [.spec.replicas, '.metadata.labels[\"a.b/c\"]']\n  writers: [d]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := ownership.Managers{Appliers: []string{"a"}, Imperative: []string{"b"}, Autoscalers: []string{"c"}}
	if diff := cmp.Diff(want, c.Managers(), cmpopts.IgnoreUnexported(ownership.Managers{})); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	rules, err := c.ParsedRules()
	if err != nil {
		t.Fatal(err)
	}
	for sentence, of := range map[string]struct {
		kind string
		path fieldpath.Path
		want bool
	}{
		"its first field":  {"ReplicationController", fieldpath.MakePathOrDie("spec", "replicas"), true},
		"its second field": {"ReplicationController", fieldpath.MakePathOrDie("metadata", "labels", "a.b/c"), true},
		"no other field":   {"ReplicationController", fieldpath.MakePathOrDie("spec", "paused"), false},
		"no other kind":    {"Pod", fieldpath.MakePathOrDie("spec", "replicas"), false},
	} {
		ofKind, err := rules.For(schema.GroupKind{Kind: of.kind}, "", ownership.Object{})
		managers := c.Managers().WithRules(ofKind, nil)
		if got := len(managers.RulesFor(of.path)) > 0; got != of.want || err != nil {
			t.Errorf("%s: want %t, got %t, %v", sentence, of.want, got, err)
		}
		isWriter := !managers.IsApplier(ownership.Entry{Manager: "d", Operation: ownership.OperationApply})
		if isWriter != (of.kind == "ReplicationController") {
			t.Errorf("%s: the rule's writer is a controller: %t", sentence, isWriter)
		}
	}
}

func TestTheDefaultsAreNotShared(t *testing.T) {
	config.Default().Appliers[0] = "changed"
	if got := config.Default().Appliers[0]; got == "changed" {
		t.Error("changing one configuration changes the next")
	}
}

func TestHashIdentifiesWhatAFileSays(t *testing.T) {
	hashOf := func(text string) string {
		t.Helper()
		c, err := config.Parse([]byte(head + text))
		if err != nil {
			t.Fatal(err)
		}
		return c.Hash()
	}
	shipped, err := config.Read("../manifests/base/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for sentence, same := range map[string]bool{
		"rules: []": true, "appliers: {add: []}": true, "appliers: {add: [my-tool]}": false,
		`rules: [{name: pause, fields: [".spec.paused"]}]`: false,
	} {
		if got := hashOf(sentence) == config.Default().Hash(); got != same {
			t.Errorf("%s: want the hash of the default: %t, got %t", sentence, same, got)
		}
	}
	if shipped.Hash() != config.Default().Hash() {
		t.Errorf("the shipped file is not the default: %q", shipped)
	}
}
