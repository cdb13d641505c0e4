package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// guarded returns an incoming deployment as the guard changes it: live replicas, the condition, and an autoscaler's entry.
func guarded(live, incoming deployment, entries ...string) deployment {
	d := incoming
	d.status = guardStatus("replicas=" + incoming.replicas)
	d.replicas, d.entries = live.replicas, slices.Concat(incoming.entries, entries)
	return d
}

// guardStatus is a status to which the guard has added its condition with a message.
func guardStatus(message string) string {
	return `,"status":{"conditions":[{"type":"Available","status":"True"},` +
		`{"type":"ownership-handoff.io/guarded","status":"True","message":` + encode(message) + `}]}`
}

// TestTheGuardDoesNotChangeDecisions verifies that the webhook decides on the object that the guard received.
func TestTheGuardDoesNotChangeDecisions(t *testing.T) {
	alone := &fakeCluster{modes: map[string]string{"shop": "enforce"}}
	scaler := entry("kube-controller-manager", "Update", "", claimsReplicas, "scale")
	unknown := entry("handoff-guard", "Update", "", claimsReplicas, "scale")
	dropped := applied3().with(lastApplied, manifestNone)
	dropped.replicas = "1"
	declared := scaledBy7()
	declared.entries = []string{entry(csa, "Update", early, claimsAppliedBoth, "")}
	for sentence, c := range map[string]struct {
		cluster        *fakeCluster
		by             string
		live, incoming deployment
		entries        []string
		want           string // the stored replicas
	}{
		"row 1":                                {enforced(), csa, scaledBy7(), applied3(), []string{scaler}, "7"},
		"row 1, by an autoscaler not recorded": {enforced(), csa, scaledBy7(), applied3(), []string{unknown}, "7"},
		"row 2":                                {enforced(), csa, scaledBy7(), dropped, []string{scaler}, "7"},
		"row 4":                                {alone, csa, declared, dropped, nil, "7"},
		"the autoscaler was deleted":           {alone, csa, scaledBy7(), applied3(), []string{scaler}, "3"},
		"the guard lists another applier":      {enforced(), "my-operator", scaledBy7(), applied3(), []string{scaler}, "3"},
		"replicas 0":                           {alone, csa, scaledBy7(), replicasOf(applied3(), "0"), []string{scaler}, "0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.incoming.status = `,"status":{"conditions":[{"type":"Available","status":"True"}]}`
			plain := (update(c.by, c.live, c.incoming))
			behind := (update(c.by, c.live, guarded(c.live, c.incoming, c.entries...)))
			without, with := newServer(t, c.cluster).answer(t, plain.body()), newServer(t, c.cluster).answer(t, behind.body())
			stored := decode(t, patchedBy(t, behind.object, with.Patch))
			if diff := cmp.Diff(decode(t, patchedBy(t, plain.object, without.Patch)), stored); diff != "" {
				t.Errorf("the object (-without +with the guard):\n%s", diff)
			}
			if got := encode(at(stored, []string{"spec", "replicas"})); got != c.want {
				t.Errorf("replicas: got %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(without.Warnings, with.Warnings); diff != "" {
				t.Errorf("the warnings (-without +with the guard):\n%s", diff)
			}
			if diff := cmp.Diff(without.AuditAnnotations, with.AuditAnnotations); diff != "" {
				t.Errorf("the audit annotations (-without +with the guard):\n%s", diff)
			}
		})
	}
}

func replicasOf(d deployment, replicas string) deployment {
	d.replicas = replicas
	return d
}

