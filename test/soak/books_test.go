package soak_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ownership-handoff/handoff/test/ledger"
)

// books know after every write what each field must be, by a model of their own.
type books struct {
	faults *history
	reader ledger.Reader

	mutex     sync.Mutex
	workloads map[string]*workload // by namespace and name
	intents   map[string]intent
	skipped   map[string]string // by the ID of a write: why the webhook has skipped it, according to its warning
	objects   map[string]state
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
	// Compared are applies of which all fields, managers and last-applied were compared; of the others, only replicas.
	Compared int
	// AtTheEnd are the objects that were compared at the end.
	AtTheEnd int
	// BehindGuard are undecided applies of which the guard had to keep the replicas.
	BehindGuard int
	// Hindered are faults of a pair that the other one has hindered.
	Hindered   int
	Reasons    map[string]int
	Violations []string
	byFault    map[string]*faultTotals
	answers    map[string][]answer // to applies, by "calm" or "fault"
}

// faultTotals are what the books count while a fault lasts, until the cluster has recovered.
type faultTotals struct {
	Applies, Kept, Undecided, Unanswered, Lost, Unavailable int
	// Unexplained are writes that an API server has not stored, although the fault leaves it what it needs.
	Unexplained int
}

// state is what is known of an object.
type state struct {
	ledger  ledger.Object
	id      string // of the last apply, according to the object
	uid     types.UID
	version int64
	// generation counts the writes of the spec. It was read at the time counted: the response of a write to /scale has none. at is the
	// time of the last write.
	generation  int64
	counted, at time.Time
	// unsure reports whether the managers of the replicas will change in a way that the ledger does not know: see next.
	unsure bool
	trail  []string // the last writes, for a report
}

const replicasPath = ".spec.replicas"

// newLedger returns the ledger of a workload that does not exist yet.
func newLedger(w *workload) ledger.Object {
	o := ledger.New(ledger.Kind{Name: "Deployment", Scale: replicasPath, Defaults: ledger.Values{replicasPath: int64(1)}})
	o.Mode = w.mode
	o.Rules = []ledger.Rule{{Fields: ledger.Pattern(".spec.revisionHistoryLimit"), Writers: []string{"tuner"}}}
	if w.owner == autoscaled {
		o.Scaler.Name = "HorizontalPodAutoscaler/" + w.name
	}
	// The role of a client that may have written before the books were opened.
	known, err := o.Without(ledger.Write{Verb: ledger.Scale, By: scalerManager, As: ledger.Autoscaler, Sets: ledger.Values{replicasPath: int64(1)}})
	if err != nil {
		panic(err) // only a server-side apply is refused
	}
	return known
}

func newBooks(faults *history) *books {
	return &books{
		faults: faults, reader: ledger.NewReader(), workloads: map[string]*workload{}, intents: map[string]intent{}, skipped: map[string]string{}, objects: map[string]state{}, timedOut: map[string]bool{},
		totals: totals{Reasons: map[string]int{}, byFault: map[string]*faultTotals{}, answers: map[string][]answer{}},
	}
}

// expect announces an apply.
func (b *books) expect(in intent) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	in.announced = time.Now()
	b.intents[in.id] = in
	b.workloads[in.workload.namespace+"/"+in.workload.name] = in.workload // of a workload that is new
}

// know announces a workload, so that no write is missed before its first apply.
func (b *books) know(w *workload) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.workloads[w.namespace+"/"+w.name] = w
}

