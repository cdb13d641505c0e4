package webhook_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/webhook"
)

// scenario is a write as an API server could send it, and what has to become of it.
type scenario struct {
	cluster *fakeCluster
	request request
	// writer is for whom the write speaks.
	writer ownership.Writer
	mode   string
}

const generated = 9000

// TestGeneratedReviewsSatisfyTheProperty generates writes: who owns what in live, who writes, what their manifest says, and
// what they change.
func TestGeneratedReviewsSatisfyTheProperty(t *testing.T) {
	patches, rows := 0, map[string]int{}
	for seed := range uint64(generated) {
		c := generate(seeded(seed))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := newServer(t, c.cluster)
			body := []byte(c.request.body())
			response := checkResponse(t, s, body)
			if failedOpen(response) {
				t.Errorf("it is a valid review, got %q", response.Warnings)
			}
			for row := range response.AuditAnnotations {
				rows[row]++
			}
			if response.Patch != nil && (c.mode != "enforce" || c.writer != ownership.Applier) {
				t.Errorf("no patch is expected in mode %q for the writer %s, got %s", c.mode, c.writer, response.Patch)
			}
			if c.mode == "enforce" && c.writer == ownership.Applier && c.cluster.autoscaler != "" {
				scale := []string{"spec", "replicas"}
				want := at(decode(t, c.request.oldObject), scale)
				if got := at(decode(t, patchedBy(t, c.request.object, response.Patch)), scale); want != got {
					t.Errorf("an applier has changed what an autoscaler owns: %v to %v", want, got)
				}
			}
			if response.Patch == nil {
				return
			}
			patches++
			again := checkResponse(t, newServer(t, c.cluster), resend(t, body, response))
			if again.Patch != nil {
				t.Errorf("sent again, it is patched again:\n%s\nafter\n%s", again.Patch, response.Patch)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\nlive %s\nincoming %s", seed, c.request.manager, c.request.oldObject, c.request.object)
		}
	}
	t.Logf("%d patches, decisions by row: %v", patches, rows)
	if patches < generated/20 {
		t.Errorf("only %d of %d writes were patched: that proves little", patches, generated)
	}
	for _, row := range []string{"keep-autoscaled", "keep-autoscaled-removed", "keep-imperative", "keep-replicas-removed", "keep-autoscaled-null", "warn-autoscaled"} {
		if rows[row] < 20 {
			t.Errorf("%s was decided %d times: that proves little", row, rows[row])
		}
	}
}

// party is a manager and how it writes.
type party struct {
	manager, operation, subresource string
	writer                          ownership.Writer
	annotates                       bool // records its manifest in the last-applied annotation
	releases                        bool // records the Helm release in an annotation
}

func parties() []party {
	return []party{
		{csa, "Update", "", ownership.Applier, true, false},
		{"argocd-controller", "Update", "", ownership.Applier, true, false},
		{"helm", "Update", "", ownership.Applier, false, true},
		{"ci", "Update", "", ownership.Applier, true, false},
		{"OpenAPI-Generator", "Update", "", ownership.Applier, true, false},
		{"terraform-provider-helm_v3.0.2_x5", "Update", "", ownership.Applier, false, true},
		{"kubectl", "Apply", "", ownership.Applier, false, false},
		{"kustomize-controller", "Apply", "", ownership.Applier, false, false},
		{"kubectl-edit", "Update", "", ownership.ImperativeWriter, false, false},
		{"kubectl-replace", "Update", "", ownership.ImperativeWriter, true, false},
		{"kubectl-patch", "Update", "", ownership.ImperativeWriter, false, false},
		{"my-operator", "Update", "", ownership.OtherWriter, false, false},
		{"kube-controller-manager", "Update", "scale", ownership.OtherWriter, false, false},
		{"kubectl", "Update", "scale", ownership.ImperativeWriter, false, false},
		{"keda", "Update", "scale", ownership.OtherWriter, false, false},
		{"sleeper", "Apply", "", ownership.OtherWriter, false, false},
		{"ownership-handoff", "Update", "", ownership.OtherWriter, false, false},
	}
}

var (
	replicas = fieldpath.MakePathOrDie("spec", "replicas")
	template = fieldpath.MakePathOrDie("spec", "template")
	claim    = fieldpath.MakePathOrDie("metadata", "annotations", lastApplied)
	release  = fieldpath.MakePathOrDie("metadata", "annotations", "meta.helm.sh/release-name")
)

// state is an object and who claims what of it.
type state struct {
	replicas, image int
	manifest        string // "" for none
	claims          map[party]*fieldpath.Set
	times           map[party]string
}

func (s state) deployment(mode string) deployment {
	d := deployment{replicas: strconv.Itoa(s.replicas), image: fmt.Sprintf("app:%d", s.image)}
	if s.manifest != "" {
		d = d.with(lastApplied, s.manifest)
	}
	if mode != "" {
		d = d.with(modeAnnotation, mode)
	}
	var entries []ownership.Entry
	for _, p := range slices.SortedFunc(maps.Keys(s.claims), func(a, b party) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		if s.claims[p].Empty() {
			continue
		}
		fields, err := s.claims[p].ToJSON()
		if err != nil {
			panic(err)
		}
		at := s.times[p]
		if p.subresource != "" && p.manager == "kube-controller-manager" {
			at = ""
		}
		parsed, err := ownership.ParseEntries([]byte("[" + entry(p.manager, p.operation, at, string(fields), p.subresource) + "]"))
		if err != nil {
			panic(err)
		}
		entries = append(entries, parsed...)
	}
	slices.SortFunc(entries, ownership.CompareEntries)
	for _, e := range entries {
		d.entries = append(d.entries, string(e.Text))
	}
	return d
}