func TestOnlyTheGuardsOwnChangeIsUndone(t *testing.T) {
	for sentence, c := range map[string]struct {
		mode, message, kind, incoming, stored string
		patched                               bool
	}{
		"the guard's change":             {"enforce", "replicas=3", "Deployment", "7", "", true},
		"mode warn":                      {"warn", "replicas=3", "Deployment", "7", "", false},
		"a condition of the live object": {"enforce", "replicas=3", "Deployment", "7", "replicas=3", false},
		"a condition that was replaced":  {"enforce", "replicas=3", "Deployment", "7", "replicas=4", false},
		"a kind that it does not cover":  {"enforce", "replicas=3", "DaemonSet", "7", "", false},
		"an empty message":               {"enforce", "", "Deployment", "7", "", false},
		"other text":                     {"enforce", "3", "Deployment", "7", "", false},
		"a negative number":              {"enforce", "replicas=-3", "Deployment", "7", "", false},
		"a number with leading zeros":    {"enforce", "replicas=007", "Deployment", "7", "", false},
		"not a number":                   {"enforce", `replicas={"a":1}`, "Deployment", "7", "", false},
		"too large a number":             {"enforce", "replicas=2147483648", "Deployment", "7", "", false},
		"an object without replicas":     {"enforce", "replicas=3", "Deployment", "", "", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &fakeCluster{modes: map[string]string{"shop": c.mode}}
			live, incoming := scaledBy7(), replicasOf(applied3(), c.incoming)
			incoming.status = guardStatus(c.message)
			if c.stored != "" {
				live.status = guardStatus(c.stored)
			}
			r := update(csa, live, incoming)
			r.kind = c.kind
			response := newServer(t, cluster).answer(t, r.body())
			if (response.Patch != nil) != c.patched || len(response.Warnings) > 0 {
				t.Errorf("a patch: want %t, got %s, warnings %q", c.patched, response.Patch, response.Warnings)
			}
		})
	}
}

// Where no guard is installed, the condition was written by the client. As anywhere else, the API server does not store it.
func TestAClientsOwnConditionChangesNothingWithoutTheGuard(t *testing.T) {
	for installed, want := range map[bool]string{true: "3", false: "7"} {
		s := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}})
		s.GuardMissing = func() bool { return !installed }
		incoming := replicasOf(applied3(), "7")
		incoming.status = guardStatus("replicas=3")
		r := update("my-operator", scaledBy7(), incoming)
		stored := decode(t, patchedBy(t, r.object, s.answer(t, r.body()).Patch))
		if got := encode(at(stored, []string{"spec", "replicas"})); got != want {
			t.Errorf("guard installed: %t: got replicas %s, want %s", installed, got, want)
		}
	}
}

// Another webhook can change replicas after the guard: they are not the guard's, but its entry is.
func TestReplicasThatAnotherWebhookHasSetStay(t *testing.T) {
	scaler := entry("kube-controller-manager", "Update", "", claimsReplicas, "scale")
	incoming := guarded(scaledBy7(), applied3(), scaler)
	incoming.replicas = "5"
	r := update("my-operator", scaledBy7(), incoming)
	response := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}}).answer(t, r.body())
	stored := decode(t, patchedBy(t, r.object, response.Patch))
	if got := encode(at(stored, []string{"spec", "replicas"})); got != "5" {
		t.Errorf("replicas: got %s, want 5", got)
	}
	if strings.Contains(encode(stored), "kube-controller-manager") {
		t.Errorf("want no entry of the guard, got %s", encode(stored))
	}
}

// The guard adds one entry. A user can store any number of entries that look like it.
func TestOnlyTheGuardsOwnEntryIsRemoved(t *testing.T) {
	others := make([]string, 100)
	for i := range others {
		others[i] = entry(fmt.Sprintf("scaler-%d", i), "Apply", early, claimsReplicas, "scale")
	}
	live, incoming := scaledBy7(), applied3()
	live.entries, incoming.entries = slices.Concat(live.entries, others), slices.Concat(incoming.entries, others)
	r := update("my-operator", live, guarded(live, incoming, entry("handoff-guard", "Update", "", claimsReplicas, "scale")))
	response := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}}).answer(t, r.body())
	if got := strings.Count(string(response.Patch), `"remove","path":"/metadata/managedFields/`); got != 1 {
		t.Errorf("want the guard's entry alone removed, got %d removals: %s", got, response.Patch)
	}
}
