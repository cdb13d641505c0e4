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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

// image and memory are the JSONPaths of fields of the container.
const (
	image  = ".spec.template.spec.containers[0].image"
	memory = ".spec.template.spec.containers[0].resources.requests.memory"
)

// withRules starts the webhook with the rules and all packs, which all namespaces share, and waits until the API server calls it. Objects that exist
// then are not changed.
func (n *namespace) withRules() {
	n.Helper()
	localOnly(n.T)
	cluster.ruled.once.Do(func() {
		file := filepath.Join(cluster.Plane.Dir, "edited.yaml")
		packs := "packs: [" + strings.Join(config.Packs(), ", ") + "]\n"
		err := os.WriteFile(file, []byte(testdata("rules")+packs), 0o600)
		if err == nil {
			cluster.ruled.webhook, err = handofftest.Start(context.WithoutCancel(n.Context()), cluster.Plane, handofftest.Options{Config: file})
		}
		expect.NoError(n, err)
		n.registered(forAllKinds(strings.Replace(testdata("hook-of-namespace"), `kubernetes.io/metadata.name: "{name}"`, "rules: edited", 1)), "edited", cluster.ruled.webhook)
	})
	n.kubectl("label", "namespace", n.name, "rules=edited")
	n.wantRules()
}

// forAllKinds returns a webhook configuration for all objects, inside namespaces and outside.
func forAllKinds(hook string) string {
	return strings.NewReplacer("[apps]", `["*"]`, "[v1], op", `["*"], op`, "[deployments]", `["*"]`).Replace(hook) + testdata("hook-outside")
}

// wantRules waits until the API server calls a webhook with the rules.
func (n *namespace) wantRules() {
	n.Helper()
	probe := strings.Replace(requesting("10m"), "  name: web\n", "  name: probe\n", 1)
	n.eventually("the API server calls the webhook with the rules", func() bool {
		created := n.must(n.run(probe, "create", "--dry-run=server", "--field-manager=helm", "-o", "json", "-f", "-")).Stdout
		return strings.Contains(created, ownership.AppliedAnnotation)
	})
}

// requesting returns a manifest that requests an amount of cpu.
func requesting(amount string) string {
	return strings.Replace(deployment("3", "app:1"), "cpu: 10m", "cpu: "+amount, 1)
}

// requested is an apply of it, twice, after which the cpu has a value.
func requested(amount, want string) step { return applies(requesting(amount)).value(cpu, want).twice() }

// TestEditApply verifies that a manifest wins where it has changed, and only there.
func TestEditApply(t *testing.T) {
	t.Parallel()
	playBy(t, appliers(), map[string]scenario{"edits": {ruled: true, steps: []step{
		applies(requesting("10m")), resizedByVPA(), requested("10m", "50m"), requested("20m", "20m"),
		resizedByVPA(), requested("20m", "50m"), applies(requesting("10m")).value(cpu, "10m"),
	}}})
}

// recorders are appliers that record a manifest in three ways.
func recorders() map[string]applier {
	return map[string]applier{
		"last-applied": {manager: "ci"}, "an Apply entry": {manager: "ci", args: serverSide()}, "nowhere": {manager: "helm", by: helm3},
	}
}

func TestEditApplyByTheRecordOfTheManifest(t *testing.T) {
	t.Parallel()
	// of is an apply of cpu and memory, twice, and their values after it.
	of := func(manifest, cpus, memories string) step {
		parts := strings.Fields(manifest)
		return applies(strings.Replace(deployment("3", "app:1"), "cpu: 10m", "cpu: "+parts[0]+", memory: "+parts[1], 1)).
			value(cpu, cpus).value(memory, memories).twice()
	}
	sleeping := func(replicas string) step {
		return applies(withMetadata(`labels: {sleeps: "yes"}`, deployment(replicas, "app:1")))
	}
	sleeps := patchedBy("sleeper", `{"spec":{"replicas":7}}`)
	playBy(t, recorders(), map[string]scenario{
		"the first apply under the rule": {steps: []step{
			applies(requesting("10m")), resizedByVPA(), did((*namespace).withRules), requested("10m", "50m"), requested("20m", "20m"),
		}},
		"an edit of one field does not decide on another one beside it": {ruled: true, steps: []step{
			of("10m 1Mi", "10m", "1Mi"),
			runs("patch", "deployment", "web", "--field-manager=vpa", "-p", strings.Replace(resources, `"50m"`, `"50m","memory":"5Mi"`, 1)),
			of("10m 1Mi", "50m", "5Mi"), of("20m 1Mi", "20m", "5Mi"), of("20m 2Mi", "20m", "2Mi"),
		}},
		"a manifest that drops the field": {ruled: true, steps: []step{
			applies(requesting("10m")), resizedByVPA(),
			applies(withoutResources(deployment("3", "app:1"))).value(cpu, "50m"),
		}},
		"a manifest that drops replicas never scales to 1": {ruled: true, steps: []step{
			sleeping("3"), sleeps, sleeping("3").replicas(7).twice(), sleeping("4").replicas(4).twice(), sleeps, sleeping("").replicas(7).twice(),
		}},
	})
}

