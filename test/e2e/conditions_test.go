package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// TestMatchConditionsDoNotFail verifies that the API server calls the webhook for all kinds of objects. It silently skips the
// webhook if a match condition fails or exceeds the CEL cost budget.
func TestMatchConditionsDoNotFail(t *testing.T) {
	withGadgets(t)
	n := newNamespace(t, "enforce")
	n.kind = "gadget"
	plain := "apiVersion: e2e.example.com/v1\nkind: Gadget\nmetadata: {name: %s}\n"
	for name, spec := range map[string]string{"no-spec": "data: x\n", "no-annotations": "spec: {pool: {size: 1}}\n"} {
		n.must(n.run(fmt.Sprintf(plain, name)+spec, "create", "-f", "-"))
		n.replace(fmt.Sprintf(plain, name) + spec + "more: y\n")
		n.kubectl("annotate", "gadget", name, "a=b")
		n.kubectl("annotate", "gadget", name, "a-")
		n.kubectl("patch", "gadget", name, "--type=json", "-p", `[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)
		n.kubectl("patch", "gadget", name, "--type=merge", "-p", `{"spec":{"pool":{"size":2}}}`)
		n.kubectl("patch", "gadget", name, "--type=merge", "-p", `{"spec":null}`)
	}

	large := newNamespace(t, "enforce")
	var env strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&env, "        - {name: VARIABLE_%d, value: \"%s\"}\n", i, strings.Repeat("x", 1000))
	}
	manifest := func(replicas, image string) string {
		return deployment(replicas, image) + "        env:\n" + env.String()
	}
	large.apply(manifest("3", "app:1"), serverSide()...) // too large for client-side apply: annotations are limited to 256 KiB
	large.autoscale("7")
	r := large.apply(manifest("3", "app:2"), serverSide()...)
	expect.Equal(t, "warnings", keptReplicas(7, hpa), r.Warnings())
	large.wantReplicas(7)

	metrics := n.kubectl("get", "--raw", "/metrics").Stdout
	expect.Equal(t, "failed match conditions", 0.0, handofftest.Sum(metrics, "apiserver_admission_match_condition_evaluation_errors_total", "ownership-handoff"))
	if seen := handofftest.Sum(metrics, "apiserver_admission_webhook_admission_duration_seconds_count", "ownership-handoff"); seen == 0 {
		t.Error("the API server has no metric of the webhook, so the check above is void")
	}
}
