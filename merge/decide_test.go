package merge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// decide decides on a write of a Deployment that an autoscaler targets.
func decide(w ownership.Write, rules ownership.Rules) (merge.Outcome, error) {
	w.Kind, w.Name = appsv1.SchemeGroupVersion.WithKind("Deployment"), "web"
	return merge.Decider{Cluster: exampleCluster{}, Managers: managers, Rules: rules}.Decide(w)
}

// TestAWriteThatOnlyTakesOverEntriesIsNotModified has writes that change nothing but managedFields and the last-applied configuration,
// which then sets the replicas that an autoscaler owns.
func TestAWriteThatOnlyTakesOverEntriesIsNotModified(t *testing.T) {
	const manifest7 = `{"spec":{"image":"a","replicas":7}}`
	olderVersion := func(entry string) string { return strings.Replace(entry, "apps/v1", "apps/v1beta1", 1) }
	for sentence, c := range map[string]struct {
		by             string
		live, incoming []string // the entries beside the autoscaler's
		modified       bool
	}{
		"kubectl migrates to server-side apply": {
			by: "kubectl", live: []string{csaEntry(early, image, count)}, incoming: []string{entry("kubectl", "Apply", late, image, count)},
		},
		"Flux renames the entry of a kubectl command": {
			by: "kustomize-controller", live: []string{entry("kubectl-patch", "Update", early, image, count)},
			incoming: []string{entry("kustomize-controller", "Apply", early, image, count)},
		},
		"kubectl applies in another version than before": {
			by: csa, live: []string{olderVersion(csaEntry(early, image))}, modified: true,
			incoming: []string{csaEntry(late, image, count), olderVersion(entry(csa, "Update", early, image))},
		},
		"kubectl applies, and another manager loses nothing but the last-applied configuration": {
			by: csa, live: []string{strings.Replace(csaEntry(early, image), csa, "kubectl-replace", 1)}, modified: true,
			incoming: []string{entry("kubectl-replace", "Update", early, image), csaEntry(late)},
		},
		"kubectl applies another value, and admission sets it to the live one again": {
			by: csa, live: []string{entry("sizer", "Update", early, count), csaEntry(early, image)}, modified: true,
			incoming: []string{csaEntry(late, image, count)},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			is := `{"image":"a","replicas":7}`
			live := stored{lastApplied: manifestNone, spec: is, entries: append(c.live, hpaEntry())}
			incoming := stored{lastApplied: manifest7, spec: is, entries: append(c.incoming, hpaEntry())}
			outcome, err := decide(writeOf(t, c.by, live, incoming), ownership.Rules{})
			expect.NoError(t, err)
			expect.Equal(t, "modified", c.modified, len(outcome.Operations) > 0)
		})
	}
}

// panicking is a selector that panics.
type panicking struct{ labels.Selector }

func (panicking) Matches(labels.Labels) bool { panic("out of order") }

