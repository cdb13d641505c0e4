package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// editedRules has a rule of each kind that depends on what the manifest has set last.
const editedRules = `
apiVersion: config.ownership-handoff.io/v1alpha1
kind: HandoffConfiguration
rules:
- name: right-sizer
  kinds: [{group: apps, kind: Deployment}]
  fields: [".spec.template.spec.containers[*].resources"]
  writers: [vpa]
  edit: apply
- name: images
  kinds: [{group: apps, kind: Deployment}]
  selector: {matchLabels: {images: anybody}}
  fields: [".spec.template.spec.containers[*].image"]
  writers: ["*"]
- name: sleeper
  kinds: [{group: apps, kind: Deployment}]
  selector: {matchLabels: {sleeps: "yes"}}
  fields: [.spec.replicas]
  writers: [sleeper]
  edit: apply
- name: edited-weights
  kinds: [{group: networking.istio.io, kind: VirtualService}]
  selector: {matchLabels: {weights: edited}}
  fields: [".spec.tcp[*].route[destination.host=*].weight"]
  writers: [rollouts-controller]
  edit: apply
`

// hookOutside calls a webhook for objects outside namespaces that have the mode label.
const hookOutside = `
- name: outside.appliers.test
  clientConfig: {url: "{url}/mutate", caBundle: "{ca}"}
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v1]
  objectSelector: {matchExpressions: [{key: ownership-handoff.io/mode, operator: NotIn, values: ["off"]}, {key: ownership-handoff.io/mode, operator: Exists}]}
  rules:
  - {apiGroups: [apiextensions.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [customresourcedefinitions]}
  - {apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [clusterroles]}
`

// image is the JSONPath of the image of the container.
const image = ".spec.template.spec.containers[0].image"

// edited is a namespace with a webhook that has editedRules, and an applier.
type edited struct {
	*namespace

	applier applier
	before  string // the manifest that was applied last
}

func newEdited(t *testing.T, a applier) *edited {
	t.Helper()
	n := newNamespace(t, "enforce")
	return &edited{namespace: n, applier: a}
}

// eachEdited runs a test for each applier.
func eachEdited(t *testing.T, appliers map[string]applier, test func(n *edited)) {
	t.Helper()
	t.Parallel()
	for name, a := range appliers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newEdited(t, a))
		})
	}
}

// withRules starts the webhook with the rules and all packs, which all namespaces share, and waits until the API server calls it. Objects that exist
// then are not changed.
func (n *edited) withRules() {
	n.Helper()
	localOnly(n.T)
	cluster.ruled.once.Do(func() {
		file := filepath.Join(cluster.Plane.Dir, "edited.yaml")
		packs := "packs: [" + strings.Join(config.Packs(), ", ") + "]\n"
		err := os.WriteFile(file, []byte(editedRules+packs), 0o600)
		if err == nil {
			cluster.ruled.webhook, err = handofftest.Start(context.WithoutCancel(n.Context()), cluster.Plane, handofftest.Options{Config: file})
		}
		if err != nil {
			n.Fatal(err)
		}
		hook := strings.NewReplacer(`kubernetes.io/metadata.name: "{name}"`, `rules: edited`, "[apps]", `["*"]`, "[v1], op", `["*"], op`, "[deployments]", `["*"]`).Replace(hookOfNamespace)
		n.registered(hook+hookOutside, "edited", cluster.ruled.webhook)
	})
	n.kubectl("label", "namespace", n.name, "rules=edited")
	n.wantRules()
}

// wantRules waits until the API server calls a webhook with the rules.
func (n *edited) wantRules() {
	n.Helper()
	probe := strings.Replace(requesting("10m"), "  name: web\n", "  name: probe\n", 1)
	n.eventually("the API server calls the webhook with the rules", func() bool {
		created := n.must(n.run(probe, "create", "--dry-run=server", "--field-manager=helm", "-o", "json", "-f", "-")).stdout
		return strings.Contains(created, ownership.AppliedAnnotation)
	})
}

// applies lets the applier apply a manifest.
func (n *edited) applies(manifest string) {
	n.Helper()
	n.applier.apply(n.namespace, n.applier.manager, n.before, manifest)
	n.before = manifest
}

// resize sets the cpu as the controller of the rule.
func (n *edited) resize() {
	n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", resources)
}