func TestEditApplyAfterARestart(t *testing.T) {
	t.Parallel()
	var first *handofftest.Webhook
	start := did(func(n *namespace) {
		_, first = n.configured(testdata("rules"))
		n.wantRules()
	})
	play(t, map[string]scenario{"of the webhook": {steps: []step{
		start, applies(requesting("10m")),
		did(func(n *namespace) {
			expect.NoError(n, first.Stop())
		}), start, resizedByVPA(), requested("10m", "50m"), requested("20m", "20m"),
	}}})
}

// TestEditApplyWithoutARecord verifies that the live value is kept if the record is not what handoff has written, unless last-applied shows
// that the manifest has changed.
func TestEditApplyWithoutARecord(t *testing.T) {
	t.Parallel()
	record := func(text string) step {
		return runs("annotate", "--overwrite", "deployment/web", ownership.AppliedAnnotation+"="+text)
	}
	all := map[string]scenario{"an edit at the first apply under the rule": {steps: []step{
		applies(requesting("10m")), resizedByVPA(), did((*namespace).withRules), requested("20m", "20m"),
	}}}
	for sentence, lose := range map[string][]step{
		"kubectl rollout undo, which brings an old one back": {
			rolledOut("2"), runs("rollout", "undo", "deployment/web", "--to-revision=1"),
		},
		"kubectl replace, which drops it": {replaces(requesting("20m"))},
		"a text that is no record":        {record("{")},
		"a record by somebody else":       {record("{}")},
	} {
		all[sentence] = scenario{ruled: true, steps: slices.Concat([]step{applies(requesting("10m")), rolledOut("1"), applies(requesting("20m"))}, lose,
			[]step{resizedByVPA(), requested("20m", "50m"), requested("30m", "30m")})}
	}
	play(t, all)
}

// TestNullUnderARule verifies row 8: null of a client-side apply clears no field of a controller. What it clears otherwise is the applier's
// again.
func TestNullUnderARule(t *testing.T) {
	t.Parallel()
	null := applies(requesting("null"))
	play(t, map[string]scenario{"edit: apply": {ruled: true, steps: []step{
		applies(requesting("10m")), resizedByVPA(), null.value(cpu, "50m").twice(), requested("20m", "20m"), null.value(cpu, ""),
	}}})
}

// untilDryRun waits until a dry run of an apply has a value.
func untilDryRun(manifest, path, want string) step {
	return step{do: func(s stage) (r result) {
		s.Helper()
		s.eventually("an apply has "+path+" "+want, func() bool {
			r = s.applies(manifest, "--dry-run=server", "-o", "jsonpath={"+path+"}")
			return r.Stdout == want
		})
		return r
	}}
}

// inMode changes the mode of the namespace.
func inMode(mode string) step {
	return did(func(n *namespace) {
		n.kubectl("annotate", "--overwrite", "namespace", n.name, optin.Annotation+"="+mode)
	})
}

