package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/ownership"
)

// applier applies manifests as a tool does, with a field manager that no list contains unless it says so.
type applier struct {
	manager string
	apply   func(n *namespace, manager, before, manifest string) (replicas int64)
	// serverSide reports whether a removed field keeps the value of an autoscaler without handoff as well.
	serverSide bool
	// replaces reports whether each write changes the object, even without handoff: kubectl replace deletes the annotation that
	// the deployment controller adds.
	replaces bool
}

func appliers() map[string]applier {
	return map[string]applier{
		"kubectl apply with a field manager":             {manager: "ci", apply: byKubectl},
		"kubectl apply with a field manager server-side": {manager: "ci", apply: byKubectlServerSide, serverSide: true},
		"Ansible":                             {manager: "OpenAPI-Generator", apply: byMergePatch},
		"the Helm library in another program": {manager: "terraform-provider-helm_v3.0.2_x5", apply: byHelmsLibrary},
		"Fleet's agent (listed)":              {manager: "fleetagent", apply: byHelmsLibrary},
		"Argo CD with Replace=true (listed)":  {manager: "argocd-application-controller", apply: byReplace, replaces: true},
	}
}

func byKubectl(n *namespace, manager, _, manifest string) int64 {
	n.Helper()
	if !n.silent { // compared with its preview
		n.apply(manifest, "--field-manager="+manager)
		return n.replicas()
	}
	return n.answered(n.apply(manifest, "--field-manager="+manager, "-o", "jsonpath={.spec.replicas}"))
}

func byKubectlServerSide(n *namespace, manager, _, manifest string) int64 {
	n.Helper()
	args := append(make([]string, 0, 5), "--server-side", "--force-conflicts", "--field-manager="+manager)
	if !n.silent {
		n.apply(manifest, args...)
		return n.replicas()
	}
	args = append(args, "-o", "jsonpath={.spec.replicas}")
	return n.answered(n.apply(manifest, args...))
}

// byReplace is what Argo CD does with Replace=true (ReplaceResource in gitops-engine): kubectl replace, without last-applied.
func byReplace(n *namespace, manager, before, manifest string) int64 {
	n.Helper()
	verb := "replace"
	if before == "" {
		verb = "create"
	}
	var r result
	n.eventually("kubectl "+verb+" does not conflict", func() bool {
		r = n.run(manifest, verb, "--field-manager="+manager, "-f", "-", "-o", "jsonpath={.spec.replicas}")
		return r.err == nil || !strings.Contains(r.stderr, "(Conflict)")
	})
	return n.answered(n.must(r))
}

func (n *namespace) answered(r result) int64 {
	n.Helper()
	replicas, err := strconv.ParseInt(r.stdout, 10, 64)
	if err != nil {
		n.Fatal(err)
	}
	return replicas
}

// byMergePatch applies with ansible.
func byMergePatch(n *namespace, manager, before, manifest string) int64 {
	n.Helper()
	return n.synced(ansible, manager, before, manifest)
}

// byHelmsLibrary applies with helm3.
func byHelmsLibrary(n *namespace, manager, before, manifest string) int64 {
	n.Helper()
	return n.synced(helm3, manager, before, manifest)
}

// applyFunc is what a client without kubectl does with a manifest. before is the manifest that it applied last, nil for the first.
type applyFunc func(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error)

func (n *namespace) synced(s applyFunc, manager, before, manifest string) int64 {
	n.Helper()
	var last *unstructured.Unstructured
	if before != "" {
		last = decoded(n, before)
	}
	o, err := s(n, manager, last, decoded(n, manifest))
	if err != nil {
		n.Fatal(err)
	}
	return replicasOf(n, o)
}