// want checks the value at a JSONPath.
func (n *edited) want(what, path, want string) {
	n.Helper()
	if got := n.jsonpath(path); got != want {
		n.Errorf("%s: want %s at %s, got %q", what, want, path, got)
	}
}

// keeps checks that an apply of a manifest keeps a value, and that the next one stores nothing.
func (n *edited) keeps(what, manifest, path, want string) {
	n.Helper()
	n.applies(manifest)
	n.want(what, path, want)
	if n.applier.replaces {
		n.applies(manifest) // which drops what the deployment controller adds
		n.want(what+", again", path, want)
		return
	}
	n.unchangedBy(what+", again", func() { n.applies(manifest) })
}

// requesting returns a manifest that requests an amount of cpu.
func requesting(amount string) string {
	return strings.Replace(deployment("3", "app:1"), "cpu: 10m", "cpu: "+amount, 1)
}

// TestEditApply verifies that a manifest wins where it has changed, and only there.
func TestEditApply(t *testing.T) {
	eachEdited(t, appliers(), func(n *edited) {
		n.withRules()
		n.applies(requesting("10m"))
		n.resize()
		n.keeps("an unchanged manifest", requesting("10m"), cpu, "50m")
		n.keeps("an edited manifest", requesting("20m"), cpu, "20m")
		n.resize()
		n.keeps("the edited manifest once more", requesting("20m"), cpu, "50m")
		n.applies(requesting("10m"))
		n.want("an edit back to the first value", cpu, "10m")
	})
}

func TestEditApplyAfterARestart(t *testing.T) {
	t.Parallel()
	n := newEdited(t, applier{manager: "ci", apply: byKubectl})
	_, first := n.configured(editedRules)
	n.wantRules()
	n.applies(requesting("10m"))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	n.configured(editedRules)
	n.wantRules()
	n.resize()
	n.keeps("an unchanged manifest", requesting("10m"), cpu, "50m")
	n.applies(requesting("20m"))
	n.want("an edit", cpu, "20m")
}

// someAppliers are those that record a manifest in three ways.
func someAppliers() map[string]applier {
	return map[string]applier{
		"last-applied": {manager: "ci", apply: byKubectl}, "an Apply entry": {manager: "ci", apply: byKubectlServerSide},
		"nowhere": {manager: "helm", apply: byHelmsLibrary},
	}
}

func TestEditApplyAtTheFirstApplyUnderTheRule(t *testing.T) {
	eachEdited(t, someAppliers(), func(n *edited) {
		n.applies(requesting("10m"))
		n.resize()
		n.withRules()
		n.keeps("the first apply", requesting("10m"), cpu, "50m")
		n.applies(requesting("20m"))
		n.want("an edit", cpu, "20m")
	})
}

