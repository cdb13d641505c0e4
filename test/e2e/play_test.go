package e2e_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/objects"
)

// stage is the namespace in which steps are played, and the applier of its manifests.
type stage struct {
	*namespace
	applier

	last *string // the manifest that the applier applied last
}

// step is a write, and what is checked after it.
type step struct {
	do     func(stage) result
	checks []func(stage, result)
}

// scenario is a sequence of steps for the object web of a kind, by default a Deployment, in a namespace of a mode, by default enforce.
type scenario struct {
	kind  string
	steps []step
	mode  string
	// ruled reports whether the webhook with testdata/rules.yaml is called as well.
	ruled bool
}

// without is the mode of a namespace without handoff.
const without = "none"

// serverSide returns the arguments of a server-side apply.
func serverSide() []string { return []string{"--server-side", "--force-conflicts"} }

// bothSides are client-side and forced server-side applies.
func bothSides() map[string]applier {
	return map[string]applier{"client-side": {}, "server-side": {args: serverSide()}}
}

// play plays scenarios with kubectl apply, each in its own namespace.
func play(t *testing.T, scenarios map[string]scenario, args ...string) {
	t.Helper()
	for sentence, c := range scenarios {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c.play(t, applier{args: args})
		})
	}
}

// playBy plays scenarios with each applier.
func playBy(t *testing.T, appliers map[string]applier, scenarios map[string]scenario) {
	t.Helper()
	for name, a := range appliers {
		for sentence, c := range scenarios {
			t.Run(sentence+" "+name, func(t *testing.T) {
				t.Parallel()
				c.play(t, a)
			})
		}
	}
}

func (c scenario) play(t *testing.T, a applier) {
	t.Helper()
	s := stage{newNamespace(t, strings.TrimSuffix(cmp.Or(c.mode, "enforce"), without)), a, new(string)}
	if c.kind != "" {
		s.kind = c.kind
	}
	if c.ruled {
		s.withRules()
	}
	for i, each := range c.steps {
		r := each.do(s)
		for _, check := range each.checks {
			check(s, r)
		}
		if s.Failed() {
			s.Fatalf("step %d failed", i+1)
		}
	}
}

// did is a step with any effect.
func did(write func(*namespace)) step {
	return step{do: func(s stage) result {
		s.Helper()
		write(s.namespace)
		return result{}
	}}
}

func applies(manifest string, args ...string) step {
	return step{do: func(s stage) result {
		s.Helper()
		return s.applies(manifest, args...)
	}}
}

// stores is an apply that stores a number of replicas. It reads the response, as a controller may change them soon after.
func stores(replicas, manifest string, args ...string) step {
	return applies(manifest, append(args, "-o", "jsonpath={.spec.replicas}")...).check(func(s stage, r result) {
		s.Helper()
		expect.Equal(s, "stored replicas", replicas, r.Stdout)
	})
}

// writes is a kubectl command that reads a manifest.
func writes(manifest string, args ...string) step {
	return step{do: func(s stage) result { s.Helper(); return s.must(s.run(manifest, append(args, "-f", "-")...)) }}
}

// runs is a kubectl command that succeeds.
func runs(args ...string) step {
	return step{do: func(s stage) result {
		s.Helper()
		return s.kubectl(args...)
	}}
}

// patchedBy is a patch of the object web by a field manager.
func patchedBy(manager, patch string) step {
	return step{do: func(s stage) result {
		s.Helper()
		return s.kubectl("patch", s.kind, "web", "--type=merge", "--field-manager="+manager, "-p", patch)
	}}
}

// scaledBy scales the object web through /scale.
func scaledBy(manager string, replicas int32) step {
	return did(func(n *namespace) { n.Helper(); n.scaleAs(manager, replicas) })
}

