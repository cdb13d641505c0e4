package webhook_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const liveVersion = "41"

// versioned adds the resource version of the live object.
func versioned(r request) request {
	add := func(text string) string {
		return strings.Replace(text, `"uid":`, `"resourceVersion":"`+liveVersion+`","uid":`, 1)
	}
	r.object, r.oldObject = add(r.object), add(r.oldObject)
	return r
}

// guarded returns an incoming deployment as the guard changes it: live replicas, the condition, and an autoscaler's entry.
func guarded(live, incoming deployment, entries ...string) deployment {
	d := incoming
	d.status = guardStatus("replicas=" + incoming.replicas + ",resourceVersion=" + liveVersion)
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
			plain := versioned(update(c.by, c.live, c.incoming))
			behind := versioned(update(c.by, c.live, guarded(c.live, c.incoming, c.entries...)))
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
	now := ",resourceVersion=" + liveVersion
	for sentence, c := range map[string]struct {
		mode, text, incoming string
		patched              bool
	}{
		"the guard's change":                    {"enforce", "replicas=3" + now, "7", true},
		"mode warn":                             {"warn", "replicas=3" + now, "7", false},
		"stored by an earlier write":            {"enforce", "replicas=3,resourceVersion=40", "7", false},
		"no resource version":                   {"enforce", "replicas=3", "7", false},
		"an empty message":                      {"enforce", "", "7", false},
		"other text":                            {"enforce", "3" + now, "7", false},
		"a negative number":                     {"enforce", "replicas=-3" + now, "7", false},
		"not a number":                          {"enforce", `replicas={"a":1}` + now, "7", false},
		"too large a number":                    {"enforce", "replicas=2147483648" + now, "7", false},
		"the write does change replicas":        {"enforce", "replicas=3" + now, "5", false},
		"an object without replicas":            {"enforce", "replicas=3" + now, "", false},
		"a message of the right form, followed": {"enforce", "replicas=3" + now + "0", "7", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := &fakeCluster{modes: map[string]string{"shop": c.mode}}
			incoming := replicasOf(applied3(), c.incoming)
			incoming.status = guardStatus(c.text)
			response := newServer(t, cluster).answer(t, versioned(update(csa, scaledBy7(), incoming)).body())
			if (response.Patch != nil) != c.patched || len(response.Warnings) > 0 {
				t.Errorf("a patch: want %t, got %s, warnings %q", c.patched, response.Patch, response.Warnings)
			}
		})
	}
	t.Run("live without a resource version", func(t *testing.T) {
		incoming := replicasOf(applied3(), "7")
		incoming.status = guardStatus("replicas=3,resourceVersion=")
		cluster := &fakeCluster{modes: map[string]string{"shop": "enforce"}}
		if response := newServer(t, cluster).answer(t, update(csa, scaledBy7(), incoming).body()); response.Patch != nil {
			t.Errorf("want no patch, got %s", response.Patch)
		}
	})
}
