package e2e_test

import (
	"strings"
	"testing"
)

// strategy returns the manifest of a StatefulSet.
func strategy(own string) string { return union{kind: "StatefulSet"}.manifest(pods(own, "", "")) }

const (
	onDelete = "updateStrategy: {type: OnDelete}"
	zero     = "updateStrategy: {rollingUpdate: {partition: 0}}"
	only     = "only allowed for updateStrategy 'RollingUpdate'"
)

func newStatefulSets(t *testing.T, mode string) *namespace {
	t.Helper()
	n := newNamespace(t, mode)
	n.kind = "statefulset"
	return n
}

func (n *namespace) wantCleared(r result) {
	n.Helper()
	n.wantWarnings(r, "cleared .spec.updateStrategy.rollingUpdate, a default that conflicts with OnDelete; no action needed")
	if rest, ok := field(n.object(), "spec", "updateStrategy", "rollingUpdate"); ok {
		n.Errorf("still there: %v", rest)
	}
}

func TestRow7ForAllWaysToCreateTheObject(t *testing.T) {
	t.Parallel()
	server := []string{"--server-side", "--force-conflicts"}
	for name, c := range map[string]struct {
		create []string
		apply  []string
	}{
		"from client-side to server-side apply": {[]string{"apply"}, server},
		"from server-side to client-side apply": {append([]string{"apply"}, server...), nil},
		"another manager's server-side apply":   {[]string{"apply", "--server-side", "--field-manager=other"}, server},
		"kubectl create --save-config":          {[]string{"create", "--save-config"}, nil},
		"another applier":                       {[]string{"apply", "--field-manager=argocd-controller"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newStatefulSets(t, "enforce")
			n.must(n.run(strategy(""), append(c.create, "-f", "-")...))
			n.wantCleared(n.apply(strategy(onDelete), c.apply...))
			n.unchangedBy("a second unchanged apply", func() { n.apply(strategy(onDelete), c.apply...) })
			n.apply(strategy(""), c.apply...)
		})
	}
}

func TestRow7WithAnApplierWithoutLastApplied(t *testing.T) {
	t.Parallel()
	n := newStatefulSets(t, "enforce")
	n.must(n.run(strategy(""), "create", "--field-manager=helm", "-f", "-"))
	n.wantCleared(n.kubectl("patch", "statefulset", "web", "--field-manager=helm", "-p", `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`))
}

func TestRow7DoesNotClearDeclaredFields(t *testing.T) {
	t.Parallel()
	patch := func(partition string) func(*namespace) {
		return func(n *namespace) {
			n.kubectl("patch", "statefulset", "web", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":`+partition+`}}}}`)
		}
	}
	for name, c := range map[string]struct {
		before   string
		then     func(*namespace)
		manifest string
	}{
		"the manifest still sets it":                         {strategy(zero), nil, strategy("updateStrategy: {type: OnDelete, rollingUpdate: {partition: 0}}")},
		"a user has set it":                                  {strategy(""), patch("2"), strategy(onDelete)},
		"a user has restored the default":                    {strategy(""), func(n *namespace) { patch("2")(n); patch("0")(n) }, strategy(onDelete)},
		"another applier has set it":                         {strategy(""), func(n *namespace) { n.apply(strategy(zero), "--server-side", "--field-manager=other") }, strategy(onDelete)},
		"the object was created imperatively":                {"", func(n *namespace) { n.must(n.run(strategy(""), "create", "-f", "-")) }, strategy(onDelete)},
		"no manager has set it, but the write is imperative": {strategy(""), nil, ""},
	} {
		for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
			t.Run(name+", "+side+"-side", func(t *testing.T) {
				t.Parallel()
				n := newStatefulSets(t, "enforce")
				if c.before != "" {
					n.apply(c.before, args...)
				}
				if c.then != nil {
					c.then(n)
				}
				r := n.run(c.manifest, append([]string{"apply", "-f", "-"}, args...)...)
				if c.manifest == "" {
					r = n.run("", "patch", "statefulset", "web", "-p", `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`)
				}
				if r.err == nil || !strings.Contains(r.stderr, only) || len(r.warnings()) > 0 {
					t.Errorf("want only the API server's error, got %v: %s", r.err, r.stderr)
				}
			})
		}
	}
}

func TestRow7WithAKeptField(t *testing.T) {
	t.Parallel()
	n := newStatefulSets(t, "enforce")
	n.apply(strategy("replicas: 3"))
	n.kubectl("scale", "statefulset", "web", "--replicas=5")
	r := n.apply(strategy(onDelete))
	if len(r.warnings()) != 2 {
		t.Errorf("warnings: %v", r.warnings())
	}
	n.wantReplicas(5)
	n.wantManagers("kubectl/Update/scale")
	if rest, ok := field(n.object(), "spec", "updateStrategy", "rollingUpdate"); ok {
		t.Errorf("still there: %v", rest)
	}
	n.unchangedBy("a second unchanged apply", func() { n.apply(strategy(onDelete)) })
}

func TestRow7InModeWarnOnlyWarns(t *testing.T) {
	t.Parallel()
	n := newStatefulSets(t, "warn")
	n.apply(strategy(""))
	r := n.run(strategy(onDelete), "apply", "-f", "-")
	if r.err == nil || !strings.Contains(r.stderr, only) {
		t.Errorf("want the API server's error, got %v: %s", r.err, r.stderr)
	}
	n.wantWarnings(r, "(warn) would clear .spec.updateStrategy.rollingUpdate, a default that conflicts with OnDelete")
}

func TestRow7InDryRunsAndKubectlDiff(t *testing.T) {
	t.Parallel()
	for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
		t.Run(side+"-side", func(t *testing.T) {
			t.Parallel()
			n := newStatefulSets(t, "enforce")
			n.apply(strategy(""), args...)
			n.unchangedBy("a dry run and a diff", func() {
				r := n.apply(strategy(onDelete), append([]string{"--dry-run=server", "-o", "jsonpath={.spec.updateStrategy}"}, args...)...)
				if want := `{"type":"OnDelete"}`; r.stdout != want {
					t.Errorf("dry run: got %s, want %s", r.stdout, want)
				}
				r = n.run(strategy(onDelete), append([]string{"diff", "-f", "-"}, args...)...)
				for _, line := range []string{"-    rollingUpdate:\n", "-      partition: 0\n", "-    type: RollingUpdate\n", "+    type: OnDelete\n"} {
					if !strings.Contains(r.stdout, line) {
						t.Errorf("kubectl diff does not contain %q: %s%s", line, r.stdout, r.stderr)
					}
				}
			})
		})
	}
}