// ansible is what the Python client does for Ansible (kubernetes.core, apply_object): a JSON merge patch that also sets the
// last-applied annotation.
func ansible(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	n.Helper()
	recorded := manifest.DeepCopy()
	setAnnotation(recorded, ownership.LastAppliedAnnotation, string(encoded(n, manifest.Object)))
	if before == nil {
		return n.created(manager, recorded)
	}
	live, err := n.liveOf(manifest)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(encoded(n, before.Object), encoded(n, recorded.Object), encoded(n, live.Object))
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
	from, to, current := encoded(n, released(before).Object), encoded(n, released(manifest).Object), encoded(n, live.Object)
	typed, err := scheme.Scheme.New(manifest.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		patch, err := jsonpatch.CreateMergePatch(from, to)
		if err != nil {
			return nil, err
		}
		return n.patchedAs(manager, manifest, types.MergePatchType, patch)
	}
	if err != nil {
		return nil, err
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(from, to, current, lookup, true)
	if err != nil {
		return nil, err
	}
	return n.patchedAs(manager, manifest, types.StrategicMergePatchType, patch)
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
	if err != nil {
		n.Fatal(err)
	}
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
	manager string, manifest *unstructured.Unstructured, kind types.PatchType, patch []byte,
) (*unstructured.Unstructured, error) {
	o := n.placed(manifest)
	if err := cluster.client.Patch(n.Context(), o, client.RawPatch(kind, patch), client.FieldOwner(manager)); err != nil {
		return nil, fmt.Errorf("%w: %s", err, patch)
	}
	return o, nil
}

func replicasOf(n *namespace, o *unstructured.Unstructured) int64 {
	n.Helper()
	replicas, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil {
		n.Fatal(err)
	}
	return replicas
}

func jsonOf(n *namespace, manifest string) []byte {
	n.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		n.Fatal(err)
	}
	return text
}

func decoded(n *namespace, manifest string) *unstructured.Unstructured {
	n.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(jsonOf(n, manifest)); err != nil {
		n.Fatal(err)
	}
	return o
}

func encoded(n *namespace, o map[string]any) []byte {
	n.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		n.Fatal(err)
	}
	return text
}

func setAnnotation(o *unstructured.Unstructured, name, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	o.SetAnnotations(annotations)
}

// TestAppliersAreKnownByWhatTheyWrite applies the same manifests with and without handoff, while an autoscaler wants 7 replicas.
func TestAppliersAreKnownByWhatTheyWrite(t *testing.T) {
	t.Parallel()
	all := appliers()
	for _, sentence := range slices.Sorted(maps.Keys(all)) {
		a := all[sentence]
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			with, twin := newNamespace(t, "enforce"), newNamespace(t, "")
			twin.silent = true
			before := ""
			apply := func(what, manifest string, want, without int64) {
				t.Helper()
				if got := a.apply(with, a.manager, before, manifest); got != want {
					t.Errorf("%s with handoff: want %d, got %d", what, want, got)
				}
				if got := a.apply(twin, a.manager, before, manifest); got != without {
					t.Errorf("%s without handoff: want %d, got %d", what, without, got)
				}
				before = manifest
			}
			apply("the first apply", deployment("3", "app:1"), 3, 3)
			with.autoscale("7")
			twin.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
			twin.scaled()

			apply("an unchanged apply", deployment("3", "app:1"), 7, 3)
			with.wantManagers("kube-controller-manager/Update/scale")
			for i := range 5 {
				if a.replaces {
					apply("an unchanged apply", before, 7, 3)
					twin.scaled()
					continue
				}
				with.unchangedBy(fmt.Sprintf("unchanged apply %d", i+1), func() { a.apply(with, a.manager, before, before) })
			}
			with.wantManagers("kube-controller-manager/Update/scale")
			apply("another image", deployment("3", "app:2"), 7, 3)
			twin.scaled()
			apply("another number of replicas", deployment("4", "app:2"), 7, 4)
			twin.scaled()
			removed := int64(1)
			if a.serverSide {
				removed = 7
			}
			apply("a manifest without replicas", deployment("", "app:2"), 7, removed)
			with.wantManagers("kube-controller-manager/Update/scale")

			with.kubectl("delete", "hpa", "web")
			with.known(false)
			if got := a.apply(with, a.manager, before, deployment("4", "app:2")); got != 4 {
				t.Errorf("replicas after the autoscaler is deleted: want 4, got %d", got)
			}
		})
	}
}

// scaled waits until the autoscaler has scaled the object web to 7.
func (n *namespace) scaled() {
	n.Helper()
	n.eventually("the HPA controller scales to 7", func() bool {
		return slices.Equal(n.fieldManagers(), []string{"kube-controller-manager/Update/scale"}) && n.replicas() == 7
	})
}

func TestAReplacementOfTheObjectStartsAtTheAutoscalersCount(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	byReplace(n, "argocd-application-controller", "", deployment("3", "app:1"))
	n.autoscale("7")
	// Argo CD with Force=true: kubectl replace --force deletes and creates.
	r := n.must(n.run(deployment("3", "app:1"), "replace", "--force", "--field-manager=argocd-application-controller", "-f", "-",
		"-o", "jsonpath={.spec.replicas}"))
	if !strings.HasSuffix(r.stdout, "7") { // of the response, because the autoscaler may scale before the object is read again
		t.Errorf("want 7 replicas in the response, got %s", r.stdout)
	}
}

