package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	if rules, err := config.Default().Rules(); len(rules) > 0 || err != nil {
		t.Errorf("want no rules by default, got %v, %v", rules, err)
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
			c.Appliers = nil
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
		"the managers of a rule": {
			head + "controllers:\n- fields: [.spec.x]\n  managers: [my-operator, keda]\n", with(func(c *config.HandoffConfiguration) {
				c.Controllers = []config.ControllerRule{{Fields: []string{".spec.x"}, Managers: []string{"my-operator", "keda"}}}
			}),
		},
		"controllers": {
			head + "controllers:\n- group: apps\n  kind: '*'\n  fields: ['.spec.replicas', '.spec.template.spec.containers[*].resources']\n",
			with(func(c *config.HandoffConfiguration) {
				c.Controllers = []config.ControllerRule{
					{Group: "apps", Kind: "*", Fields: []string{".spec.replicas", ".spec.template.spec.containers[*].resources"}},
				}
			}),
		},
		"all lists, as JSON": {
			`{"apiVersion":"config.ownership-handoff.io/v1alpha1","kind":"HandoffConfiguration","appliers":["a"],"imperative":["b"],` +
				`"autoscalers":["c"],"scalers":[{"group":"keda.sh","kind":"ScaledJob","path":".spec.ref"}],"controllers":[{"fields":[".spec.x"]}]}`,
			config.HandoffConfiguration{
				APIVersion: config.APIVersion, Kind: config.Kind, Appliers: []string{"a"}, Imperative: []string{"b"},
				Autoscalers: []string{"c"}, Scalers: config.Scalers{{"keda.sh", "ScaledJob", ".spec.ref"}},
				Controllers: []config.ControllerRule{{Fields: []string{".spec.x"}}},
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
		"an empty file":                          {"", []string{"apiVersion", `""`, config.APIVersion}},
		"a comment alone":                        {"# nothing\n", []string{"apiVersion", config.APIVersion}},
		"null":                                   {"null\n", []string{"apiVersion", config.APIVersion}},
		"no kind":                                {"apiVersion: config.ownership-handoff.io/v1alpha1\n", []string{"kind", config.Kind}},
		"no apiVersion":                          {"kind: HandoffConfiguration\n", []string{"apiVersion", config.APIVersion}},
		"an unknown apiVersion":                  {"apiVersion: config.ownership-handoff.io/v9\nkind: HandoffConfiguration\n", []string{"apiVersion", "v9"}},
		"an unknown kind":                        {"apiVersion: config.ownership-handoff.io/v1alpha1\nkind: Config\n", []string{"kind", `"Config"`}},
		"an unknown field":                       {head + "applier: [helm]\n", []string{"unknown field", `"applier"`}},
		"an unknown field of a rule":             {head + "controllers:\n- kind: X\n  field: [.a]\n", []string{"unknown field", "controllers[0].field"}},
		"a field in the wrong case":              {head + "Appliers: [helm]\n", []string{"unknown field", "Appliers"}},
		"a repeated field":                       {head + "appliers: [a]\nappliers: [b]\n", []string{"line 4", "appliers"}},
		"a repeated field of a rule":             {head + "controllers:\n- kind: X\n  kind: Y\n  fields: [.a]\n", []string{"line 5", "kind"}},
		"a string instead of a list":             {head + "appliers: helm\n", []string{"appliers", "string"}},
		"a list of lists":                        {head + "appliers: [[helm]]\n", []string{"appliers", "array"}},
		"an object instead of a list":            {head + "controllers: {kind: X}\n", []string{"controllers", "object"}},
		"a list instead of a string":             {"apiVersion: [a]\nkind: b\n", []string{"apiVersion", "array"}},
		"a list instead of an object":            {"- a\n", []string{"the document", "array"}},
		"a string instead of an object":          {"handoff\n", []string{"the document", "string"}},
		"broken YAML":                            {head + "appliers: [helm\n", []string{"line"}},
		"a tab":                                  {head + "controllers:\n\t- kind: X\n", []string{"line"}},
		"a second document":                      {head + "---\n" + head, []string{"second YAML document"}},
		"a second empty document":                {head + "---\n", []string{"second YAML document"}},
		"a broken second document":               {head + "---\n[", []string{"second YAML document"}},
		"an empty manager":                       {head + "appliers: [helm, '']\n", []string{"appliers[1]", `""`}},
		"a null in a list":                       {head + "imperative: [~]\n", []string{"imperative[0]", `""`, "correct or remove it"}},
		"a dash without a name":                  {head + "appliers:\n- helm\n-\n", []string{"appliers[1]", `""`, "correct or remove it"}},
		"a rule that is null":                    {head + "controllers:\n- fields: [.a]\n- null\n", []string{"controllers[1].fields", "empty"}},
		"a path that is null":                    {head + "controllers:\n- fields: [.a, ~]\n", []string{"controllers[0].fields[1]", "empty"}},
		"an alias of null":                       {head + "controllers:\n- kind: &nothing\n  fields: [.a, *nothing]\n", []string{"controllers[0].fields[1]", "empty"}},
		"a bad pattern":                          {head + "autoscalers: [a, 'b-[']\n", []string{"autoscalers[1]", `"b-["`}},
		"a rule without fields":                  {head + "controllers:\n- kind: X\n", []string{"controllers[0].fields"}},
		"a rule with a bad path":                 {head + "controllers:\n- fields: [.a]\n- fields: [.a, b]\n", []string{"controllers[1].fields[1]", "b"}},
		"a manager with spaces":                  {head + "appliers: [\" helm \"]\n", []string{"appliers[0]", `" helm "`, `write "helm"`}},
		"a manager that is too long":             {head + "appliers: [" + strings.Repeat("a", 129) + "]\n", []string{"appliers[0]", "at most 128"}},
		"a manager with a line break":            {head + "appliers: [\"a\\nb\"]\n", []string{"appliers[0]", "printable"}},
		"a manager in two lists":                 {head + "appliers: [me]\nautoscalers: [me]\n", []string{"autoscalers[0]", `"me"`, "also in appliers", "remove it from one of them"}},
		"a manager of the defaults in two lists": {head + "imperative: [helm]\n", []string{"imperative[0]", `"helm"`, "also in appliers", "defaults"}},
		"a removal of what is not a default":     {head + "appliers: {remove: [kapp, helmet]}\n", []string{"appliers.remove[1]", `"helmet"`, "not a default of appliers", "correct or delete it"}},
		"a removal of a name in another list":    {head + "appliers: {remove: [k9s]}\n", []string{"appliers.remove[0]", "not a default of appliers"}},
		"a removal from a default by a pattern":  {head + "imperative: {remove: [kubectl-edit]}\n", []string{"imperative.remove[0]", "not a default of imperative"}},
		"an addition of a default":               {head + "appliers: {add: [ci, helm]}\n", []string{"appliers.add[1]", `"helm"`, "is a default of appliers", "delete it"}},
		"an addition of what is removed":         {head + "appliers: {add: [helm], remove: [helm]}\n", []string{"appliers.add[0]", "also in appliers.remove", "delete one"}},
		"an addition that is there twice":        {head + "appliers: {add: [ci, ci]}\n", []string{"appliers.add[1]", "listed twice"}},
		"a removal that is there twice":          {head + "appliers: {remove: [helm, helm]}\n", []string{"appliers.remove[1]", "listed twice"}},
		"an addition of a default of a list":     {head + "imperative: {add: [helm]}\n", []string{"imperative.add[0]", `"helm"`, "also in appliers", "appliers: {remove: [helm]}"}},
		"an addition of a later list's default":  {head + "appliers: {add: [keda]}\n", []string{"appliers.add[0]", `"keda"`, "also in autoscalers", "autoscalers: {remove: [keda]}"}},
		"an addition that is no name":            {head + "appliers: {add: ['']}\n", []string{"appliers.add[0]", `""`}},
		"an addition that is null":               {head + "appliers: {add: [~]}\n", []string{"appliers.add[0]", `""`}},
		"an unknown change of a list":            {head + "appliers:\n  append: [ci]\n", []string{"unknown field", "appliers.append"}},
		"a repeated change of a list":            {head + "appliers:\n  add: [ci]\n  add: [cd]\n", []string{"line 5", "add"}},
		"a string instead of additions":          {head + "appliers: {add: ci}\n", []string{"appliers.add", "string"}},
		"a rule's manager that is an applier":    {head + "controllers:\n- {fields: [.spec.x], managers: [helm]}\n", []string{"controllers[0].managers[0]", `"helm"`, "also in appliers", "appliers: {remove: [helm]}"}},
		"a rule's manager that is imperative":    {head + "imperative: [me]\ncontrollers:\n- {fields: [.spec.x], managers: [a, me]}\n", []string{"controllers[0].managers[1]", "also in imperative", "remove it from one of them"}},
		"a rule's manager that is no pattern":    {head + "controllers:\n- {fields: [.spec.x], managers: ['a[']}\n", []string{"controllers[0].managers[0]", `"a["`}},
		"a group with its version":               {head + "controllers:\n- {group: apps/v1, fields: [.spec.x]}\n", []string{"controllers[0].group", "apps/v1", "write apps"}},
		"a version instead of a group":           {head + "controllers:\n- {group: v1, fields: [.spec.x]}\n", []string{"controllers[0].group", "write core"}},
		"an invalid group":                       {head + "controllers:\n- {group: ' apps', fields: [.spec.x]}\n", []string{"controllers[0].group", `" apps"`, "such as apps"}},
		"a plural resource name as kind":         {head + "controllers:\n- {kind: deployments, fields: [.spec.x]}\n", []string{"controllers[0].kind", "deployments", "such as Deployment"}},
		"status":                                 {head + "controllers:\n- {fields: [.spec.x, .status.*]}\n", []string{"controllers[0].fields[1]", ".status.*", "delete the path"}},
		"the name":                               {head + "controllers:\n- {fields: [.metadata.name]}\n", []string{"controllers[0].fields[0]", ".metadata.name", "use a path that"}},
		"everything":                             {head + "controllers:\n- {fields: ['.*']}\n", []string{"controllers[0].fields[0]", ".*", "use a path that"}},
		"all metadata":                           {head + "controllers:\n- {fields: ['.metadata']}\n", []string{"controllers[0].fields[0]", "use a path that"}},
		"the last-applied annotation":            {head + "controllers:\n- {fields: ['.metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]']}\n", []string{"controllers[0].fields[0]", "last-applied", "list other annotations"}},
		"all annotations":                        {head + "controllers:\n- {fields: ['.metadata.annotations.*']}\n", []string{"controllers[0].fields[0]", "last-applied"}},
		"a list element of the object":           {head + "controllers:\n- {fields: ['[0].x']}\n", []string{"controllers[0].fields[0]", "begin with a field"}},
		"a rule with an empty path":              {head + "controllers:\n- fields: ['']\n", []string{"controllers[0].fields[0]", "empty"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	if _, err := config.Read(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("want the missing file %s in: %v", file, err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(head + "appliers: [helm]\nx: 1\n")
	if _, err := config.Read(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("want file %s and field x in: %v", file, err)
	}
	write(head + "appliers: [helm]\n")
	got, err := config.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Appliers = []string{"helm"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestManagersAndRulesReturnTheParsedLists(t *testing.T) {
	c, err := config.Parse([]byte(head + "appliers: [a]\nimperative: [b]\nautoscalers: [c]\n" +
		"controllers:\n- group: core\n  kind: ReplicationController\n  fields: [.spec.replicas, '.metadata.labels[\"a.b/c\"]']\n  managers: [d]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := ownership.Managers{Appliers: []string{"a"}, Imperative: []string{"b"}, Autoscalers: []string{"c"}}
	if diff := cmp.Diff(want, c.Managers(), cmpopts.IgnoreUnexported(ownership.Managers{})); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	rules, err := c.Rules()
	if err != nil || len(rules) != 1 {
		t.Fatalf("want one rule, got %v, %v", rules, err)
	}
	for sentence, ok := range map[string]bool{
		"its first field":  matches(rules[0], "", "ReplicationController", fieldpath.MakePathOrDie("spec", "replicas")),
		"its second field": matches(rules[0], "", "ReplicationController", fieldpath.MakePathOrDie("metadata", "labels", "a.b/c")),
		"its managers":     cmp.Equal(rules[0].Managers, []string{"d"}),
		"no other kind":    !matches(rules[0], "", "Pod", fieldpath.MakePathOrDie("spec", "replicas")),
	} {
		if !ok {
			t.Errorf("want the rule to match %s", sentence)
		}
	}
}

func TestTheDefaultsAreNotShared(t *testing.T) {
	config.Default().Appliers[0] = "changed"
	if got := config.Default().Appliers[0]; got == "changed" {
		t.Error("changing one configuration changes the next")
	}
}

func matches(rule ownership.Rule, group, kind string, path fieldpath.Path) bool {
	return rule.Matches(group, kind) && slices.ContainsFunc(rule.Fields, func(p ownership.Pattern) bool { return p.Matches(path) })
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
		"controllers: []": true, "appliers: {add: []}": true, "appliers: {add: [my-tool]}": false,
		`controllers: [{kind: Deployment, fields: [".spec.paused"]}]`: false,
	} {
		if got := hashOf(sentence) == config.Default().Hash(); got != same {
			t.Errorf("%s: want the hash of the default: %t, got %t", sentence, same, got)
		}
	}
	if shipped.Hash() != config.Default().Hash() {
		t.Errorf("the shipped file is not the default: %q", shipped)
	}
}
