package config_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/scale"
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
		e := ownership.Entry{Manager: manager, Operation: managedfields.OperationUpdate}
		got := lists{managers.IsAutoscaler(manager), managers.IsApplier(e), managers.IsImperative(e)}
		expect.Equal(t, manager, want, got)
	}
	expect.Equal(t, "the number of rules by default", 0, len(config.Default().Rules))
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
		"imperative and autoscalers": {head + "imperative:\n- me\nautoscalers: [mine]\n", with(func(c *config.HandoffConfiguration) {
			c.Imperative, c.Autoscalers = []string{"me"}, []string{"mine"}
		})},
		"an empty list": {head + "appliers: []\n", with(func(c *config.HandoffConfiguration) {
			c.Appliers = []string{}
		})},
		"lists without a value": {head + "appliers:\nimperative:\n# - me\nautoscalers: null\nscalers:\nrules:\npacks:\n", config.Default()},
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
		"additions of defaults, which may be new": {head + "appliers: {add: [helm]}\nscalers: {add: [{group: keda.sh, kind: ScaledObject, path: .spec.scaleTargetRef}]}\n", config.Default()},
		"nothing to add or remove":                {head + "autoscalers: {add: [], remove: }\nappliers: {}\n", config.Default()},
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
		"another path of a default scaler": {
			head + "scalers:\n  remove: [&r {group: argoproj.io, kind: Rollout, path: .spec.ref}]\n  add: [*r]\n", with(func(c *config.HandoffConfiguration) {
				c.Scalers = config.Scalers{c.Scalers[0], c.Scalers[2], {"argoproj.io", "Rollout", ".spec.ref"}}
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
			expect.NoError(t, err)
			expect.Equal(t, "configuration", c.want, got)
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
		"a custom kind named as one of Kubernetes": `kinds: [{group: a.b, kind: ClusterRole}], fields: [.rules], namespaces: [shop]`,
		"another edit for another kind":            `kinds: [{group: apps, kind: Deployment}], fields: [.spec.x]}` + "\n" + `- {name: b, kinds: [{group: apps, kind: StatefulSet}], fields: [.spec.x], edit: apply`,
		"another edit for another writer":          `fields: [.spec.x], writers: [c]}` + "\n" + `- {name: b, fields: [.spec.x], writers: [d], edit: apply`,
		"a key of data, a label and an annotation": `kinds: [{group: core, kind: ConfigMap}], fields: [".data[\"a.b\"]", .metadata.labels.a.b/c, ".metadata.annotations[\"a.b/c\"]"]`,
	} {
		if _, err := config.Parse([]byte(head + "rules:\n- {name: a, " + rule + "}\n")); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	_, err := config.Read(file)
	expect.Error(t, "a missing file", file, err)
}

func TestManagersAndRulesReturnTheParsedLists(t *testing.T) {
	c := parse(t, "appliers: [a]\nimperative: [b]\nautoscalers: [c]\n"+
		"rules:\n- name: sizer\n  kinds: [{group: core, kind: ReplicationController}]\n  fields: [.spec.replicas, '.metadata.labels[\"a.b/c\"]']\n  writers: [d]\n")
	want := ownership.Managers{Appliers: []string{"a"}, Imperative: []string{"b"}, Autoscalers: []string{"c"}}
	expect.Equal(t, "managers", want, c.Managers(), cmpopts.IgnoreUnexported(ownership.Managers{}))
	rules, err := c.ParsedRules()
	expect.NoError(t, err)
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
		isWriter := !managers.IsApplier(ownership.Entry{Manager: "d", Operation: managedfields.OperationApply})
		expect.Equal(t, sentence+": the rule's writer is a controller", of.kind == "ReplicationController", isWriter)
	}
}

func TestTheDefaultsAreNotShared(t *testing.T) {
	config.Default().Appliers[0] = "changed"
	if got := config.Default().Appliers[0]; got == "changed" {
		t.Error("changing one configuration changes the next")
	}
}

func TestHashIdentifiesWhatAFileSays(t *testing.T) {
	shipped, err := config.Read("../manifests/base/config.yaml")
	expect.NoError(t, err)
	for sentence, same := range map[string]bool{
		"rules: []": true, "appliers: {add: []}": true, "appliers: {add: [my-tool]}": false,
		`rules: [{name: pause, fields: [".spec.paused"]}]`:                                                                      false,
		`scalers: {add: [{group: keda.sh, kind: ScaledObject, path: .spec.x}], remove: [{group: keda.sh, kind: ScaledObject}]}`: false,
	} {
		expect.Equal(t, sentence+": has the hash of the default", same, parse(t, sentence).Hash() == config.Default().Hash())
	}
	expect.Equal(t, "the hash of the shipped file", config.Default().Hash(), shipped.Hash())
}

func TestTheDefaultScalersAreThoseOfPackageScale(t *testing.T) {
	got, err := config.Default().ScalerKinds()
	expect.NoError(t, err)
	expect.Equal(t, "kinds", scale.Kinds(), got, cmp.AllowUnexported(scale.Kind{}))
}
