package soak_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// books know after every write what each field must be, by a model of their own.
type books struct {
	faults *history

	mutex   sync.Mutex
	intents map[string]intent
	skipped map[string]string // by the ID of a write: why the webhook has skipped it, according to its warning
	objects map[string]state
	// timedOut are objects with a write that may have been stored although its client got no answer.
	timedOut map[string]bool
	totals
}

// totals are what the books count.
type totals struct {
	Writes, Applies, Kept, Lost, LostBehindGuard, Refused, Undecided, Skipped int
	// Unanswered are undecided writes that no fault explains: the machine was too busy for an answer within two seconds.
	Unanswered int
	// Unseen are writes without a line in an audit log, as of an API server that was killed.
	Unseen, Unavailable int
	Reasons             map[string]int
	Violations          []string
	byFault             map[string]*faultTotals
	latencies           map[string][]time.Duration // of applies, by "calm" or "fault"
}

// faultTotals are what the books count while a fault lasts, until the cluster has recovered.
type faultTotals struct{ Applies, Kept, Undecided, Lost, Unavailable int }

// state is what is known of an object.
type state struct {
	stored

	id       string
	managers map[string][]string // by field; nil if unknown
	trail    []string            // the last writes, for a report
}

const (
	replicasField = "f:replicas"
	limitField    = "f:revisionHistoryLimit"
)

func newBooks(faults *history) *books {
	return &books{
		faults: faults, intents: map[string]intent{}, skipped: map[string]string{}, objects: map[string]state{}, timedOut: map[string]bool{},
		totals: totals{Reasons: map[string]int{}, byFault: map[string]*faultTotals{}, latencies: map[string][]time.Duration{}},
	}
}

// expect announces an apply.
func (b *books) expect(in intent) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.intents[in.id] = in
}

