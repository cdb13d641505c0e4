package webhook_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/webhook"
)

// fakeStaleCluster is a cluster with stale watches.
type fakeStaleCluster struct {
	*fakeCluster

	since time.Time
}

func (o fakeStaleCluster) Stale() (time.Time, bool) { return o.since, !o.since.IsZero() }

// TestStaleFactsDecideWithAWarning verifies that a pod with stale cluster state decides by the last known owners, with a warning
// on each decision, and that users who have not opted in get no warning.
func TestStaleFactsDecideWithAWarning(t *testing.T) {
	const old = `^handoff: cluster state is 1m4[0-9]s old; autoscalers and modes may have changed since$`
	apply := update(csa, scaledBy7(), applied3())
	off := &fakeCluster{autoscaler: "HorizontalPodAutoscaler/web"}
	for sentence, c := range map[string]struct {
		cluster webhook.Cluster
		request request
		patched bool
		warned  bool
	}{
		"an apply, with current fakeCluster":        {fakeStaleCluster{enforced(), time.Time{}}, apply, true, false},
		"an apply":                                  {fakeStaleCluster{enforced(), time.Now().Add(-100 * time.Second)}, apply, true, true},
		"a write of no consequence":                 {fakeStaleCluster{enforced(), time.Now().Add(-100 * time.Second)}, update(csa, kept7(), kept7()), false, true},
		"an apply in a namespace that is not known": {fakeStaleCluster{off, time.Now().Add(-100 * time.Second)}, apply, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			response := newServer(t, c.cluster).answer(t, c.request.body())
			expect.Equal(t, "a patch", c.patched, response.Patch != nil)
			if got := len(response.Warnings) > 0 && regexp.MustCompile(old).MatchString(response.Warnings[0]); got != c.warned {
				t.Errorf("a warning of its age: want %t, got %s", c.warned, strings.Join(response.Warnings, "\n"))
			}
		})
	}
}

// TestTheIncomingLabelDecides verifies that it overrides the namespace, and that neither the label of the live object nor an
// annotation of the object does. Where handoff acts, a warning says so of an annotation.
func TestTheIncomingLabelDecides(t *testing.T) {
	const (
		leftover = "handoff: annotation ownership-handoff.io/mode has no effect on objects; set the label of that name instead"
		kept     = "handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"
		would    = "handoff: (warn) would keep .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"
		unknown  = "handoff: ownership-handoff.io/mode yes is unknown and counts as warn; write enforce, warn or off"
		empty    = "handoff: ownership-handoff.io/mode is empty and counts as warn; write enforce, warn or off"
		none     = "(no annotation)"
	)
	annotated := func(mode string) deployment { return applied3().with(optin.Annotation, mode) }
	for sentence, c := range map[string]struct {
		namespace      string
		live, incoming deployment
		warnings       []string
		patched        bool
	}{
		"a namespace in enforce":                       {"enforce", scaledBy7(), applied3(), []string{kept, handBack}, true},
		"a namespace in warn":                          {"warn", scaledBy7(), applied3(), []string{would}, false},
		"a namespace in off":                           {"off", scaledBy7(), applied3(), nil, false},
		"a namespace without the annotation":           {none, scaledBy7(), applied3(), nil, false},
		"a namespace with an unknown mode":             {"yes", scaledBy7(), applied3(), []string{unknown, would}, false},
		"a namespace with an empty mode":               {" \t", scaledBy7(), applied3(), []string{empty, would}, false},
		"a label below an unknown mode":                {"yes", scaledBy7(), applied3().inMode("enforce"), []string{kept, handBack}, true},
		"a label in a namespace without the mode":      {none, scaledBy7(), applied3().inMode("enforce"), []string{kept, handBack}, true},
		"off, in a namespace in enforce":               {"enforce", scaledBy7(), annotated("off"), []string{leftover, kept, handBack}, true},
		"enforce, in a namespace in warn":              {"warn", scaledBy7(), annotated("enforce"), []string{leftover, would}, false},
		"enforce, in a namespace in off":               {"off", scaledBy7(), annotated("enforce"), nil, false},
		"off, beside the label enforce":                {"off", scaledBy7(), annotated("off").inMode("enforce"), []string{leftover, kept, handBack}, true},
		"enforce, beside the label off":                {"enforce", scaledBy7(), annotated("enforce").inMode("off"), nil, false},
		"an unknown value, beside an unknown label":    {"enforce", scaledBy7(), annotated("no").inMode("yes"), []string{unknown, leftover, would}, false},
		"only of the live object":                      {"enforce", scaledBy7().with(optin.Annotation, "off"), applied3(), []string{kept, handBack}, true},
		"only the live object has the label enforce":   {"off", scaledBy7().inMode("enforce"), applied3(), nil, false},
		"only the live object has the label off":       {"enforce", scaledBy7().inMode("off"), applied3(), []string{kept, handBack}, true},
		"the label changes from off to enforce":        {"off", scaledBy7().inMode("off"), applied3().inMode("enforce"), []string{kept, handBack}, true},
		"the label changes from enforce to off":        {"enforce", scaledBy7().inMode("enforce"), applied3().inMode("off"), nil, false},
		"the live object has a label, the write warns": {"enforce", scaledBy7().inMode("off"), applied3().inMode("warn"), []string{would}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := enforced()
			if cluster.modes["shop"] = c.namespace; c.namespace == none {
				delete(cluster.modes, "shop")
			}
			s := newServer(t, cluster)
			response := s.answer(t, update(csa, c.live, c.incoming).body())
			expect.Equal(t, "warnings", c.warnings, response.Warnings)
			expect.Equal(t, "a patch", c.patched, response.Patch != nil)
			if c.warnings == nil && (s.logged() != "" || len(s.events) > 0) {
				t.Errorf("want no log and no Event, got %v, %s", s.events, s.logged())
			}
		})
	}
}

