package guard_test

import "testing"

func TestTheGuardFollowsTheModeAnnotation(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		namespace, object, want string
	}{
		"a namespace without the annotation is left alone":    {"", "", "3"},
		"a namespace that is off is left alone":               {"off", "", "3"},
		"a namespace that warns is left alone":                {"warn", "", "3"},
		"a namespace with an unknown value is left alone":     {"enfroce", "", "3"},
		"an object enforces where nothing does":               {"", "enforce", "7"},
		"an object enforces where its namespace is off":       {"off", "enforce", "7"},
		"an object is off where its namespace enforces":       {"enforce", "off", "3"},
		"an object warns where its namespace enforces":        {"enforce", "warn", "3"},
		"an object's unknown value is no reason to enforce":   {"enforce", "yes", "3"},
		"an object's empty value is no reason to enforce":     {"enforce", " ", "3"},
		"an object agrees with its namespace that it enforce": {"enforce", "enforce", "7"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, c.namespace)
			manifest := n.manifest("3", "app:1")
			if c.object != "" {
				manifest = in(c.object, manifest)
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
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	n.scaled()
	if got := n.apply(in("off", n.manifest("3", "app:1"))); got != "3" {
		t.Errorf("replicas when the object is switched off: got %s, want 3", got)
	}
	n.eventually("the HPA controller scales to 7", func() bool { return n.kubectl("get", n.kind, "web", printReplicas) == "7" })
	if got := n.apply(in("enforce", n.manifest("3", "app:1"))); got != "7" {
		t.Errorf("replicas when the object is switched on: got %s, want 7", got)
	}
	n.kubectl("annotate", "namespace", n.name, "ownership-handoff.io/mode-", "--overwrite")
	if got := n.apply(n.manifest("3", "app:1")); got != "3" {
		t.Errorf("replicas when nothing opts in any more: got %s, want 3", got)
	}
}
