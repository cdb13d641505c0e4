package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/objects"
)

// applier applies manifests as a tool does. The zero value is kubectl apply.
type applier struct {
	manager string    // one that no list contains, unless it says so; empty for that of kubectl
	args    []string  // of kubectl apply
	by      applyFunc // instead of kubectl
	// replaces reports whether each write changes the object, even without handoff: kubectl replace deletes the annotation that
	// the deployment controller adds.
	replaces bool
}

func appliers() map[string]applier {
	return map[string]applier{
		"kubectl apply with a field manager":             {manager: "ci"},
		"kubectl apply with a field manager server-side": {manager: "ci", args: serverSide()},
		"Ansible":                             {manager: "OpenAPI-Generator", by: ansible},
		"the Helm library in another program": {manager: "terraform-provider-helm_v3.0.2_x5", by: helm3},
		"Fleet's agent (listed)":              {manager: "fleetagent", by: helm3},
		"Argo CD with Replace=true (listed)":  {manager: "argocd-application-controller", by: replace, replaces: true},
	}
}

// applies lets the applier apply a manifest.
func (s stage) applies(manifest string, args ...string) (r result) {
	s.Helper()
	if s.by == nil {
		args = slices.Concat(s.args, args)
		if s.manager != "" {
			args = append(args, "--field-manager="+s.manager)
		}
		return s.apply(manifest, args...)
	}
	var last *unstructured.Unstructured
	if *s.last != "" {
		last = decoded(s.namespace, *s.last)
	}
	_, err := s.by(s.namespace, s.manager, last, decoded(s.namespace, manifest))
	expect.NoError(s, err)
	*s.last = manifest
	return result{}
}

// TestAnUnnamedApplierAfterManyManagers is about a write by which the API server joins the oldest entries to one: it is not the sender's.
func TestAnUnnamedApplierAfterManyManagers(t *testing.T) {
	t.Parallel()
	later := func() step { return did(func(*namespace) { time.Sleep(1100 * time.Millisecond) }) } // entries have times in seconds
	steps := []step{applies(deployment("3", "app:1")).replicas(3), later()}
	for i := range 13 {
		if i == 11 {
			steps = append(steps, idlesAt(7))
		}
		steps = append(steps, patchedBy(fmt.Sprintf("manager-%d", i), fmt.Sprintf(`{"metadata":{"annotations":{"a-%d":"1"}}}`, i)))
	}
	scenario{steps: append(steps, later(), applies(deployment("3", "app:2")).replicas(7))}.play(t, applier{by: ansible})
}

// applyFunc is what a client without kubectl does with a manifest. before is the manifest that it applied last, nil for the first.
type applyFunc func(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error)

// ansible is what the Python client does for Ansible (kubernetes.core, apply_object): a JSON merge patch that also sets the
// last-applied annotation.
func ansible(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	n.Helper()
	recorded := manifest.DeepCopy()
	setAnnotation(recorded, ownership.LastAppliedAnnotation, string(jsontest.Encode(n.T, manifest.Object)))
	if before == nil {
		return n.created(manager, recorded)
	}
	live, err := n.liveOf(manifest)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(jsontest.Encode(n.T, before.Object), jsontest.Encode(n.T, recorded.Object), jsontest.Encode(n.T, live.Object))
	if err != nil {
		return nil, err
	}
	return n.patchedAs(manager, manifest, types.MergePatchType, patch)
}

// helm3 is what Helm 3's library does (createPatch and setMetadataVisitor in helm.sh/helm/v3/pkg/kube and action): a strategic merge
// patch from the manifest before, or a JSON merge patch for custom resources, without last-applied, and the release in annotations.
func helm3(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	n.Helper()
	released := func(manifest *unstructured.Unstructured) *unstructured.Unstructured {
		o := manifest.DeepCopy()
		setAnnotation(o, ownership.HelmReleaseAnnotation, "web")
		setAnnotation(o, "meta.helm.sh/release-namespace", n.name)
		return o
	}
	if before == nil {
		return n.created(manager, released(manifest))
	}
	live, err := n.liveOf(manifest)
	if err != nil {
		return nil, err
	}
	format, patch, err := objects.ThreeWayPatch(released(before).Object, released(manifest).Object, live)
	if err != nil {
		return nil, err
	}
	if format == types.MergePatchType { // from the manifest before, whatever the live object has
		patch, err = jsonpatch.CreateMergePatch(jsontest.Encode(n.T, released(before).Object), jsontest.Encode(n.T, released(manifest).Object))
		if err != nil {
			return nil, err
		}
	}
	return n.patchedAs(manager, manifest, format, patch)
}

// liveOf reads the object of a manifest.
func (n *namespace) liveOf(manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(manifest.GroupVersionKind())
	return o, cluster.client.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: manifest.GetName()}, o)
}

// placed returns a copy of a manifest with the namespace, if its kind has one.
func (n *namespace) placed(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	n.Helper()
	o := manifest.DeepCopy()
	namespaced, err := cluster.client.IsObjectNamespaced(o)
	expect.NoError(n, err)
	if namespaced {
		o.SetNamespace(n.name)
	}
	return o
}

func (n *namespace) created(manager string, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := n.placed(manifest)
	return o, cluster.client.Create(n.Context(), o, client.FieldOwner(manager))
}

func (n *namespace) patchedAs(
	manager string, manifest *unstructured.Unstructured, kind types.PatchType, patch []byte, options ...client.PatchOption,
) (*unstructured.Unstructured, error) {
	o := n.placed(manifest)
	if err := cluster.client.Patch(n.Context(), o, client.RawPatch(kind, patch), append(options, client.FieldOwner(manager))...); err != nil {
		return nil, fmt.Errorf("%w: %s", err, patch)
	}
	return o, nil
}