// idlesAt creates an HPA that never scales by itself, and scales as it would.
func idlesAt(replicas int32) step {
	return did(func(n *namespace) {
		n.Helper()
		n.must(n.run(idle(n.object().GetAPIVersion(), n.object().GetKind()), "create", "-f", "-"))
		n.scaleAs("kube-controller-manager", replicas)
	})
}

// autoscaledTo also waits until handoff knows the HPA.
func autoscaledTo(replicas int32) step { //nolint:unparam // the tests read better with the number
	return idlesAt(replicas).check(func(s stage, _ result) { s.Helper(); s.known(true) })
}

// idle returns HorizontalPodAutoscaler/web. Without metrics, its controller leaves any number of replicas within its bounds.
func idle(apiVersion, kind string) string {
	return "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n" +
		"spec: {scaleTargetRef: {apiVersion: " + apiVersion + ", kind: " + kind + ", name: web}, minReplicas: 1, maxReplicas: 20}\n"
}

// check returns the step with another check.
func (p step) check(check func(stage, result)) step {
	p.checks = append(p.checks[:len(p.checks):len(p.checks)], check)
	return p
}

// replicas checks the scale field.
func (p step) replicas(want int64) step {
	return p.check(func(s stage, _ result) { s.Helper(); s.wantReplicas(want) })
}

// value checks the value at a JSONPath.
func (p step) value(path, want string) step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		expect.Equal(s, path, want, s.jsonpath(path))
	})
}

// warns checks all warnings of handoff.
func (p step) warns(want ...string) step {
	return p.check(func(s stage, r result) {
		s.Helper()
		expect.Equal(s, "warnings", want, r.Warnings())
	})
}

// says checks that a warning of handoff contains all parts.
func (p step) says(parts ...string) step {
	return p.check(func(s stage, r result) {
		s.Helper()
		for _, warning := range r.Warnings() {
			if containsAll(warning, parts) {
				return
			}
		}
		s.Errorf("want a warning with %q, got %q", parts, r.Warnings())
	})
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// records checks that last-applied contains a text.
func (p step) records(part string) step {
	return p.recordsIt(part, true)
}

// omits checks that last-applied does not contain a text.
func (p step) omits(part string) step {
	return p.recordsIt(part, false)
}

func (p step) recordsIt(part string, want bool) step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		if text := s.object().GetAnnotations()[ownership.LastAppliedAnnotation]; strings.Contains(text, part) != want {
			s.Errorf("last-applied contains %s: want %v, in %s", part, want, text)
		}
	})
}

// managers checks the managers of the scale field.
func (p step) managers(want ...string) step {
	return p.managedBy(fieldpath.MakePathOrDie("spec", "replicas"), want...)
}

// managedBy checks the managers of a field.
func (p step) managedBy(path fieldpath.Path, want ...string) step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		expect.Equal(s, "managers of "+path.String(), want, objects.FieldManagers(s.object(), path))
	})
}

// twice checks that the same write changes nothing more, or, of an applier that always changes something, that the same holds after it.
func (p step) twice() step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		if !s.replaces {
			s.unchangedBy("the same write again", func() { p.do(s) })
			return
		}
		r := p.do(s)
		for _, check := range p.checks {
			check(s, r)
		}
	})
}

// unchanged is a write that changes nothing.
func unchanged(p step) step {
	return step{checks: p.checks, do: func(s stage) (r result) {
		s.Helper()
		s.unchangedBy("the write", func() { r = p.do(s) })
		return r
	}}
}

// keptReplicas returns the warnings of an apply that would have changed the replicas of an autoscaler.
func keptReplicas(count int, owner string) []string {
	kept := []string{"kept .spec.replicas=" + strconv.Itoa(count) + ", owned by " + owner + "; remove it from the manifest", handBack}
	if !strings.HasPrefix(owner, "HorizontalPodAutoscaler/") && !strings.HasPrefix(owner, "ScaledObject/") {
		return kept[:1] // no object, or one whose deletion deletes pods
	}
	return kept
}