// TestDryRunsOfTheDoctorAreAnsweredWithTheVersion verifies what kubectl handoff doctor relies on, and that mode doctor is an unknown
// mode everywhere else.
func TestDryRunsOfTheDoctorAreAnsweredWithTheVersion(t *testing.T) {
	const answer, unknown = "handoff: doctor: answered by handoff-webhook v1.2.3",
		"handoff: ownership-handoff.io/mode doctor is unknown and counts as warn; write enforce, warn or off"
	const asking = `{"metadata":{"labels":{"ownership-handoff.io/mode":"doctor"}},"spec":{"replicas":0}}`
	for sentence, c := range map[string]struct {
		object, namespaceMode string
		dryRun                bool
		want                  string
	}{
		"a dry run of an object with the label":            {asking, "enforce", true, answer + ", mode enforce"},
		"a dry run in a namespace that has not opted in":   {asking, "off", true, answer + ", mode off"},
		"a write that is stored":                           {asking, "enforce", false, unknown},
		"a dry run in a namespace with the annotation":     {`{"metadata":{},"spec":{"replicas":0}}`, "doctor", true, unknown},
		"a dry run of an object with another unknown mode": {strings.Replace(asking, "doctor", "doctors", 1), "off", true, strings.Replace(unknown, "doctor", "doctors", 1)},
		"a dry run of an object without a label":           {`{"metadata":{},"spec":{"replicas":0}}`, "enforce", true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, &fakeCluster{modes: map[string]string{"shop": c.namespaceMode}})
			s.Version = "v1.2.3"
			response := s.answer(t, request{
				version: "v1", uid: "review-uid", operation: "CREATE", kind: "Deployment", name: "web", namespace: "shop",
				manager: "kubectl-handoff", object: c.object, oldObject: "null", dryRun: c.dryRun,
			}.body())
			expect.Equal(t, "warnings", c.want, strings.Join(response.Warnings, "\n"))
			expect.Equal(t, "patch", []byte(nil), response.Patch)
		})
	}
}
