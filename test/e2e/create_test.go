package e2e_test

import (
	"testing"
)

func TestRow12StartsWithTheAutoscalersReplicas(t *testing.T) {
	t.Parallel()
	for side, args := range map[string][]string{"client": nil, "server": {"--server-side"}} {
		for name, c := range map[string]struct {
			manifest string
			replicas int64
			warnings []string
		}{
			"the manifest sets less": {
				deployment("3", "app:1"), 7,
				[]string{"started with .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"},
			},
			"the manifest sets nothing": {
				deployment("", "app:1"), 7,
				[]string{"started with .spec.replicas=7, owned by HorizontalPodAutoscaler/web; no action needed"},
			},
			"the manifest sets more": {deployment("9", "app:1"), 9, nil},
		} {
			t.Run(name+", "+side+"-side", func(t *testing.T) {
				t.Parallel()
				n := newAutoscaled(t, "7", args...)
				n.kubectl("delete", "deployment", "web")
				n.eventually("handoff knows of the autoscaler's count", func() bool {
					r := n.apply(deployment("3", "app:1"), append([]string{"--dry-run=server", "-o", "jsonpath={.spec.replicas}"}, args...)...)
					return r.stdout == "7"
				})
				r := n.apply(c.manifest, args...)
				n.wantWarnings(r, c.warnings...)
				n.wantReplicas(c.replicas)
				if c.replicas == 7 {
					n.wantLastApplied("replicas", false)
					n.settled()
					n.unchangedBy("a second unchanged apply", func() { n.apply(c.manifest, args...) })
				}
			})
		}
	}
}

func TestRow12RequiresAnApplierAndAnAutoscaler(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	n.wantReplicas(3)
	n.autoscale("7")
	n.kubectl("delete", "deployment", "web")
	r := n.must(n.run(deployment("3", "app:1"), "create", "-f", "-", "-o", "jsonpath={.spec.replicas}"))
	if r.stdout != "3" {
		t.Errorf("kubectl create: got %s replicas, want 3", r.stdout)
	}
}