func TestOtherCommandsWithTheFieldManagerOfAnApply(t *testing.T) { //nolint:tparallel // the commands follow each other
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"), "--field-manager=ci")
	n.autoscale("7")
	t.Run("a label passes, and warns once that the manifest sets replicas", func(t *testing.T) {
		for want, label := range []string{"tier=b", "tier=a"} {
			want = 1 - want
			if r := n.kubectl("label", "--overwrite", "deployment", "web", label, "--field-manager=ci"); len(r.warnings()) != want {
				t.Errorf("%s: want %d warnings, got %q", label, want, r.warnings())
			}
		}
		if got := n.jsonpath(".metadata.labels.tier"); got != "a" {
			t.Errorf("label tier: got %q", got)
		}
		n.wantReplicas(7)
	})
	t.Run("a patch of replicas counts as an apply", func(*testing.T) {
		n.kubectl("patch", "deployment", "web", "--field-manager=ci", "-p", `{"spec":{"replicas":9}}`)
		n.wantReplicas(7)
	})
	t.Run("kubectl diff shows that nothing changes", func(t *testing.T) {
		r := n.run(deployment("3", "app:1"), "diff", "--field-manager=ci", "-f", "-")
		if r.err != nil {
			t.Errorf("%v: %s", r.err, r.stdout)
		}
	})
	t.Run("a controller that reads and replaces the object does not apply", func(t *testing.T) {
		o := n.object()
		if err := unstructured.SetNestedField(o.Object, int64(9), "spec", "replicas"); err != nil {
			t.Fatal(err)
		}
		if err := cluster.client.Update(n.Context(), o, client.FieldOwner("my-operator")); err != nil {
			t.Fatal(err)
		}
		n.wantReplicas(9)
	})
	t.Run("kubectl edit that also changes last-applied is a user's command", func(t *testing.T) {
		editor := n.file("editor", "#!/bin/sh\nsed -i 's/app:1/app:8/g; s/replicas: [79]/replicas: 10/' \"$1\"\n")
		r := n.must(n.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "edit", "deployment", "web"))
		if len(r.warnings()) != 1 || !strings.Contains(r.warnings()[0], "may revert this change") {
			t.Errorf("warnings: %q", r.warnings())
		}
		n.wantLastApplied("app:8", true)
		n.wantReplicas(10)
	})
}

// TestAnAnnotationThatAControllerCopiesIsNoApply creates a Deployment as an operator that copies all annotations of its own object.
func TestAnAnnotationThatAControllerCopiesIsNoApply(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.kubectl("create", "configmap", "parent")
	uid := n.kubectl("get", "configmap", "parent", "-o", "jsonpath={.metadata.uid}").stdout
	child := decoded(n, deployment("3", "app:1"))
	setAnnotation(child, ownership.LastAppliedAnnotation, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"parent"}}`)
	setAnnotation(child, ownership.HelmReleaseAnnotation, "parent")
	if err := unstructured.SetNestedSlice(child.Object, []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid, "controller": true,
	}}, "metadata", "ownerReferences"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.created("my-operator", child); err != nil {
		t.Fatal(err)
	}
	n.autoscale("7")
	o, err := n.patchedAs("my-operator", child, types.MergePatchType, []byte(`{"spec":{"replicas":9}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := replicasOf(n, o); got != 9 {
		t.Errorf("want the operator's 9, got %d", got)
	}
}

func TestAnOperatorThatAppliesOnlyReplicasIsNotAManifest(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	n.autoscale("7")
	n.appliedBy("sleeper", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0}}`)
	n.wantReplicas(0)
	n.wantManagers("sleeper/Apply")
	n.apply(deployment("3", "app:1"))
	n.wantReplicas(0) // the autoscaler owns the field, and does not scale from 0
	n.wantManagers("sleeper/Apply")
	n.unchangedBy("an unchanged apply", func() { n.apply(deployment("3", "app:1")) })

	n.kubectl("delete", "hpa", "web")
	n.known(false)
	n.apply(deployment("", "app:1"))
	n.wantReplicas(0) // row 3
}
