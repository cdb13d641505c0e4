package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/document"
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
			live, incoming := scaledBy7(), applied3()
			incoming.replicas, incoming.status = c.incoming, guardStatus(c.message)
			if c.stored != "" {
				live.status = guardStatus(c.stored)
			}
			r := update(csa, live, incoming)
			if c.incoming == "" {
				r = update("my-operator", live, incoming) // no row decides on its write
			}
			r.kind = c.kind
			response := newServer(t, cluster).answer(t, r.body())
			if (response.Patch != nil) != c.patched || len(response.Warnings) > 0 {
				t.Errorf("a patch: want %t, got %s, warnings %q", c.patched, response.Patch, response.Warnings)
			}
		})
	}
}

// Another webhook can change replicas after the guard: they are not the guard's, but its entry is.
func TestReplicasThatAnotherWebhookHasSetStay(t *testing.T) {
	scaler := entry("kube-controller-manager", "Update", "", managesReplicas, "scale")
	incoming := guarded(scaledBy7(), applied3(), scaler)
	incoming.replicas = "5"
	r := update("my-operator", scaledBy7(), incoming)
	response := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}}).answer(t, r.body())
	stored := unmarshal(t, patchedBy(t, r.object, response.Patch))
	if got, _ := document.Get(stored, pathOf("spec", "replicas")); !sameJSON(got, 5) {
		t.Errorf("replicas: got %v, want 5", got)
	}
	if strings.Contains(encode(stored), "kube-controller-manager") {
		t.Errorf("want no entry of the guard, got %s", encode(stored))
	}
}

// The guard adds one entry. A user can store any number of entries that look like it.
func TestOnlyTheGuardsOwnEntryIsRemoved(t *testing.T) {
	others := make([]string, 100)
	for i := range others {
		others[i] = entry(fmt.Sprintf("scaler-%d", i), "Apply", early, managesReplicas, "scale")
	}
	live, incoming := scaledBy7(), applied3()
	live.entries, incoming.entries = slices.Concat(live.entries, others), slices.Concat(incoming.entries, others)
	r := update("my-operator", live, guarded(live, incoming, entry("handoff-guard", "Update", "", managesReplicas, "scale")))
	response := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}}).answer(t, r.body())
	expect.Equal(t, "entries of the guard removed", 1, strings.Count(string(response.Patch), `"remove","path":"/metadata/managedFields/`))
}
