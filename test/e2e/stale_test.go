package e2e_test

import (
	"strings"
	"testing"
)

// strategy returns the manifest of a StatefulSet.
func strategy(own string) string {
	if own != "" {
		own = "\n  " + own
	}
	return strings.Replace(workload("apps/v1", "StatefulSet", "", "app:1"), "\n  serviceName: web", own, 1)
}

const (
	onDelete = "updateStrategy: {type: OnDelete}"
	zero     = "updateStrategy: {rollingUpdate: {partition: 0}}"
	only     = "only allowed for updateStrategy 'RollingUpdate'"
)

// clears checks that the default is cleared, with the warnings before that of it.
func (p step) clears(before ...string) step {
	return p.value(".spec.updateStrategy.rollingUpdate", "").
		warns(append(before, "cleared .spec.updateStrategy.rollingUpdate, a default that conflicts with OnDelete; no action needed")...)
}

// ofStatefulSets returns scenarios of a StatefulSet.
func ofStatefulSets(scenarios map[string][]step) map[string]scenario {
	all := map[string]scenario{}
	for sentence, steps := range scenarios {
		all[sentence] = scenario{kind: "statefulset", steps: steps}
	}
	return all
}

func TestRow7ForAllWaysToCreateTheObject(t *testing.T) {
	t.Parallel()
	server := serverSide()
	all := map[string][]step{
		"an applier without last-applied": {
			writes(strategy(""), "create", "--field-manager=helm"),
			runs("patch", "statefulset", "web", "--field-manager=helm", "-p", `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`).clears(),
		},
		"with a kept field": {
			applies(strategy("replicas: 5")), runs("scale", "statefulset", "web", "--replicas=7"),
			applies(strategy(onDelete)).clears(scaled7).replicas(7).managers("kubectl/Update/scale").twice(),
		},
	}
	for name, c := range map[string]struct{ create, apply []string }{
		"from client-side to server-side apply": {[]string{"apply"}, server},
		"from server-side to client-side apply": {append([]string{"apply"}, server...), nil},
		"another manager's server-side apply":   {[]string{"apply", "--server-side", "--field-manager=other"}, server},
		"kubectl create --save-config":          {[]string{"create", "--save-config"}, nil},
		"another applier":                       {[]string{"apply", "--field-manager=argocd-controller"}, nil},
	} {
		all[name] = []step{
			writes(strategy(""), c.create...), applies(strategy(onDelete), c.apply...).clears().twice(), applies(strategy(""), c.apply...),
		}
	}
	play(t, ofStatefulSets(all))
}

func TestRow7DoesNotClearDeclaredFields(t *testing.T) {
	t.Parallel()
	patched := func(partition string) step {
		return runs("patch", "statefulset", "web", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":`+partition+`}}}}`)
	}
	refused := func(args []string, manifest string) step {
		return step{do: func(s stage) result {
			s.Helper()
			r := s.run(manifest, append(args, s.args...)...)
			if r.Err == nil || !strings.Contains(r.Stderr, only) || len(r.Warnings()) > 0 {
				s.Errorf("want only the API server's error, got %v: %s", r.Err, r.Stderr)
			}
			return r
		}}
	}
	last, first := refused([]string{"apply", "-f", "-"}, strategy(onDelete)), applies(strategy(""))
	playBy(t, bothSides(), ofStatefulSets(map[string][]step{
		"the manifest still sets it": {
			applies(strategy(zero)),
			refused([]string{"apply", "-f", "-"}, strategy("updateStrategy: {type: OnDelete, rollingUpdate: {partition: 0}}")),
		},
		"a user has set it":                   {first, patched("2"), last},
		"a user has restored the default":     {first, patched("2"), patched("0"), last},
		"another applier has set it":          {first, writes(strategy(zero), "apply", "--server-side", "--field-manager=other"), last},
		"the object was created imperatively": {writes(strategy(""), "create"), last},
	}))
	imperative := refused([]string{"patch", "statefulset", "web", "-p", `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`}, "")
	play(t, ofStatefulSets(map[string][]step{
		"no manager has set it, but the write is imperative":                    {first, imperative},
		"no manager has set it server-side either, but the write is imperative": {applies(strategy(""), serverSide()...), imperative},
	}))
}

func TestRow7WithoutAStoredWrite(t *testing.T) {
	t.Parallel()
	refused := step{do: func(s stage) result {
		s.Helper()
		r := s.run(strategy(onDelete), "apply", "-f", "-")
		if r.Err == nil || !strings.Contains(r.Stderr, only) {
			s.Errorf("want the API server's error, got %v: %s", r.Err, r.Stderr)
		}
		return r
	}}
	play(t, map[string]scenario{"in mode warn": {kind: "statefulset", mode: "warn", steps: []step{
		applies(strategy("")), refused.warns("(warn) would clear .spec.updateStrategy.rollingUpdate, a default that conflicts with OnDelete"),
	}}})
	diff := step{do: func(s stage) result {
		s.Helper()
		r := s.run(strategy(onDelete), append([]string{"diff", "-f", "-"}, s.args...)...)
		for _, line := range []string{"-    rollingUpdate:\n", "-      partition: 0\n", "-    type: RollingUpdate\n", "+    type: OnDelete\n"} {
			if !strings.Contains(r.Stdout, line) {
				s.Errorf("kubectl diff does not contain %q: %s%s", line, r.Stdout, r.Stderr)
			}
		}
		return r
	}}
	playBy(t, bothSides(), ofStatefulSets(map[string][]step{"in a dry run and kubectl diff": {
		applies(strategy("")), unchanged(untilDryRun(strategy(onDelete), ".spec.updateStrategy", `{"type":"OnDelete"}`)), unchanged(diff),
	}}))
}