func TestEditApplyUnderSeveralConditions(t *testing.T) {
	t.Parallel()
	ci := append(serverSide(), "--field-manager=ci")
	second := func(amount, want string) step { return applies(requesting(amount), ci...).value(cpu, want).twice() }
	play(t, map[string]scenario{
		"a person's 0, which no manager has, under a rule that names others": {ruled: true, steps: []step{
			applies(deployment("3", "app:1")), runs("scale", "deployment/web", "--replicas=0"), applies(deployment("3", "app:1")).replicas(3).twice(),
		}},
		"an edit that was applied while handoff was off is not one once it is on": {ruled: true, steps: []step{
			applies(requesting("10m")), resizedByVPA(), inMode("warn"), untilDryRun(requesting("10m"), cpu, "10m"), requested("20m", "20m"),
			resizedByVPA(), inMode("enforce"), untilDryRun(requesting("20m"), cpu, "50m"), requested("20m", "50m"),
		}},
		"two appliers": {ruled: true, steps: []step{
			applies(requesting("10m")), resizedByVPA(), requested("10m", "50m"),
			applies(requesting("10m")).warns(`kept .spec.template.spec.containers[name="app"].resources.requests.cpu, owned by vpa; a new manifest value wins`),
			second("30m", "50m"), second("40m", "40m"), resizedByVPA(), second("40m", "50m"), requested("10m", "50m"),
		}},
	})
}

// withImage returns a manifest to which the rule for any writer applies.
func withImage(image string) string {
	return withMetadata("labels: {images: anybody}", deployment("3", image))
}

// TestAnyWriter verifies that a value that a manifest has not set is kept, also one that a person wrote, and that a value that it has set is its own.
func TestAnyWriter(t *testing.T) {
	t.Parallel()
	set := func(to string) step { return runs("set", "image", "deployment/web", "app="+to) }
	applied := func(manifest, want string) step { return applies(withImage(manifest)).value(image, want).twice() }
	playBy(t, appliers(), map[string]scenario{"images": {ruled: true, steps: []step{
		applied("app:1", "app:1"), applied("app:2", "app:2"),
		set("app:9"), applied("app:2", "app:9"), // a person's image
		set("app:2"), applied("app:3", "app:3"), // the manifest's own, which a person has set
	}}})
}

// renamed returns the managedFields of an object after the entries of kubectl's updates have become part of the Apply entry of an applier.
func renamed(t *testing.T, o *unstructured.Unstructured, applier string) (entries []metav1.ManagedFieldsEntry) {
	t.Helper()
	applied := metav1.ManagedFieldsEntry{
		Manager: applier, Operation: metav1.ManagedFieldsOperationApply, APIVersion: o.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	fields := &fieldpath.Set{}
	for _, entry := range o.GetManagedFields() {
		isApplier := entry.Manager == applier && entry.Operation == applied.Operation
		if !isApplier && !strings.HasPrefix(entry.Manager, "kubectl") {
			entries = append(entries, entry)
			continue
		}
		fields = fields.Union(objects.FieldsOf(entry))
	}
	text, err := fields.ToJSON()
	expect.NoError(t, err)
	applied.FieldsV1 = metav1.NewFieldsV1(string(text))
	return append(entries, applied)
}

// TestRulesSelectNamespacesAndLabels verifies that a rule is about nothing else.
func TestRulesSelectNamespacesAndLabels(t *testing.T) {
	t.Parallel()
	configured := did(func(n *namespace) {
		const kinds = "kinds: [{group: apps, kind: Deployment}]"
		n.configured("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nrules:\n" +
			"- {name: elsewhere, " + kinds + ", namespaces: [elsewhere, x-*], fields: [.spec.minReadySeconds]}\n" +
			"- {name: here, " + kinds + ", namespaces: ['" + n.name[:3] + "*'], fields: [.spec.revisionHistoryLimit]}\n" +
			"- {name: labeled, " + kinds + ", selector: {matchExpressions: [{key: sized, operator: In, values: [small]}]}, fields: [.spec.progressDeadlineSeconds]}\n")
	})
	manifest := with("minReadySeconds: 1\n  revisionHistoryLimit: 1\n  progressDeadlineSeconds: 100", deployment("3", "app:1"))
	play(t, map[string]scenario{"three rules": {steps: []step{
		configured, applies(manifest), patchedBy("my-operator", `{"spec":{"minReadySeconds":9,"revisionHistoryLimit":9,"progressDeadlineSeconds":900}}`),
		untilDryRun(manifest, ".spec.revisionHistoryLimit", "9"),
		applies(manifest).value(".spec.minReadySeconds", "1").value(".spec.revisionHistoryLimit", "9").value(".spec.progressDeadlineSeconds", "100"),
	}}})
}
