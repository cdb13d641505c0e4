package manifests_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestTheDocumentedPolicyForObjects applies the policy of examples/policy: permission to write objects does not suffice to opt them in.
func TestTheDocumentedPolicyForObjects(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(read(t, "..", "examples", "policy", "objects.yaml"), "scope: Namespaced}",
		"scope: Namespaced}\n    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: restricted}}", 1)
	kubectl(t, "", "create", "namespace", "restricted")
	kubectl(t, policy, "create", "--validate=strict", "-f-")
	kubeconfig, err := cluster.controlPlane.AddUser("editor")
	expect.NoError(t, err)
	kubectl(t, "", "create", "clusterrole", "editors", "--verb=*", "--resource=configmaps")
	kubectl(t, "", "create", "rolebinding", "editors", "-n", "restricted", "--clusterrole=editors", "--user=editor")
	kubectl(t, "", "create", "clusterrole", "role-editors", "--verb=get,patch", "--resource=clusterroles", "--resource-name=role-editors")
	kubectl(t, "", "create", "clusterrolebinding", "role-editors", "--clusterrole=role-editors", "--user=editor")
	const refused = "you may not write handoff's label and annotation on objects"
	as := func(args ...string) result {
		t.Helper()
		return run(t, "", append([]string{"--kubeconfig", kubeconfig, "-n", "restricted"}, args...)...)
	}
	label := []string{"label", "--overwrite", "configmap", "web"}
	annotate := []string{"annotate", "--overwrite", "configmap", "web"}
	eventually(t, "the user may write", func() bool { return as("create", "configmap", "web").Err == nil })
	eventually(t, "the policy is in effect", func() bool { return as(append(label, mode+"enforce", "--dry-run=server")...).Err != nil })
	for sentence, c := range map[string]struct {
		args    []string
		refused bool
	}{
		"the label":          {append(label, mode+"off"), true},
		"the annotation":     {append(annotate, "ownership-handoff.io/controller-fields=.data"), true},
		"another label":      {append(label, "team=web"), false},
		"of a ClusterRole":   {[]string{"label", "clusterrole", "role-editors", mode + "enforce"}, true},
		"another annotation": {append(annotate, mode+"off"), false}, // it has no effect
	} {
		if r := as(c.args...); (r.Err != nil) != c.refused || strings.Contains(r.Stderr, refused) != c.refused {
			t.Errorf("%s: want refused %t, got %v %s", sentence, c.refused, r.Err, r.Stderr)
		}
	}
	kubectl(t, "", "create", "rolebinding", "handoff-objects", "-n", "restricted", "--clusterrole=handoff-objects", "--user=editor")
	eventually(t, "the user may write the label", func() bool { return as(append(label, mode+"off")...).Err == nil })
	kubectl(t, policy, "delete", "-f-")
	kubectl(t, "", "delete", "namespace", "restricted", "--wait", "--timeout=60s")
}