// replicasOf returns the scale field of an object, or -1 if it is not set.
func replicasOf(n *namespace, o *unstructured.Unstructured) int64 {
	n.Helper()
	replicas, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	expect.NoError(n, err)
	if !found {
		return -1
	}
	return replicas
}

func decoded(n *namespace, manifest string) *unstructured.Unstructured {
	n.Helper()
	o := &unstructured.Unstructured{}
	expect.NoError(n, o.UnmarshalJSON(jsontest.FromYAML(n.T, manifest)))
	return o
}

func setAnnotation(o *unstructured.Unstructured, name, value string) {
	_ = unstructured.SetNestedField(o.Object, value, "metadata", "annotations", name) // metadata is a map
}

func TestAppliersAreKnownByWhatTheyWrite(t *testing.T) {
	t.Parallel()
	playBy(t, appliers(), map[string]scenario{"an HPA and a manifest": {steps: []step{
		applies(deployment("3", "app:1")).replicas(3), autoscaledTo(7),
		applies(deployment("3", "app:1")).replicas(7).managers(byAutoscaler).twice(),
		applies(deployment("3", "app:2")).replicas(7).value(image, "app:2"),
		applies(deployment("4", "app:2")).replicas(7),
		applies(deployment("", "app:2")).replicas(7).managers(byAutoscaler),
		autoscalerDeleted(), applies(deployment("4", "app:2")).replicas(4),
	}}})
}

func TestAReplacementOfTheObjectStartsAtTheAutoscalersCount(t *testing.T) {
	t.Parallel()
	const manager = "--field-manager=argocd-application-controller"
	play(t, map[string]scenario{"Argo CD with Force=true": {steps: []step{
		writes(deployment("3", "app:1"), "create", manager), autoscales("7"),
		did(func(n *namespace) { // kubectl replace --force deletes and creates
			r := n.must(n.run(deployment("3", "app:1"), "replace", "--force", manager, "-f", "-", "-o", "jsonpath={.spec.replicas}"))
			if !strings.HasSuffix(r.Stdout, "7") { // of the response, because the autoscaler may scale before the object is read again
				n.Errorf("want 7 replicas in the response, got %s", r.Stdout)
			}
		}),
	}}})
}

func TestOtherCommandsWithTheFieldManagerOfAnApply(t *testing.T) {
	t.Parallel()
	label := func(value string) step {
		return runs("label", "--overwrite", "deployment", "web", "tier="+value, "--field-manager=ci").value(".metadata.labels.tier", value).replicas(7)
	}
	play(t, map[string]scenario{"kubectl, after an apply": {steps: []step{
		applies(deployment("3", "app:1"), "--field-manager=ci"), autoscaledTo(7),
		label("b").warns(keptReplicas(7, hpa)[0]), label("a").warns(), // it counts as an apply, and last-applied is corrected once
		patchedBy("ci", `{"spec":{"replicas":9}}`).replicas(7),
		writes(deployment("3", "app:1"), "diff", "--field-manager=ci"), // fails if there is a difference
		did(func(n *namespace) { // a controller that reads and replaces the object
			o := n.object()
			expect.NoError(n, unstructured.SetNestedField(o.Object, int64(9), "spec", "replicas"))
			expect.NoError(n, cluster.client.Update(n.Context(), o, client.FieldOwner("my-operator")))
		}).replicas(9),
		// Also changes last-applied, and is still a user's command.
		edits("s/app:1/app:8/g; s/replicas: [79]/replicas: 10/").says("may revert this change").records("app:8").replicas(10),
	}}})
}

// TestAnOperatorThatReplacesObjects plays operators that build a Deployment again and put it at each reconciliation, without a field manager:
// defilantech/LLMKube#484, vllm-project/semantic-router#4058. An operator is no applier until the configuration lists it as one.
func TestAnOperatorThatReplacesObjects(t *testing.T) {
	t.Parallel()
	as := rest.CopyConfig(cluster.Plane.Config)
	as.UserAgent = "manager/v0.9 (linux/amd64)"
	operator, err := client.New(as, client.Options{})
	expect.NoError(t, err)
	puts := func(n *namespace, replicas string, options ...client.UpdateOption) int64 {
		n.Helper()
		o := n.placed(decoded(n, deployment(replicas, "app:1")))
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			o.SetResourceVersion(n.object().GetResourceVersion())
			return operator.Update(n.Context(), o, options...)
		})
		expect.NoError(n, err)
		return replicasOf(n, o)
	}
	creates := did(func(n *namespace) {
		expect.NoError(n, operator.Create(n.Context(), n.placed(decoded(n, deployment("3", "app:1")))))
	})
	reconciles := func(replicas string) step { return did(func(n *namespace) { puts(n, replicas) }) }
	play(t, map[string]scenario{
		"not listed": {steps: []step{creates, autoscaledTo(7), reconciles("3").replicas(3), reconciles("").replicas(1)}},
		"listed": {steps: []step{
			creates, autoscaledTo(7),
			did(func(n *namespace) {
				n.configured("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nappliers: {add: [manager]}\n")
				n.eventually("the API server calls the webhook that lists it", func() bool { return puts(n, "3", client.DryRunAll) == 7 })
			}),
			reconciles("3").replicas(7).managers(byAutoscaler), reconciles("").replicas(7).managers(byAutoscaler), reconciles("4").replicas(7),
		}},
	})
}
