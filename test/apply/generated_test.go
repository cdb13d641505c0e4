package apply_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Edits are generated in batches of this size, which one kubectl apply applies.
const batchSize = 20

// TestGeneratedEditsMatchKubectlApply generates GENERATED_EDITS edits, by default 200: it applies an object, writes as another
// manager, and verifies that the merge of another manifest equals the object that kubectl apply stores. If the API server
// rejects the merged object, it must also reject kubectl's apply. GENERATED_SEED is the seed, by default 1.
func TestGeneratedEditsMatchKubectlApply(t *testing.T) {
	t.Parallel()
	count, seed := fromEnvironment(t, "GENERATED_EDITS", 200), fromEnvironment(t, "GENERATED_SEED", 1)
	t.Logf("GENERATED_SEED=%d", seed)
	results := map[string]int{}
	for batch := range (count + batchSize - 1) / batchSize {
		generated := generator{rand.New(rand.NewPCG(seed, batch))}
		for result, n := range playBatch(t, generated, int(min(batchSize, count-batch*batchSize))) {
			results[result] += n
		}
	}
	t.Logf("%d edits: %v", count, results)
	if stored := results["stored"]; uint64(stored) < count*3/4 {
		t.Errorf("only %d of %d edits were stored", stored, count)
	}
}

func fromEnvironment(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// generatedEdit is a generated edit and its state.
type generatedEdit struct {
	stage        *stage
	name         string
	base, second map[string]any
	live, dryRun *unstructured.Unstructured
	refused      error
}

// playBatch runs edits in a separate namespace, and returns the number of edits for each result.
func playBatch(t *testing.T, g generator, count int) map[string]int {
	t.Helper()
	kinds := []string{"Deployment", "Deployment", "StatefulSet", "ConfigMap", "Service", "ServiceAccount", "Gadget"}
	namespace := newStage(t, edit{kind: "ConfigMap"}).namespace
	edits, results := make([]*generatedEdit, 0, count), map[string]int{}
	for i := range count {
		e := &generatedEdit{
			stage: &stage{ctx: t.Context(), edit: edit{kind: kinds[g.random.IntN(len(kinds))]}, namespace: namespace, scope: namespace},
			name:  fmt.Sprintf("generated-%d", i),
		}
		e.generate(g)
		if err := e.prepare(g); err != nil {
			if !apierrors.IsInvalid(err) {
				t.Fatal(err)
			}
			results["not created"]++
			continue
		}
		edits = append(edits, e)
	}
	applyAll(t, namespace, edits)
	for _, e := range edits {
		results[e.compare(t)]++
	}
	return results
}

// generate generates the manifests.
func (e *generatedEdit) generate(g generator) {
	e.base = g.manifest(e.stage.edit.kind)
	fresh := g.manifest(e.stage.edit.kind)
	second, ok := g.edited(e.base, fresh).(map[string]any)
	if !ok {
		second = fresh
	}
	e.second = second
	for _, manifest := range []map[string]any{e.base, e.second} {
		metadata, ok := manifest["metadata"].(map[string]any)
		if !ok {
			metadata = map[string]any{}
			manifest["metadata"] = metadata
		}
		manifest["apiVersion"], manifest["kind"] = apiVersion(e.stage.edit.kind), e.stage.edit.kind
		metadata["name"], metadata["namespace"] = e.name, e.stage.namespace
	}
}

// prepare creates the object as kubectl apply does, writes as another manager, and merges.
func (e *generatedEdit) prepare(g generator) error {
	sent, err := asSent(e.base, e.stage.namespace)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(sent); err != nil {
		return err
	}
	if err := controlPlane.client.Create(e.stage.ctx, o, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		return err
	}
	if err := e.others(g, o); err != nil {
		return err
	}
	e.live = o
	if sent, err = asSent(e.second, e.stage.namespace); err != nil {
		return err
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	e.merge(sent, text)
	return nil
}

// merge merges the second manifest as kubectl apply sends it, and validates the result with a dry run.
func (e *generatedEdit) merge(sent, live []byte) {
	base := e.live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	result, err := threeWay([]byte(base), sent, live, schemaOf(e.live))
	if err == nil {
		e.dryRun = &unstructured.Unstructured{}
		err = e.dryRun.UnmarshalJSON(result)
	}
	if err == nil {
		err = controlPlane.client.Update(e.stage.ctx, e.dryRun, client.DryRunAll)
	}
	e.refused = err
}

// others patches the object with parts of another manifest as another manager. It ignores patches that the API server rejects.
func (e *generatedEdit) others(g generator, o *unstructured.Unstructured) error {
	if g.likely(1, 4) {
		return nil
	}
	theirs := g.manifest(e.stage.edit.kind)
	if spec, ok := theirs["spec"].(map[string]any); ok {
		delete(spec, "selector")
	}
	patch, err := json.Marshal(theirs)
	if err != nil {
		return err
	}
	kind := client.RawPatch("application/strategic-merge-patch+json", patch)
	if e.stage.edit.kind == "Gadget" {
		kind = client.RawPatch("application/merge-patch+json", patch)
	}
	patched := o.DeepCopy()
	err = controlPlane.client.Patch(e.stage.ctx, patched, kind, client.FieldOwner("kubectl-edit"))
	if err == nil {
		*o = *patched
	}
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// applyAll applies the second manifests with one kubectl apply, which continues after a rejected object.
func applyAll(t *testing.T, namespace string, edits []*generatedEdit) {
	t.Helper()
	items := make([]any, len(edits))
	for i, e := range edits {
		items[i] = e.second
	}
	stdin, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), controlPlane.started.Kubectl, "--namespace", namespace, "apply", "--validate=false", "-f", "-")
	cmd.Stdin = strings.NewReader(string(stdin))
	output, err := cmd.CombinedOutput()
	for _, e := range edits {
		if e.refused != nil && err == nil {
			t.Errorf("kubectl applied all objects, but the merged %s was rejected: %v", e.name, e.refused)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kubectl: %v\n%s", err, output)
		}
	})
}

// compare compares the stored object with the merged one.
func (e *generatedEdit) compare(t *testing.T) string {
	t.Helper()
	stored := &unstructured.Unstructured{}
	stored.SetAPIVersion(apiVersion(e.stage.edit.kind))
	stored.SetKind(e.stage.edit.kind)
	if err := controlPlane.client.Get(e.stage.ctx, client.ObjectKey{Namespace: e.stage.namespace, Name: e.name}, stored); err != nil {
		t.Fatal(err)
	}
	want, result := e.dryRun, "stored"
	if e.refused != nil {
		want, result = e.live, "refused"
	}
	if diff := cmp.Diff(own(want), own(stored)); diff != "" {
		t.Errorf("%s %s, %s (-merged +stored):\n%s\nthe merge's error: %v\nbase   %s\nsecond %s\nlive   %s", e.stage.edit.kind, e.name, result, diff, e.refused, asText(e.base), asText(e.second), asText(e.live.Object))
	}
	return result
}

func asText(value any) string {
	text, err := utiljson.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