// warned records the warnings of an apply.
func (b *books) warned(id string, warnings []string) {
	reason := skippedIn(warnings)
	if reason == "" {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.skipped[id] = reason
	b.Skipped++
	b.Reasons["skipped: "+reason]++
}

// answered records the error of a client. Refusals are in the audit log as well.
func (b *books) answered(err error) {
	if err == nil {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.Unavailable++
	if reason := reasonOf(err.Error()); reason != "" {
		b.Reasons["client: "+reason]++
		return
	}
	b.violate("a client was refused: %v", err)
}

// reasonOf returns why an API server did not answer a write, or an empty text if it refused it.
func reasonOf(message string) string {
	for _, reason := range []string{
		"connection refused", "connection reset", "EOF", "etcdserver", "timeout", "deadline exceeded", "too many requests", "net/http",
		"server is currently unable", "shutting down", "object has been modified", "i/o timeout", "Unauthorized", "TLS handshake",
		"not yet ready", "server rejected our request", "storage is (re)initializing", "another operation (install/upgrade/rollback) is in progress",
		"broken pipe", "no kind \"", "http2:",
	} {
		if strings.Contains(message, reason) {
			return reason
		}
	}
	return ""
}

// violate records what must never happen. The caller has the lock.
func (b *books) violate(format string, args ...any) {
	if len(b.Violations) < 100 {
		b.Violations = append(b.Violations, fmt.Sprintf(format, args...))
	}
}

func (b *books) recordAll(events []event) {
	for _, e := range events {
		b.record(e)
	}
}

// record judges a write. Those of an object come in the order of its resourceVersions.
func (b *books) record(e event) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	active := b.faults.during(e.RequestReceivedTimestamp.Time, e.StageTimestamp.Time)
	if e.ResponseStatus.Code >= 300 || e.ResponseObject.Kind == "" {
		b.refused(e, active)
		return
	}
	b.Writes++
	before, known := b.objects[e.object()]
	after := next(before, e)
	after.trail = slices.Concat(before.trail[max(0, len(before.trail)-trailLength):], []string{after.trace(e)})
	b.objects[e.object()] = after
	in, announced := b.intents[after.id]
	if !announced || after.id == before.id && known {
		return // not an apply
	}
	delete(b.intents, after.id)
	if !known || e.Verb == "create" || after.Metadata.UID != before.Metadata.UID {
		return
	}
	if after.Metadata.Generation > before.Metadata.Generation+1 || !in.isSentBy(e.manager()) {
		b.Unseen++
		if !active.may(noAPI) && !b.timedOut[e.object()] {
			b.violate("%s: a write has no line in the audit log:\n\t%s", e.object(), strings.Join(after.trail, "\n\t"))
		}
		b.timedOut[e.object()] = false
		return
	}
	b.judge(judgment{write: e, intent: in, before: before, after: after, active: active, skipped: b.skipped[in.id]})
	delete(b.skipped, in.id)
}

// isSentBy reports whether a field manager is that of the applier.
func (in intent) isSentBy(manager string) bool {
	return manager == map[string]string{clientSide: "kubectl-client-side-apply", serverSide: "kubectl", helm: "helm"}[in.workload.way]
}

// refused records a write that an API server refused.
func (b *books) refused(e event, active faults) {
	message, code := e.ResponseStatus.Message, e.ResponseStatus.Code
	b.timedOut[e.object()] = b.timedOut[e.object()] || code >= http.StatusInternalServerError || code == 0
	switch {
	case strings.Contains(message, "ownership-handoff"), strings.Contains(message, "webhook"),
		code == http.StatusInternalServerError && reasonOf(message) == "": // a patch that does not apply
		b.Refused++
		b.violate("%s: refused in handoff's name: %s", e.object(), message)
	case code == http.StatusNotFound, code == http.StatusConflict: // Helm asks first; a controller or a patch repeats its write
	case reasonOf(message) != "":
		b.tally(active, func(t *faultTotals) { t.Unavailable++ })
		if !active.may(noAPI) {
			b.Reasons["API server: "+reasonOf(message)]++
		}
	default:
		b.violate("%s: refused during %s: %d %s", e.object(), active.name(), code, message)
	}
}

func (b *books) tally(active faults, count func(*faultTotals)) {
	t := b.byFault[active.name()]
	if t == nil {
		t = &faultTotals{}
		b.byFault[active.name()] = t
	}
	count(t)
}

// next returns the state after a write.
func next(before state, e event) state {
	if e.ResponseObject.Kind == "Scale" {
		after := before
		after.managers = maps.Clone(before.managers)
		switch {
		case before.managers == nil:
		case e.ResponseObject.Spec.Replicas == before.Spec.Replicas: // if another manager set them, they now have none
			after.managers[replicasField] = slices.DeleteFunc(slices.Clone(before.managers[replicasField]), func(name string) bool { return name != e.manager() })
		default:
			after.Spec.Replicas = e.ResponseObject.Spec.Replicas
			after.Metadata.Generation++
			if len(before.managers[replicasField]) > 0 { // otherwise /scale leaves no entry
				after.managers[replicasField] = []string{e.manager()}
			}
		}
		return after
	}
	after := state{stored: e.ResponseObject, id: e.ResponseObject.Metadata.Annotations[idAnnotation]}
	after.managers = map[string][]string{
		replicasField: managersOf(after.Metadata.ManagedFields, replicasField), limitField: managersOf(after.Metadata.ManagedFields, limitField),
	}
	return after
}

// trailLength is how many earlier writes of an object a violation names.
const trailLength = 5

// trace describes a write in one line.
func (s state) trace(e event) string {
	var said []string
	for key, value := range e.Annotations {
		if name, ok := strings.CutPrefix(key, "webhook.ownership-handoff.io/"); ok {
			said = append(said, name+": "+value)
		} else if strings.HasPrefix(key, "failed-open.") {
			said = append(said, key+": "+value)
		}
	}
	slices.Sort(said)
	return fmt.Sprintf("%s %d %s %s %s: write %s, replicas %d of %q %q", e.StageTimestamp.Format("15:04:05.000"), e.version(), e.manager(),
		e.Verb, e.ResponseObject.Kind, s.id, s.Spec.Replicas, s.managers[replicasField], said)
}

// managersOf returns the managers of a field of the spec, sorted.
func managersOf(entries []metav1.ManagedFieldsEntry, field string) (managers []string) {
	for _, e := range entries {
		if e.Subresource != "status" && e.FieldsV1 != nil && strings.Contains(e.FieldsV1.GetRawString(), `"`+field+`":`) {
			managers = append(managers, e.Manager)
		}
	}
	slices.Sort(managers)
	return managers
}

// judgment is an apply, with the object before and after it.
type judgment struct {
	write  event
	intent intent

	before, after state
	active        faults
	skipped       string // why the webhook has skipped the write
}

// wantReplicas returns the replicas after the apply, or two numbers if either is right.
func (j judgment) wantReplicas() []int {
	owners := j.before.managers[replicasField]
	kept, declared := []int{j.before.Spec.Replicas}, []int{j.intent.replicas}
	switch {
	case j.intent.workload.way == clientSide && !j.sends("replicas"): // someone else has scaled since kubectl has computed its patch
		return kept
	case j.intent.workload.mode != "enforce" && j.intent.replicas == 0:
		return nil
	case j.intent.workload.mode != "enforce":
		return declared
	case j.intent.replicas == 0, j.intent.workload.owner == autoscaled:
		return kept
	case j.intent.workload.owner == churned:
		return append(kept, declared...)
	case j.intent.workload.owner != scaled || !slices.Contains(owners, scalerManager):
		return declared
	case len(owners) > 1: // an apply that nobody decided claims them as well
		return append(kept, declared...)
	}
	return kept
}

// sends reports whether the request contains a field of the spec.
func (j judgment) sends(field string) bool {
	_, ok := j.write.RequestObject.Spec[field]
	return ok
}

// wantLimit returns revisionHistoryLimit after the apply.
func (j judgment) wantLimit() int {
	if j.intent.workload.mode == "enforce" && slices.Contains(j.before.managers[limitField], "tuner") {
		return j.before.Spec.RevisionHistoryLimit
	}
	return manifestLimit
}

// wantPaused returns paused after the apply: the manifest sets false or nothing, so only a person's value can be kept.
func (j judgment) wantPaused() bool { return !j.intent.paused && j.before.Spec.Paused }

// judge compares what an apply has stored with what it must. The caller has the lock.
func (b *books) judge(j judgment) {
	b.Applies++
	undecided := j.write.undecided() || j.skipped != ""
	b.tally(j.active, func(t *faultTotals) {
		t.Applies++
		if undecided {
			t.Undecided++
		}
	})
	b.time(j)
	if undecided {
		b.undecided(j)
	}
	want := j.wantReplicas()
	if want != nil && b.faults.guardIsNew(j.write.StageTimestamp.Time) {
		want = append(want, j.before.Spec.Replicas) // the webhook does not yet know that it must undo what the guard does
	}
	if want != nil && !slices.Contains(want, j.after.Spec.Replicas) {
		b.lost(j, undecided, want)
		return
	}
	if undecided || j.intent.workload.mode != "enforce" {
		return
	}
	if j.after.Spec.Replicas == j.before.Spec.Replicas && j.intent.replicas != j.before.Spec.Replicas {
		b.Kept++
		b.tally(j.active, func(t *faultTotals) { t.Kept++ })
		b.judgeRecords(j)
	}
	if got, want := j.after.Spec.RevisionHistoryLimit, j.wantLimit(); got != want {
		b.violate("%v: revisionHistoryLimit is %d, want %d", j, got, want)
	}
	if got, want := j.after.Spec.Paused, j.wantPaused(); got != want {
		b.violate("%v: paused is %v, want %v", j, got, want)
	}
}

// judgeRecords verifies managedFields and last-applied after replicas were kept.
func (b *books) judgeRecords(j judgment) {
	if j.intent.workload.owner != autoscaled && j.intent.workload.owner != scaled || len(j.before.managers[replicasField]) > 1 {
		return // or an apply that nobody decided has set them, too
	}
	want := slices.DeleteFunc(slices.Clone(j.before.managers[replicasField]), func(manager string) bool {
		return j.intent.replicas == 0 && j.intent.workload.way == serverSide && manager == j.write.manager() // the applier's own entry
	})
	if got := j.after.managers[replicasField]; !slices.Equal(got, want) {
		b.violate("%v: the managers of the kept replicas are %q, want %q", j, got, want)
	}
	if last := j.after.Metadata.Annotations[corev1.LastAppliedConfigAnnotation]; strings.Contains(last, `"replicas"`) {
		b.violate("%v: last-applied contains the kept replicas", j)
	}
}

func (b *books) undecided(j judgment) {
	b.Undecided++
	if j.skipped == "" {
		b.Reasons["not answered: "+j.active.name()]++
	}
	switch {
	case j.active.may(undecidedWrites):
	case j.skipped != "":
		b.violate("%v: undecided, which this fault does not allow: %s", j, j.skipped)
	default:
		b.Unanswered++
	}
}

// lost records replicas that an apply has changed. Where the write was undecided and said so, only the guard must have kept them.
func (b *books) lost(j judgment, undecided bool, want []int) {
	if undecided && j.after.Spec.Replicas == j.before.Spec.Replicas {
		return // the guard has kept what the manifest may set
	}
	b.tally(j.active, func(t *faultTotals) { t.Lost++ })
	b.Lost++
	guarded := b.faults.guarded(j.write.RequestReceivedTimestamp.Time, j.write.StageTimestamp.Time)
	switch {
	case !undecided:
		b.violate("%v: replicas are %d, want %v, and nobody said that the write is undecided", j, j.after.Spec.Replicas, want)
	case guarded && j.guardKeeps():
		b.LostBehindGuard++
		b.violate("%v: replicas are %d, want %v, in spite of the guard", j, j.after.Spec.Replicas, want)
	}
}

// guardKeeps reports whether the guard keeps replicas: those that the manifest drops, or that an autoscaler has written last.
func (j judgment) guardKeeps() bool {
	owners := j.before.managers[replicasField]
	return j.intent.replicas == 0 || slices.Equal(owners, []string{scalerManager}) || slices.Equal(owners, []string{"kube-controller-manager"})
}

func (b *books) time(j judgment) {
	phase := "fault"
	if len(j.active) == 0 {
		phase = "calm"
	}
	b.latencies[phase] = append(b.latencies[phase], j.write.StageTimestamp.Sub(j.write.RequestReceivedTimestamp.Time))
}

func (j judgment) String() string {
	replicas := "no replicas"
	if j.intent.replicas > 0 {
		replicas = fmt.Sprintf("replicas %d", j.intent.replicas)
	}
	return fmt.Sprintf("write %s of %s, %s %s (%s, %s), %s over %d of %q, during %s, after\n\t%s\n", j.intent.id, j.write.object(), j.write.manager(), j.write.Verb,
		j.intent.workload.way, j.intent.workload.mode, replicas, j.before.Spec.Replicas, j.before.managers[replicasField], j.active.name(), strings.Join(j.after.trail, "\n\t"))
}