// take makes fields of an object a party's own, as a write that changes their values does.
func (s state) take(by party, at string, fields ...fieldpath.Path) {
	for p, set := range s.claims {
		if p != by {
			s.claims[p] = set.RecursiveDifference(fieldpath.NewSet(fields...))
		}
	}
	s.agree(by, at, fields...)
}

// agree makes a party claim fields beside others.
func (s state) agree(by party, at string, fields ...fieldpath.Path) {
	if s.claims[by] == nil {
		s.claims[by] = fieldpath.NewSet()
	}
	s.claims[by] = s.claims[by].Union(fieldpath.NewSet(fields...))
	s.times[by] = at
}

// seeded returns numbers that are the same in every run.
func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret is made of them
}

func generate(random *rand.Rand) scenario {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	all := parties()
	live := state{
		replicas: random.IntN(12), image: random.IntN(2),
		manifest: pick([]string{"", manifest3, manifestNone, `{"spec":{"replicas":null}}`, `{ "spec" : { "a" : 1 , "replicas" : 5 } }`}),
		claims:   map[party]*fieldpath.Set{}, times: map[party]string{},
	}
	for range random.IntN(4) {
		p := all[random.IntN(len(all))]
		fields := []fieldpath.Path{replicas}
		if p.subresource == "" && random.IntN(2) == 0 {
			fields = [][]fieldpath.Path{{template}, {template, replicas}}[random.IntN(2)]
		}
		if random.IntN(2) == 0 {
			live.take(p, early, fields...)
		} else {
			live.agree(p, early, fields...)
		}
	}
	sender := all[random.IntN(len(all)-6)] // the last ones do not write the object itself
	if sender.annotates && live.manifest != "" {
		live.agree(sender, early, claim)
	}
	if sender.releases {
		live.agree(sender, early, release)
	}
	incoming := live.writtenBy(sender, random)
	c := scenario{cluster: &fakeCluster{modes: map[string]string{}}, writer: sender.writer, mode: pick([]string{"enforce", "enforce", "enforce", "warn", "off", ""})}
	if random.IntN(2) == 0 {
		c.cluster.autoscaler = "HorizontalPodAutoscaler/web"
	}
	onObject := ""
	if c.mode != "" {
		c.cluster.modes["shop"] = c.mode
		if random.IntN(4) == 0 {
			onObject, c.cluster.modes["shop"] = c.mode, "off"
		}
	}
	c.request = update(sender.manager, live.deployment(onObject), incoming.deployment(onObject))
	c.request.dryRun = random.IntN(4) == 0
	return c
}

// writtenBy is what a write of an sender makes of the object, as the API server hands it to the webhook.
func (s state) writtenBy(sender party, random *rand.Rand) state {
	s.claims, s.times = maps.Clone(s.claims), maps.Clone(s.times)
	at := []string{early, late}[random.IntN(2)]
	s.agree(sender, at, template)
	if random.IntN(2) == 0 {
		s.image++
		s.take(sender, at, template)
	}
	count := s.replicas
	if random.IntN(3) > 0 {
		count = random.IntN(12)
	}
	says := random.IntN(3) // sets it, lacks it, says null
	if sender.writer == ownership.Applier && says > 0 {
		count = 1 // the API server's default
		if random.IntN(2) == 0 {
			count = s.replicas // nobody had it, or kubectl left it
		}
	}
	switch {
	case sender.operation == "Apply" && says > 0:
		s.claims[sender] = s.claims[sender].Difference(fieldpath.NewSet(replicas))
		if count != s.replicas { // no manager owns the default
			for p, set := range s.claims {
				s.claims[p] = set.Difference(fieldpath.NewSet(replicas))
			}
		}
	case count != s.replicas:
		s.take(sender, at, replicas)
	case sender.operation == "Apply":
		s.agree(sender, at, replicas)
	}
	s.replicas = count
	if sender.annotates {
		s.manifest = []string{fmt.Sprintf(`{"spec":{"replicas":%d,"template":{}}}`, count), manifestNone, `{"spec":{"template":{},"replicas":null}}`}[says]
		s.agree(sender, at, claim)
	}
	return s
}

// TestRecordedReviewsSatisfyTheProperty is about what a real API server has sent: see test/record.
func TestRecordedReviewsSatisfyTheProperty(t *testing.T) {
	for name, body := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			for _, cluster := range []webhook.Cluster{enforcedEverywhere(), &everywhere{}} {
				response := checkResponse(t, newServer(t, cluster), body)
				if failedOpen(response) {
					t.Errorf("it is a valid review, got %q", response.Warnings)
				}
				if response.Patch == nil {
					continue
				}
				if again := checkResponse(t, newServer(t, cluster), resend(t, body, response)); again.Patch != nil {
					t.Errorf("sent again, it is patched again:\n%s\nafter\n%s", again.Patch, response.Patch)
				}
			}
		})
	}
}
