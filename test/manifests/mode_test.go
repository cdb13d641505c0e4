package manifests_test

import (
	"strings"
	"testing"
)

// mode is the beginning of an argument of kubectl annotate.
const mode = "ownership-handoff.io/mode="

// TestThePolicyRejectsUnknownModes does not run in parallel with tests that install the same policy.
func TestThePolicyRejectsUnknownModes(t *testing.T) {
	kubectl(t, "", "create", "namespace", "mode")
	kubectl(t, "", "apply", "-k", cluster.root+"/manifests/policies", "--validate=strict")
	annotate := func(namespace, value string) result {
		return run(t, "", "annotate", "namespace", namespace, "--overwrite", value)
	}
	eventually(t, "the policy is in effect", func() bool {
		return run(t, "", "annotate", "namespace", "mode", mode+"no", "--dry-run=server").Err != nil
	})

	for _, value := range []string{"enforce", "warn", "off"} {
		if r := annotate("mode", mode+value); r.Err != nil {
			t.Errorf("%s: %s", value, r.Stderr)
		}
	}
	for _, value := range []string{"enfroce", "Enforce", "", " enforce"} {
		want := mode[:len(mode)-1] + " " + value + " is unknown; write enforce, warn or off"
		if r := annotate("mode", mode+value); r.Err == nil || !strings.Contains(r.Stderr, want) {
			t.Errorf("%q: want an error with %s, got %v %s", value, want, r.Err, r.Stderr)
		}
	}
	const made = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made", "annotations": {"ownership-handoff.io/mode": "on"}}}`
	if r := run(t, made, "create", "-f-"); r.Err == nil || !strings.Contains(r.Stderr, "write enforce, warn or off") {
		t.Errorf("create a namespace with an unknown mode: want an error, got %v %s", r.Err, r.Stderr)
	}

	// A namespace that already has an unknown mode can be changed otherwise.
	kubectl(t, "", "label", "namespace", mistyped, "team=web")
	kubectl(t, "", "annotate", "namespace", mistyped, "other=annotation")
	kubectl(t, "", "patch", "namespace", mistyped, "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[]}}`)
	if r := annotate(mistyped, mode+"ENFORCE"); r.Err == nil {
		t.Error("another unknown mode: want an error")
	}
	kubectl(t, "", "annotate", "namespace", "mode", mode[:len(mode)-1]+"-")
	for _, namespace := range []string{"mode", mistyped} {
		kubectl(t, "", "delete", "namespace", namespace, "--wait", "--timeout=60s")
	}
	kubectl(t, "", "delete", "-k", cluster.root+"/manifests/policies") // other tests install it
}

// TestThePoliciesHaveNoTypeWarnings reads what the policies' controller reports about their expressions.
func TestThePoliciesHaveNoTypeWarnings(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"handoff-mode": "policies/mode.yaml", "handoff-webhook-namespaces": "base/namespaces.yaml"} {
		all := decode(t, read(t, strings.Split(file, "/")...))
		policy := all["ValidatingAdmissionPolicy/"+name]
		policy.SetName("checked-" + name) // without a binding
		text := objects{"policy": policy}.text(t)
		kubectl(t, text, "create", "-f-")
		eventually(t, "the expressions are checked", func() bool {
			return kubectl(t, "", "get", "validatingadmissionpolicy", policy.GetName(), "-o", "jsonpath={.status.observedGeneration}").Stdout != ""
		})
		warnings := kubectl(t, "", "get", "validatingadmissionpolicy", policy.GetName(), "-o", "jsonpath={.status.typeChecking.expressionWarnings}").Stdout
		if warnings != "" && warnings != "null" {
			t.Errorf("%s: %s", name, warnings)
		}
		kubectl(t, text, "delete", "-f-")
	}
}