// applied records the warnings of an apply, and whether an API server has stored it.
func (b *books) applied(id string, warnings []string, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if in, ok := b.intents[id]; ok && err == nil { // not yet in the audit log
		in.answered = time.Now()
		b.intents[id] = in
	}
	reason := skippedIn(warnings)
	if reason == "" {
		return
	}
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
func (t *totals) violate(format string, args ...any) {
	if len(t.Violations) < 10_000 {
		t.Violations = append(t.Violations, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "soak: violation:", t.Violations[len(t.Violations)-1])
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
	if e.ResponseStatus.Code >= 300 || e.ResponseObject == nil {
		b.refused(e, active)
		return
	}
	w := b.workloads[e.key()]
	if w == nil {
		return // not yet announced, as at the start of new books
	}
	b.Writes++
	before, known := b.objects[e.key()]
	if !known || before.uid != e.uid() && e.uid() != "" {
		before, known = state{ledger: newLedger(w)}, false
	}
	in, applies := b.intents[e.id()]
	if known && e.version() == before.version {
		if applies {
			b.violate("%s: write %s of %s is not stored: nothing has changed", e.key(), in.id, e.manager())
			delete(b.intents, in.id)
		}
		return // it has stored nothing: the answer is what another write has stored, whose line may come later
	}
	write := b.writeOf(e, in, applies)
	after, err := b.next(before, e, write)
	if err != nil {
		b.violate("%s: %v", e.key(), err)
		return
	}
	b.objects[e.key()] = after
	if !applies {
		b.other(e, write, before, after)
		return
	}
	delete(b.intents, in.id)
	switch {
	case !known || e.Verb == "create":
	case after.generation > before.generation+1:
		b.Unseen++
		if !b.mayLackWrites(e.key(), before, e.StageTimestamp.Time) {
			b.violate("%s: a write has no line in the audit log:\n\t%s", e.key(), strings.Join(after.trail, "\n\t"))
		}
		b.timedOut[e.key()] = false
	default:
		lacks := b.mayLackWrites(e.key(), before, e.StageTimestamp.Time) // of labels, which do not change the generation
		b.judge(judgment{write: e, intent: in, sent: write, before: before, after: after, active: active, lacks: lacks, skipped: b.skipped[in.id]})
		b.timedOut[e.key()] = false
	}
	delete(b.skipped, in.id)
}

// mayLackWrites reports whether the audit log may lack a write of an object since its state was counted.
func (b *books) mayLackWrites(key string, last state, until time.Time) bool {
	return b.faults.mayHave(noAPI, last.counted, until) || b.timedOut[key]
}

// other checks a write that is no apply: it stores what it sets, and no other number of replicas.
func (b *books) other(e event, w ledger.Write, before, after state) {
	if field := unlike(e.RequestObject, e.ResponseObject); field != "" && e.Verb == "patch" && e.id() == "" {
		b.violate("%s: a patch of %s is not stored: %s is another", e.key(), e.manager(), field)
	}
	if w.Verb == ledger.Edit && e.id() == "" && !before.counted.IsZero() && after.replicas() != before.replicas() && !b.mayLackWrites(e.key(), before, e.StageTimestamp.Time) {
		b.violate("%s: a write of %s, which sets no replicas, has changed them:\n\t%s", e.key(), e.manager(), strings.Join(after.trail, "\n\t"))
	}
}

// writeOf returns a write in the terms of the ledger.
func (b *books) writeOf(e event, in intent, applies bool) ledger.Write {
	w := ledger.Write{Verb: ledger.Edit, By: e.manager(), Force: true}
	switch {
	case applies:
		w.Verb = map[string]ledger.Verb{clientSide: ledger.Apply, serverSide: ledger.ServerApply, helm: ledger.Helm}[in.workload.way]
		w.Sets = b.reader.LeavesOf(in.manifest())
	case e.response().GetKind() == "Scale":
		w.Verb, w.Sets = ledger.Scale, ledger.Values{replicasPath: e.replicas()}
		if w.By == scalerManager {
			w.As = ledger.Autoscaler
		}
	}
	return w
}

// refused records a write that an API server refused.
func (b *books) refused(e event, active faults) {
	message, code := e.ResponseStatus.Message, e.ResponseStatus.Code
	b.timedOut[e.key()] = b.timedOut[e.key()] || code >= http.StatusInternalServerError || code == 0
	switch {
	case strings.Contains(message, "ownership-handoff"), strings.Contains(message, "webhook"),
		code == http.StatusInternalServerError && reasonOf(message) == "": // a patch that does not apply
		b.Refused++
		b.violate("%s: refused in handoff's name: %s", e.key(), message)
	case code == http.StatusNotFound, code == http.StatusConflict: // Helm asks first; a controller or a patch repeats its write
	case reasonOf(message) != "":
		b.tally(active, func(t *faultTotals) { t.Unavailable++ })
		if !active.may(noAPI) {
			b.tally(active, func(t *faultTotals) { t.Unexplained++ })
			b.Reasons["API server: "+reasonOf(message)]++
		}
	default:
		b.violate("%s: refused during %s: %d %s", e.key(), active.name(), code, message)
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

// next returns the state after a write: what the API server has stored, and what the ledger knows of the past.
func (b *books) next(before state, e event, w ledger.Write) (state, error) {
	after := before
	var err error
	if after.ledger, err = before.ledger.Without(w); err != nil {
		return after, fmt.Errorf("the ledger refuses a write that the API server has accepted: %w", err)
	}
	after.at, after.version = e.StageTimestamp.Time, e.version()
	if w.Verb == ledger.Scale {
		// After /scale has written the number that an applier has set, the next write leaves nobody as the manager.
		if before.replicas() == e.replicas() {
			after.unsure, after.version = after.unsure || !before.isScaled(), before.version // another write may have the same version
		} else {
			after.generation++
		}
	} else {
		stored, err := b.reader.Read(e.response())
		if err != nil {
			return after, fmt.Errorf("reading the response: %w", err)
		}
		after.ledger = after.ledger.Learn(stored)
		after.unsure = after.unsure && !after.isScaled() && len(after.ledger.Managers(replicasPath)) > 0
		after.id, after.uid, after.generation, after.counted = e.response().GetAnnotations()[idAnnotation], e.uid(), e.response().GetGeneration(), after.at
	}
	after.trail = slices.Concat(before.trail[max(0, len(before.trail)-trailLength):], []string{after.trace(e)})
	return after, nil
}

// trailLength is how many earlier writes of an object a violation names.
const trailLength = 5

// trace describes a write in one line.
func (s state) trace(e event) string {
	return fmt.Sprintf("%s to %s %d %s %s %s: write %s, replicas %d of %v %q", e.RequestReceivedTimestamp.Format("15:04:05.000"),
		e.StageTimestamp.Format("05.000"), e.version(), e.manager(), e.Verb, e.response().GetKind(), s.id, s.replicas(),
		s.ledger.Managers(replicasPath), e.said())
}

// isScaled reports whether all who have set the replicas did so through /scale.
func (s state) isScaled() bool {
	all := s.ledger.Managers(replicasPath)
	return len(all) > 0 && !slices.ContainsFunc(all, func(e ledger.Entry) bool { return e.Subresource != "scale" })
}

func (s state) replicas() int64 {
	value, _ := s.ledger.Value(replicasPath)
	number, _ := value.(int64)
	return number
}

// judgment is an apply, with the object before and after it.
type judgment struct {
	write  event
	intent intent
	sent   ledger.Write

	before, after state
	active        faults
	lacks         bool   // the audit log may lack a write since before
	skipped       string // why the webhook has skipped the write
}

// raced reports whether someone else may have written between kubectl's request for the live object and its patch, so that the patch
// is about another object.
func (j judgment) raced() bool {
	return j.sent.Verb != ledger.ServerApply && j.before.at.After(j.write.RequestReceivedTimestamp.Add(-3*time.Second))
}

// predictions returns what the ledger allows after the apply. Of a workload whose HPA comes and goes, the webhook may know either.
func (j judgment) predictions() (allowed []ledger.Object, err error) {
	for _, scaler := range []string{"", "HorizontalPodAutoscaler/" + j.intent.workload.name} {
		o := j.before.ledger
		if j.intent.workload.owner == churned {
			o.Scaler.Name = scaler
		} else if scaler != "" {
			break
		}
		after, _, err := o.After(j.sent)
		if err != nil {
			return nil, fmt.Errorf("predicting an apply: %w", err)
		}
		allowed = append(allowed, after)
	}
	return allowed, nil
}

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
	if undecided && b.isBehindGuard(j) && j.guardKeeps() {
		b.BehindGuard++
	}
	predicted, err := j.predictions()
	if err != nil {
		b.violate("%v: %v", j, err)
		return
	}
	if j.after.id != j.intent.id {
		b.violate("%v: write %s of %s is not stored, but write %s", j, j.intent.id, j.write.manager(), j.after.id)
		return
	}
	guardIsNew := b.faults.guardIsNew(j.write.StageTimestamp.Time) // the webhook may not know that it must undo what the guard does
	want := []int64{}
	if j.raced() || j.before.unsure || guardIsNew {
		want = append(want, j.before.replicas())
	}
	for _, o := range predicted {
		want = append(want, state{ledger: o}.replicas())
	}
	got := j.after.replicas()
	if j.before.unsure && j.intent.workload.owner != autoscaled && j.intent.replicas > 0 {
		want = append(want, int64(j.intent.replicas))
	}
	if !slices.Contains(want, got) {
		b.lost(j, undecided, want)
		return
	}
	if undecided {
		return
	}
	isKept, isSure := j.resets() && got == j.before.replicas(), !j.raced() && !j.before.unsure && !guardIsNew && !j.lacks &&
		(len(j.active) < 2 || !j.active.has("configuration")) // a pod that starts with a mistake in the configuration has no rules
	if isKept {
		b.Kept++
		b.tally(j.active, func(t *faultTotals) { t.Kept++ })
	}
	switch {
	case isKept && isSure && len(j.write.said()) == 0:
		b.violate("%v: replicas are kept, and nobody said so", j)
	case isSure:
		b.compare(j, predicted)
	}
}

// compare compares everything that is stored with what the ledger allows.
func (b *books) compare(j judgment, predicted []ledger.Object) {
	b.Compared++
	stored, err := b.reader.Read(j.write.response())
	if err != nil {
		b.violate("%v: reading the response: %v", j, err)
		return
	}
	_, hadRecord := j.before.ledger.Value(".metadata.annotations." + record)
	var differences []string
	for _, o := range predicted {
		differences = slices.DeleteFunc(o.Diff(stored), func(line string) bool {
			// The first is of a write of the status, which is not audited, and the other of packs, which the ledger does not know.
			return strings.Contains(line, "deployment.kubernetes.io/revision") || strings.Contains(line, record) && (hadRecord || j.active.has("packs"))
		})
		if len(differences) == 0 {
			return
		}
	}
	b.violate("%v: %s", j, strings.Join(differences, "; "))
}

// record is the annotation in which handoff records what was applied in fields of rules with edit: apply.
const record = "ownership-handoff.io/applied-values"

func (b *books) undecided(j judgment) {
	b.Undecided++
	if j.skipped == "" {
		b.Reasons["not answered: "+j.active.name()]++
	}
	switch {
	case j.active.may(undecidedWrites) && !strings.Contains(j.skipped, "internal error"):
	case j.skipped != "":
		b.violate("%v: undecided, which this fault does not allow: %s", j, j.skipped)
	default:
		b.Unanswered++
		b.tally(j.active, func(t *faultTotals) { t.Unanswered++ })
	}
}

// lost records replicas that an apply has changed. Where the write was undecided and said so, only the guard must have kept them.
func (b *books) lost(j judgment, undecided bool, want []int64) {
	if undecided && j.after.replicas() == j.before.replicas() {
		return // the guard has kept what the manifest may set
	}
	b.tally(j.active, func(t *faultTotals) { t.Lost++ })
	b.Lost++
	switch {
	case !undecided:
		b.violate("%v: replicas are %d, want %v, and nobody said that the write is undecided", j, j.after.replicas(), want)
	case b.isBehindGuard(j) && j.guardKeeps():
		b.LostBehindGuard++
		b.violate("%v: replicas are %d, want %v, in spite of the guard", j, j.after.replicas(), want)
	}
}

// isBehindGuard reports whether the guard was in force during an apply.
func (b *books) isBehindGuard(j judgment) bool {
	return b.faults.guarded(j.write.RequestReceivedTimestamp.Time, j.write.StageTimestamp.Time) && !j.active.may(unknownGuard)
}

// guardKeeps reports whether the guard keeps replicas: those that the manifest drops, or that an autoscaler has written last.
func (j judgment) guardKeeps() bool {
	owners := j.before.ledger.Managers(replicasPath)
	return j.resets() && (j.intent.replicas == 0 || len(owners) == 1 && slices.Contains([]string{scalerManager, "kube-controller-manager"}, owners[0].Manager))
}

// resets reports whether the apply would change the replicas without handoff, in a namespace in mode enforce.
func (j judgment) resets() bool {
	without, err := j.before.ledger.Without(j.sent)
	return err == nil && j.intent.workload.mode == "enforce" && state{ledger: without}.replicas() != j.before.replicas()
}

// finish compares the objects that are stored at the end with what their last writes have stored.
func (b *books) finish(objects []unstructured.Unstructured) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, in := range b.intents {
		if !in.answered.IsZero() && !b.faults.mayHave(noAPI, in.announced, in.answered.Add(time.Second)) {
			b.violate("write %s of %s/%s is in no audit log, although it was answered", in.id, in.workload.namespace, in.workload.name)
		}
	}
	for i := range objects {
		o := &objects[i]
		key := o.GetNamespace() + "/" + o.GetName()
		last, known := b.objects[key]
		switch {
		case !known, last.unsure, last.version > (event{ResponseObject: o.Object}).version(), b.mayLackWrites(key, last, time.Now()): // written since it was read
			continue
		case last.generation != o.GetGeneration():
			b.violate("%s at the end: generation %d, want %d", key, o.GetGeneration(), last.generation)
			continue
		}
		b.AtTheEnd++
		stored, err := b.reader.Read(o)
		if err != nil {
			b.violate("reading %s: %v", o.GetName(), err)
		}
		for _, line := range last.ledger.Diff(stored) {
			if !strings.Contains(line, "deployment.kubernetes.io/revision") {
				b.violate("%s/%s at the end: %s", o.GetNamespace(), o.GetName(), line)
			}
		}
	}
}

func (b *books) time(j judgment) {
	phase := "fault"
	if len(j.active) == 0 {
		phase = "calm"
	}
	at := j.write.RequestReceivedTimestamp.Time
	b.answers[phase] = append(b.answers[phase], answer{at, j.write.StageTimestamp.Sub(at)})
}

func (j judgment) String() string {
	replicas := "no replicas"
	if j.intent.replicas > 0 {
		replicas = fmt.Sprintf("replicas %d", j.intent.replicas)
	}
	return fmt.Sprintf("write %s of %s, %s %s (%s, %s), %s over %d of %v, during %s, after\n\t%s\n", j.intent.id, j.write.key(), j.write.manager(), j.write.Verb,
		j.intent.workload.way, j.intent.workload.mode, replicas, j.before.replicas(), j.before.ledger.Managers(replicasPath), j.active.name(), strings.Join(j.after.trail, "\n\t"))
}
