package guard_test

import (
	"strings"
	"testing"
)

func TestTheGuardFollowsTheMode(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	for sentence, c := range map[string]struct {
		namespace, object, want string
	}{
		"a namespace without the annotation":                       {"", "", "3"},
		"a namespace in mode off":                                  {"off", "", "3"},
		"a namespace in mode warn":                                 {"warn", "", "3"},
		"a namespace with an unknown mode":                         {"enfroce", "", "3"},
		"an object in mode enforce, a namespace without one":       {"", "enforce", "7"},
		"an object in mode enforce, its namespace in off":          {"off", "enforce", "7"},
		"an object in mode off, its namespace in enforce":          {"enforce", "off", "3"},
		"an object in mode warn, its namespace in enforce":         {"enforce", "warn", "3"},
		"an object with an unknown mode, its namespace in enforce": {"enforce", "yes", "3"},
		"an object with an empty mode, its namespace in enforce":   {"enforce", "empty", "3"},
		"an object and its namespace in mode enforce":              {"enforce", "enforce", "7"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, c.namespace)
			manifest := n.manifest("3", "app:1")
			if c.object != "" {
				manifest = in(strings.TrimSuffix(c.object, "empty"), manifest)
			}
			n.apply(manifest)
			n.scaled()
			if got := n.apply(manifest); got != c.want {
				t.Errorf("replicas: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAWriteThatChangesTheModeUsesTheNewMode(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	n.scaled()
	if got := n.apply(in("off", n.manifest("3", "app:1"))); got != "3" {
		t.Errorf("replicas with mode off: got %s, want 3", got)
	}
	n.eventually("the HPA controller scales to 7", func() bool { return n.field(".spec.replicas") == "7" })
	if got := n.apply(in("enforce", n.manifest("3", "app:1"))); got != "7" {
		t.Errorf("replicas with mode enforce: got %s, want 7", got)
	}
	if got := n.apply(n.manifest("3", "app:1")); got != "7" {
		t.Errorf("replicas without the label, which the manifest drops: got %s, want 7", got)
	}
	n.kubectl("annotate", n.kind, "web", "ownership-handoff.io/mode=off")
	if got := n.apply(n.manifest("3", "app:1")); got != "7" {
		t.Errorf("replicas of an object with the annotation: got %s, want 7", got)
	}
	n.kubectl("annotate", "namespace", n.name, "ownership-handoff.io/mode-", "--overwrite")
	if got := n.apply(n.manifest("3", "app:1")); got != "3" {
		t.Errorf("replicas without a mode: got %s, want 3", got)
	}
}