// TestEditApplyWithoutARecord verifies that the live value is kept if the record is not what handoff has written.
func TestEditApplyWithoutARecord(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(n *edited){
		"kubectl rollout undo, which brings an old one back": func(n *edited) {
			n.rolledOut("2")
			n.kubectl("rollout", "undo", "deployment/web", "--to-revision=1")
		},
		"kubectl replace, which drops it": func(n *edited) { n.replace(requesting("20m")) },
		"a text that is no record": func(n *edited) {
			n.kubectl("annotate", "--overwrite", "deployment/web", ownership.AppliedAnnotation+"={")
		},
		"a record by somebody else": func(n *edited) {
			n.kubectl("annotate", "--overwrite", "deployment/web", ownership.AppliedAnnotation+`={}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newEdited(t, applier{manager: "kubectl-client-side-apply", apply: byKubectl})
			n.withRules()
			n.applies(requesting("10m"))
			n.rolledOut("1")
			n.applies(requesting("20m"))
			lose(n)
			n.resize()
			n.keeps("the unchanged manifest", requesting("20m"), cpu, "50m")
			n.applies(requesting("30m"))
			n.want("an edit", cpu, "30m")
		})
	}
}

// TestEditApplyToOneOfTwoFields verifies that an edit of one field does not decide on another one beside it.
func TestEditApplyToOneOfTwoFields(t *testing.T) {
	eachEdited(t, someAppliers(), func(n *edited) {
		n.withRules()
		const memory = ".spec.template.spec.containers[0].resources.requests.memory"
		manifest := func(cpu, memory string) string {
			return strings.Replace(deployment("3", "app:1"), "cpu: 10m", "cpu: "+cpu+", memory: "+memory, 1)
		}
		n.applies(manifest("10m", "1Mi"))
		n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", strings.Replace(resources, `"50m"`, `"50m","memory":"5Mi"`, 1))
		n.keeps("an unchanged manifest", manifest("10m", "1Mi"), memory, "5Mi")
		n.keeps("an edit of the cpu, for the memory", manifest("20m", "1Mi"), memory, "5Mi")
		n.want("an edit of the cpu", cpu, "20m")
		n.keeps("an edit of the memory, for the cpu", manifest("20m", "2Mi"), cpu, "20m")
		n.want("an edit of the memory", memory, "2Mi")
	})
}

// TestEditApplyAfterAnUnseenEdit verifies that an edit that was applied while handoff was off is not one once it is on.
func TestEditApplyAfterAnUnseenEdit(t *testing.T) {
	t.Parallel()
	n := newEdited(t, applier{manager: "ci", apply: byKubectl})
	n.withRules()
	n.applies(requesting("10m"))
	n.kubectl("annotate", "--overwrite", "namespace", n.name, "ownership-handoff.io/mode=warn")
	n.eventually("the webhook knows the mode", func() bool {
		n.applies(requesting("20m"))
		n.resize()
		n.applies(requesting("20m"))
		return n.jsonpath(cpu) == "20m"
	})
	n.kubectl("annotate", "--overwrite", "namespace", n.name, "ownership-handoff.io/mode=enforce")
	n.resize()
	n.eventually("the webhook knows the mode again", func() bool {
		return n.must(n.run(requesting("20m"), "apply", "--dry-run=server", "--field-manager=ci", "-o", "jsonpath={"+cpu+"}", "-f", "-")).stdout == "50m"
	})
	n.keeps("the unchanged manifest", requesting("20m"), cpu, "50m")
}

func TestEditApplyUnderTwoAppliers(t *testing.T) {
	t.Parallel()
	n := newEdited(t, applier{manager: "kubectl-client-side-apply", apply: byKubectl})
	n.withRules()
	n.applies(requesting("10m"))
	n.resize()
	n.keeps("the first applier", requesting("10m"), cpu, "50m")
	n.wantWarnings(n.apply(requesting("10m")), `kept .spec.template.spec.containers[name="app"].resources.requests.cpu, owned by vpa; a new manifest value wins`)
	n.applier = applier{manager: "ci", apply: byKubectlServerSide}
	n.keeps("the first apply of a second applier", requesting("30m"), cpu, "50m")
	n.keeps("an edit of the second applier", requesting("40m"), cpu, "40m")
	n.resize()
	n.keeps("the second applier", requesting("40m"), cpu, "50m")
	n.applier = applier{manager: "kubectl-client-side-apply", apply: byKubectl}
	n.keeps("the first applier again", requesting("10m"), cpu, "50m")
}

// withImage returns a manifest to which the rule for any writer applies.
func withImage(image string) string {
	return strings.Replace(deployment("3", image), "  name: web\n", "  name: web\n  labels: {images: anybody}\n", 1)
}

// TestAnyWriter verifies that a value that a manifest has not set is kept, also one that a person wrote, and that a value that it has set is its own.
func TestAnyWriter(t *testing.T) {
	eachEdited(t, appliers(), func(n *edited) {
		n.withRules()
		n.applies(withImage("app:1"))
		n.keeps("a new image in the manifest", withImage("app:2"), image, "app:2")
		n.kubectl("set", "image", "deployment/web", "app=app:9")
		n.keeps("a person's image", withImage("app:2"), image, "app:9")
		n.kubectl("set", "image", "deployment/web", "app=app:2")
		n.keeps("a new image over the manifest's own, which a person has set", withImage("app:3"), image, "app:3")
	})
}

// TestEditApplyToReplicas verifies that a manifest that drops the replicas never scales to 1, also under such a rule.
func TestEditApplyToReplicas(t *testing.T) {
	eachEdited(t, someAppliers(), func(n *edited) {
		n.withRules()
		manifest := func(replicas string) string {
			return strings.Replace(deployment(replicas, "app:1"), "  name: web\n", "  name: web\n  labels: {sleeps: \"yes\"}\n", 1)
		}
		sleeps := func() {
			n.kubectl("patch", "deployment", "web", "--field-manager=sleeper", "-p", `{"spec":{"replicas":7}}`)
		}
		n.applies(manifest("3"))
		sleeps()
		n.keeps("an unchanged manifest", manifest("3"), ".spec.replicas", "7")
		n.keeps("an edited manifest", manifest("4"), ".spec.replicas", "4")
		sleeps()
		n.keeps("a manifest without replicas", manifest(""), ".spec.replicas", "7")
	})
}

// TestAnyWriterWhoseEntryWasRenamed verifies that a person's value is kept after a tool has moved it to the entry of the applier, as Flux
// does with kubectl's entries (fluxcd/pkg/ssa, PatchReplaceFieldsManagers).
func TestAnyWriterWhoseEntryWasRenamed(t *testing.T) {
	t.Parallel()
	n := newEdited(t, applier{manager: "ci", apply: byKubectlServerSide})
	n.withRules()
	n.applies(withImage("app:1"))
	n.kubectl("set", "image", "deployment/web", "app=app:9")
	o := n.object()
	o.SetManagedFields(renamed(t, o, "ci"))
	n.eventually("the entries are renamed", func() bool {
		o.SetResourceVersion(n.object().GetResourceVersion())
		return cluster.client.Update(n.Context(), o, client.FieldOwner("kubectl")) == nil
	})
	path := fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app"), "image")
	if managers := fieldManagers(t, n.object(), path); !slices.Equal(managers, []string{"ci/Apply"}) {
		t.Fatalf("want one manager of the image, got %q", managers)
	}
	n.keeps("the manifest", withImage("app:1"), image, "app:9")
}

// renamed returns the managedFields of an object after the entries of kubectl's updates have become part of the Apply entry of an applier.
func renamed(t *testing.T, o *unstructured.Unstructured, applier string) (entries []metav1.ManagedFieldsEntry) {
	t.Helper()
	applied := metav1.ManagedFieldsEntry{
		Manager: applier, Operation: metav1.ManagedFieldsOperationApply, APIVersion: o.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	set := []byte("{}")
	for _, entry := range o.GetManagedFields() {
		isApplier := entry.Manager == applier && entry.Operation == applied.Operation
		if !isApplier && !strings.HasPrefix(entry.Manager, "kubectl") {
			entries = append(entries, entry)
			continue
		}
		set = unionOf(t, set, entry.FieldsV1.GetRawBytes())
	}
	applied.FieldsV1 = &metav1.FieldsV1{}
	applied.FieldsV1.SetRawBytes(set)
	return append(entries, applied)
}

// TestRulesSelectNamespacesAndLabels verifies that a rule is about nothing else.
func TestRulesSelectNamespacesAndLabels(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	const kinds = "kinds: [{group: apps, kind: Deployment}]"
	n.configured("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nrules:\n" +
		"- {name: elsewhere, " + kinds + ", namespaces: [elsewhere, x-*], fields: [.spec.minReadySeconds]}\n" +
		"- {name: here, " + kinds + ", namespaces: ['" + n.name[:3] + "*'], fields: [.spec.revisionHistoryLimit]}\n" +
		"- {name: labeled, " + kinds + ", selector: {matchExpressions: [{key: sized, operator: In, values: [small]}]}, fields: [.spec.progressDeadlineSeconds]}\n")
	manifest := with("minReadySeconds: 1\n  revisionHistoryLimit: 1\n  progressDeadlineSeconds: 100", deployment("3", "app:1"))
	n.apply(manifest)
	n.kubectl("patch", "deployment", "web", "--field-manager=my-operator", "-p",
		`{"spec":{"minReadySeconds":9,"revisionHistoryLimit":9,"progressDeadlineSeconds":900}}`)
	n.eventually("the API server calls the webhook with the rules", func() bool {
		return n.must(n.run(manifest, "apply", "--dry-run=server", "-o", "jsonpath={.spec.revisionHistoryLimit}", "-f", "-")).stdout == "9"
	})
	n.apply(manifest)
	for path, want := range map[string]string{".spec.minReadySeconds": "1", ".spec.revisionHistoryLimit": "9", ".spec.progressDeadlineSeconds": "100"} {
		if got := n.jsonpath(path); got != want {
			t.Errorf("want %s %s, got %q", path, want, got)
		}
	}
}