// TestReplicasAreKeptIfOtherDecisionsPanic lets the rules panic, or the decisions on other fields, by the first step that they count.
func TestReplicasAreKeptIfOtherDecisionsPanic(t *testing.T) {
	live := stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`, entries: []string{csaEntry(early, image), hpaEntry()}}
	incoming := stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}}
	for what, c := range map[string]struct {
		rules ownership.Rules
		meter ownership.Meter
	}{
		"the rules":        {ownership.NewRules(ownership.Rule{Selector: panicking{}}), nil},
		"the other fields": {ownership.Rules{}, func(steps int) bool { return steps == 0 || panicking{}.Matches(nil) }},
	} {
		w := writeOf(t, csa, live, incoming)
		w.Meter = c.meter
		outcome, err := decide(w, c.rules)
		if err != nil || !errors.Is(outcome.Skipped, merge.ErrPanic) {
			t.Errorf("%s: %v: want them skipped because of a panic, got %v", what, err, outcome.Skipped)
		}
		if len(outcome.Changes) != 1 || outcome.Changes[0].Decision.Row != 1 || len(outcome.Operations) == 0 {
			t.Errorf("%s: want the replicas kept, got %+v, %s", what, outcome.Changes, operationsOf(t, outcome.Operations))
		}
	}
}

// decideAsleep decides on an apply to a Deployment whose 7 replicas are those of a sleeper, by a rule that lets a new value of the manifest
// win. Its annotation is that of live.
func decideAsleep(t *testing.T, manifest, replicas string) merge.Outcome {
	t.Helper()
	rule := ownership.Rule{
		Name: "sleeper", Fields: fieldpattern.MustParse(".spec.replicas"), Writers: []string{"sleeper"}, Edit: ownership.EditApply,
	}
	w := writeOf(t, csa,
		stored{lastApplied: manifest, spec: `{"image":"a","replicas":7}`, entries: []string{csaEntry(early, image), entry("sleeper", "Update", early, count)}},
		stored{lastApplied: manifest, spec: `{"image":"a","replicas":` + replicas + `}`, entries: []string{csaEntry(late, image, count)}})
	w.Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	out, err := merge.Decider{Cluster: scaledBy{}, Managers: managers, Rules: ownership.NewRules(rule)}.Decide(w)
	if err != nil || len(out.Changes) != 1 {
		t.Fatalf("%v: want the replicas kept, got %+v", err, out.Changes)
	}
	return out
}

// TestAnEditIsPromisedOnlyIfItIsRecorded has manifests of which the second leaves no room for the annotation that records the value.
func TestAnEditIsPromisedOnlyIfItIsRecorded(t *testing.T) {
	for length, remedy := range map[int]string{1: "a new manifest value wins", 256 << 10: "remove it from the manifest"} {
		manifest := `{"spec":{"image":"` + strings.Repeat("a", length) + `","replicas":3}}`
		if _, _, after := decideAsleep(t, manifest, "3").Changes[0].Text("", ""); !strings.HasSuffix(after, remedy) {
			t.Errorf("a manifest of %d bytes: want the remedy %q, got %q", len(manifest), remedy, after)
		}
	}
}

// A manifest that replaces the object and does not set replicas has not set the API server's default.
func TestADefaultIsNotRecordedAsApplied(t *testing.T) {
	made := operationsOf(t, decideAsleep(t, `{"spec":{"image":"a"}}`, "1").Operations)
	if strings.Contains(strings.Join(made, ""), "applied-values") {
		t.Errorf("want nothing recorded, got %s", made)
	}
}

// TestFactsAboutReplicas has writes of replicas, and what makes the texts of their rows differ.
func TestFactsAboutReplicas(t *testing.T) {
	const hpa = "HorizontalPodAutoscaler/web"
	starts := func(facts merge.Change) merge.Change { facts.Starts = true; return facts }
	none := merge.Change{Reason: "none"} // stands for no change at all
	toOne := merge.Change{ToOne: true, Unrecorded: true}
	for sentence, c := range map[string]struct {
		by      string
		scaler  ownership.Scaler
		live    string // empty if the write creates the object
		applied string // last-applied afterwards
		is      string
		want    merge.Change
	}{
		"an apply creates less than the autoscaler wants":     {csa, ownership.Scaler{Name: hpa, Desired: 7}, "", "3", "3", starts(merge.Change{})},
		"an apply creates as many as the autoscaler wants":    {csa, ownership.Scaler{Name: hpa, Desired: 7}, "", "7", "7", none},
		"an apply creates more than the autoscaler wants":     {csa, ownership.Scaler{Name: hpa, Desired: 7}, "", "9", "9", none},
		"an apply creates 0":                                  {csa, ownership.Scaler{Name: hpa, Desired: 7}, "", "0", "0", none},
		"an apply creates 1":                                  {csa, ownership.Scaler{Name: hpa, Desired: 7}, "", "1", "1", starts(merge.Change{})},
		"Helm 3 creates 1, which it may not set":              {"helm", ownership.Scaler{Name: hpa, Desired: 7}, "", "", "1", starts(merge.Change{Unrecorded: true})},
		"Helm 3 creates 3, which it sets":                     {"helm", ownership.Scaler{Name: hpa, Desired: 7}, "", "", "3", starts(merge.Change{})},
		"kubectl create":                                      {"kubectl", ownership.Scaler{Name: hpa, Desired: 7}, "", "", "3", none},
		"an apply creates, and no autoscaler targets it":      {csa, ownership.Scaler{}, "", "3", "3", none},
		"Helm 3 scales 7 to 1":                                {"helm", ownership.Scaler{}, "7", "", "1", toOne},
		"Helm 3 scales 0 to 1":                                {"helm", ownership.Scaler{}, "0", "", "1", none},
		"Helm 3 scales 7 to 3":                                {"helm", ownership.Scaler{}, "7", "", "3", none},
		"an apply over 0 replicas that switch off the scaler": {csa, ownership.Scaler{Name: hpa, OffAtZero: true}, "0", "3", "3", merge.Change{OffAtZero: true}},
		"an apply over 7 replicas that 0 would switch off":    {csa, ownership.Scaler{Name: hpa, OffAtZero: true}, "7", "3", "3", merge.Change{}},
		"an apply over 0 replicas that the scaler has set":    {csa, ownership.Scaler{Name: "ScaledObject/web"}, "0", "3", "3", merge.Change{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := ownership.Write{Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "web", FieldManager: c.by}
			with := func(applied, replicas string, entries ...string) ownership.Object {
				s := stored{spec: `{"replicas":` + replicas + `}`, entries: entries}
				if applied != "" {
					s.lastApplied = `{"spec":{"replicas":` + applied + `}}`
				}
				o, _ := parsed(t, s.text())
				return o
			}
			if c.live != "" {
				w.Live = with("", c.live)
			}
			w.Incoming = with(c.applied, c.is, entry(c.by, "Update", late, count))
			out, err := merge.Decider{Cluster: scaledBy{scaler: c.scaler}, Managers: managers}.Decide(w)
			expect.NoError(t, err)
			got := none
			if len(out.Changes) > 0 {
				is := out.Changes[0]
				got = merge.Change{Starts: is.Starts, OffAtZero: is.OffAtZero, ToOne: is.ToOne, Unrecorded: is.Unrecorded}
			}
			expect.Equal(t, "facts", c.want, got, cmp.AllowUnexported(merge.Decision{}))
		})
	}
}

// TestAStartMakesNoParent has creations of a custom resource whose replicas are in an optional part.
func TestAStartMakesNoParent(t *testing.T) {
	for spec, want := range map[string]int{`{"pool":{"zone":"a"}}`: 1, `{"pool":null}`: 0, `{"mode":"solo"}`: 0} {
		w := ownership.Write{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, Name: "web", FieldManager: csa}
		w.Incoming, _ = parsed(t, `{"metadata":{"managedFields":[`+csaEntry(late, `"f:mode":{}`)+`]},"spec":`+spec+`}`)
		cluster := scaledBy{scaler: ownership.Scaler{Name: "HorizontalPodAutoscaler/web", Desired: 7}, path: fieldpath.MakePathOrDie("spec", "pool", "size")}
		out, err := merge.Decider{Cluster: cluster, Managers: managers}.Decide(w)
		expect.NoError(t, err)
		expect.Equal(t, "changes of "+spec, want, len(out.Changes))
	}
}

// TestANodeGroupHasAScaler has writes that add or remove the annotations by which the cluster-autoscaler knows a node group.
func TestANodeGroupHasAScaler(t *testing.T) {
	const annotated = `"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size":"1","cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size":"9"`
	for sentence, c := range map[string]struct {
		live, incoming string
		want           int
	}{
		"they stay": {annotated, annotated, 1}, "the write adds them": {"", annotated, 0}, "the write removes them": {annotated, "", 0}, "there are none": {"", "", 0},
	} {
		w := ownership.Write{Kind: schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"}, Name: "web", FieldManager: csa}
		w.Live, _ = parsed(t, `{"metadata":{"annotations":{`+c.live+`}},"spec":{"replicas":7}}`)
		w.Incoming, _ = parsed(t, `{"metadata":{"annotations":{`+c.incoming+`},"managedFields":[`+entry(csa, "Update", late, count)+`]},"spec":{"replicas":3}}`)
		out, err := merge.Decider{Cluster: scaledBy{}, Managers: managers}.Decide(w)
		if err != nil || len(out.Changes) != c.want {
			t.Errorf("%s: want %d kept fields, got %v, %v", sentence, c.want, out.Changes, err)
		}
	}
}

// scaledBy is a cluster with one scaler; the zero value has none.
type scaledBy struct {
	exampleCluster

	scaler ownership.Scaler
	path   fieldpath.Path // the default is .spec.replicas
}

func (s scaledBy) ScalePath(group, version, kind string) fieldpath.Path {
	if s.path == nil {
		return s.exampleCluster.ScalePath(group, version, kind)
	}
	return s.path
}

func (s scaledBy) Scaler(_, _, _, _ string) ownership.Scaler { return s.scaler }
