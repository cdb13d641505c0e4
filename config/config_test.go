package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
)

const head = "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\n"

func TestWithoutAFileTheKnownManagersAreWhatTheyAre(t *testing.T) {
	managers := config.Default().Managers()
	type lists struct{ Autoscaler, Applier, Imperative bool }
	for manager, want := range map[string]lists{
		"kubectl-client-side-apply":       {Applier: true},
		"helm":                            {Applier: true},
		"argocd-controller":               {Applier: true},
		"kustomize-controller":            {Applier: true},
		"helm-controller":                 {Applier: true},
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
		t.Errorf("no rules by default, got %v, %v", rules, err)
	}
}

func TestAListOfTheFileReplacesItsDefaultAndNoOther(t *testing.T) {
	with := func(change func(*config.HandoffConfiguration)) config.HandoffConfiguration {
		c := config.Default()
		change(&c)
		return c
	}
	for sentence, c := range map[string]struct {
		text string
		want config.HandoffConfiguration
	}{
		"nothing but the type": {head, config.Default()},
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
		"controllers": {
			head + "controllers:\n- group: apps\n  kind: '*'\n  fields: ['.spec.replicas', '.spec.template.spec.containers[*].resources']\n",
			with(func(c *config.HandoffConfiguration) {
				c.Controllers = []config.ControllerRule{
					{Group: "apps", Kind: "*", Fields: []string{".spec.replicas", ".spec.template.spec.containers[*].resources"}},
				}
			}),
		},
		"all of them, as JSON, which is YAML as well": {
			`{"apiVersion":"config.ownership-handoff.io/v1alpha1","kind":"HandoffConfiguration","appliers":["a"],"imperative":["b"],` +
				`"autoscalers":["c"],"controllers":[{"fields":[".spec.x"]}]}`,
			config.HandoffConfiguration{
				APIVersion: config.APIVersion, Kind: config.Kind, Appliers: []string{"a"}, Imperative: []string{"b"},
				Autoscalers: []string{"c"}, Controllers: []config.ControllerRule{{Fields: []string{".spec.x"}}},
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

func TestAFileWithAMistakeIsRefusedAndTheErrorSaysWhere(t *testing.T) {
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
		"an unknown field":                       {head + "applier: [helm]\n", []string{"line 3", "applier"}},
		"an unknown field of a rule":             {head + "controllers:\n- kind: X\n  field: [.a]\n", []string{"line 5", "field"}},
		"a field in other case":                  {head + "Appliers: [helm]\n", []string{"line 3", "Appliers"}},
		"a repeated field":                       {head + "appliers: [a]\nappliers: [b]\n", []string{"line 4", "appliers"}},
		"a repeated field of a rule":             {head + "controllers:\n- kind: X\n  kind: Y\n  fields: [.a]\n", []string{"line 5", "kind"}},
		"a text for a list":                      {head + "appliers: helm\n", []string{"line 3"}},
		"a list of lists":                        {head + "appliers: [[helm]]\n", []string{"line 3"}},
		"an object for a list":                   {head + "controllers: {kind: X}\n", []string{"line 3"}},
		"a list for a text":                      {"apiVersion: [a]\nkind: b\n", []string{"line 1"}},
		"a list for the whole":                   {"- a\n", []string{"line 1"}},
		"a text for the whole":                   {"handoff\n", []string{"line 1"}},
		"broken YAML":                            {head + "appliers: [helm\n", []string{"line"}},
		"a tab":                                  {head + "controllers:\n\t- kind: X\n", []string{"line"}},
		"a second document":                      {head + "---\n" + head, []string{"second YAML document"}},
		"a second empty document":                {head + "---\n", []string{"second YAML document"}},
		"a broken second document":               {head + "---\n[", []string{"second YAML document"}},
		"no name of a manager":                   {head + "appliers: [helm, '']\n", []string{"appliers[1]", `""`}},
		"a null in a list":                       {head + "imperative: [~]\n", []string{"line 3", "imperative[0]", "null", "delete the element"}},
		"a dash without a name":                  {head + "appliers:\n- helm\n-\n", []string{"line 5", "appliers[1]", "null", "write a value"}},
		"a rule that is null":                    {head + "controllers:\n- fields: [.a]\n- null\n", []string{"line 5", "controllers[1]", "null"}},
		"a path that is null":                    {head + "controllers:\n- fields: [.a, ~]\n", []string{"line 4", "controllers[0].fields[1]", "null"}},
		"an alias of null":                       {head + "controllers:\n- kind: &nothing\n  fields: [.a, *nothing]\n", []string{"controllers[0].fields[1]", "null"}},
		"a bad pattern":                          {head + "autoscalers: [a, 'b-[']\n", []string{"autoscalers[1]", `"b-["`}},
		"a rule without fields":                  {head + "controllers:\n- kind: X\n", []string{"controllers[0].fields"}},
		"a rule with a bad path":                 {head + "controllers:\n- fields: [.a]\n- fields: [.a, b]\n", []string{"controllers[1].fields[1]", "b"}},
		"a manager with spaces":                  {head + "appliers: [\" helm \"]\n", []string{"appliers[0]", `" helm "`, `write "helm"`}},
		"a manager that is too long":             {head + "appliers: [" + strings.Repeat("a", 129) + "]\n", []string{"appliers[0]", "at most 128"}},
		"a manager with a line break":            {head + "appliers: [\"a\\nb\"]\n", []string{"appliers[0]", "printable"}},
		"a manager in two lists":                 {head + "appliers: [me]\nautoscalers: [me]\n", []string{"autoscalers[0]", `"me"`, "in appliers as well", "take it out"}},
		"a manager of the defaults in two lists": {head + "imperative: [helm]\n", []string{"imperative[0]", `"helm"`, "in appliers as well", "defaults"}},
		"a group with its version":               {head + "controllers:\n- {group: apps/v1, fields: [.spec.x]}\n", []string{"controllers[0].group", "apps/v1", "write apps"}},
		"a version for a group":                  {head + "controllers:\n- {group: v1, fields: [.spec.x]}\n", []string{"controllers[0].group", "write core"}},
		"a group that is none":                   {head + "controllers:\n- {group: ' apps', fields: [.spec.x]}\n", []string{"controllers[0].group", `" apps"`, "such as apps"}},
		"a type for a kind":                      {head + "controllers:\n- {kind: deployments, fields: [.spec.x]}\n", []string{"controllers[0].kind", "deployments", "such as Deployment"}},
		"status":                                 {head + "controllers:\n- {fields: [.spec.x, .status.*]}\n", []string{"controllers[0].fields[1]", ".status.*", "delete the path"}},
		"the name":                               {head + "controllers:\n- {fields: [.metadata.name]}\n", []string{"controllers[0].fields[0]", ".metadata.name", "name other fields"}},
		"everything":                             {head + "controllers:\n- {fields: ['.*']}\n", []string{"controllers[0].fields[0]", ".*", "name other fields"}},
		"all metadata":                           {head + "controllers:\n- {fields: ['.metadata']}\n", []string{"controllers[0].fields[0]", "name other fields"}},
		"the last-applied annotation":            {head + "controllers:\n- {fields: ['.metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]']}\n", []string{"controllers[0].fields[0]", "last-applied", "name other annotations"}},
		"all annotations":                        {head + "controllers:\n- {fields: ['.metadata.annotations.*']}\n", []string{"controllers[0].fields[0]", "last-applied"}},
		"an element of the object":               {head + "controllers:\n- {fields: ['[0].x']}\n", []string{"controllers[0].fields[0]", "begin with a field"}},
		"a rule with an empty path":              {head + "controllers:\n- fields: ['']\n", []string{"controllers[0].fields[0]", "empty"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is expected to be named in: %v", want, err)
				}
			}
		})
	}
}

func TestAFileIsReadAndNamedInItsErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	if _, err := config.Read(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the missing file %s is expected to be named in: %v", file, err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(head + "appliers: [helm]\nx: 1\n")
	if _, err := config.Read(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("file %s and line 4 are expected to be named in: %v", file, err)
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

func TestTheListsAreHandedToOwnership(t *testing.T) {
	c, err := config.Parse([]byte(head + "appliers: [a]\nimperative: [b]\nautoscalers: [c]\n" +
		"controllers:\n- group: core\n  kind: ReplicationController\n  fields: [.spec.replicas, '.metadata.labels[\"a.b/c\"]']\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := ownership.Managers{Appliers: []string{"a"}, Imperative: []string{"b"}, Autoscalers: []string{"c"}}
	if diff := cmp.Diff(want, c.Managers()); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
	rules, err := c.Rules()
	if err != nil || len(rules) != 1 {
		t.Fatalf("one rule is expected, got %v, %v", rules, err)
	}
	for sentence, named := range map[string]bool{
		"its first field":  names(rules[0], "", "ReplicationController", fieldpath.MakePathOrDie("spec", "replicas")),
		"its second field": names(rules[0], "", "ReplicationController", fieldpath.MakePathOrDie("metadata", "labels", "a.b/c")),
		"no other kind":    !names(rules[0], "", "Pod", fieldpath.MakePathOrDie("spec", "replicas")),
	} {
		if !named {
			t.Errorf("the rule is expected to name %s", sentence)
		}
	}
}

func TestTheDefaultsAreNotShared(t *testing.T) {
	config.Default().Appliers[0] = "changed"
	if got := config.Default().Appliers[0]; got == "changed" {
		t.Error("who changes one configuration changes the next")
	}
}

func names(rule ownership.Rule, group, kind string, path fieldpath.Path) bool {
	return rule.Fits(group, kind) && slices.ContainsFunc(rule.Fields, func(p ownership.Pattern) bool { return p.Covers(path) })
}
