package sequences_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/test/ledger"
)

// script is the record of a sequence, for a replay.
type script struct {
	kind    *kind
	scaled  bool // an autoscaler targets the object
	kubectl bool
	steps   []step
}

// play is a sequence that is being played.
type play struct {
	script
	ledger      ledger.Object // of the opted object
	opted, twin *side
	count       *counts
}

func (s script) start(name string, count *counts) *play {
	side := func(role string) *side {
		return &side{kind: s.kind, namespace: s.kind.namespace(role), name: name, kubectl: s.kubectl}
	}
	p := &play{script: s, opted: side(opted), twin: side(twin), count: count, ledger: s.kind.ledger()}
	p.steps = nil
	return p
}

func (p *play) end(ctx context.Context) {
	for _, s := range []*side{p.opted, p.twin} {
		s.delete(ctx)
	}
}

// sequence generates and plays a sequence of 20 to 200 commands, and returns its script and the findings of its last step. It stops at
// the first step with findings. As many sequences have less than 60 commands as have more.
func sequence(ctx context.Context, k *kind, seed uint64, index int, count *counts) (script, []finding, error) {
	random := rand.New(rand.NewPCG(seed, uint64(index)))
	s := script{kind: k, kubectl: *kubectlFlag || (index+index/len(cluster.kinds))%20 == 7, scaled: k.Scaled && random.IntN(100) < 30}
	length := int(20 * math.Pow(10, random.Float64()))
	if s.kubectl {
		length = 20
	}
	p := s.start(fmt.Sprintf("s%d", index), count)
	defer p.end(context.WithoutCancel(ctx))
	g := &generator{random: random, object: p.opted, scales: s.scaled || random.IntN(100) < 20}
	g.appliers = pick(random, [][]string{{apply}, {apply}, {apply}, {serverApply}, {serverApply}, {helmUpgrade}, {apply, serverApply}, {apply, serverApply, helmUpgrade}})
	for range length {
		w := step{verb: remove, by: kubectl}
		switch {
		case p.opted.live == nil:
			w = g.create()
		case g.chance(3):
		case random.IntN(3) == 0:
			w = g.next()
		default:
			w = g.other()
		}
		if found, err := p.step(ctx, w); err != nil || len(found) > 0 {
			return p.script, found, err
		}
	}
	return p.script, nil, nil
}

// step plays and records a step, and returns its findings.
func (p *play) step(ctx context.Context, w step) (found []finding, err error) {
	if p.opted.live == nil && w.verb != create && w.verb != serverApply {
		return nil, nil // a shrunk sequence
	}
	p.steps = append(p.steps, w)
	o := observation{kind: p.kind, step: w}
	if o.before, err = storedOf(p.opted.live); err != nil {
		return nil, err
	}
	if err := p.align(ctx, p.twin); err != nil {
		return nil, err
	}
	merged, err := p.twin.merged(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, each := range []struct {
		side *side
		to   *stored
	}{{p.opted, &o.opted}, {p.twin, &o.twin}} {
		a, err := each.side.do(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.side.namespace, err)
		}
		if *each.to, err = storedOf(each.side.live); err != nil {
			return nil, err
		}
		if each.side == p.opted {
			o.answer = a
		} else {
			o.twinErr, o.twinUnsent = a.err, a.unsent
		}
	}
	if o.decided, o.unlike, err = p.book(w, o); err != nil {
		return nil, err
	}
	found = append(o.check(), o.checkMerge(merged)...)
	p.count.observed(p.kind, o)
	if len(found) > 0 || p.opted.live == nil {
		return found, nil
	}
	if o.before.object == nil && p.kind.Scaled && p.kind.Pod == "" {
		time.Sleep(time.Second) // a server-side apply in the second of the creation counts as the creator's
	}
	if replicas, _ := document.Get(p.opted.live.Object, fieldpath.MakePathOrDie("spec", "replicas")); len(p.steps) == 1 && p.scaled {
		if p.scaled = replicas != nil && replicas != int64(0); p.scaled {
			p.ledger.Scaler.Name = "HorizontalPodAutoscaler/" + p.opted.name
			err = p.opted.target(ctx)
		}
	}
	return nil, err
}

// book enters a step in the ledger, which then learns what is stored. It returns what handoff must decide, and how what it has kept differs
// from what the ledger says.
func (p *play) book(w step, o observation) (decided ledger.Outcomes, unlike []string, err error) {
	next, decided, err := p.ledger.After(w.write(cluster.reader, p.kind))
	switch {
	case err != nil, o.answer.err != nil:
		return decided, nil, err
	case (w.verb == apply || w.verb == serverApply) && (o.answer.unsent || o.twinErr == nil && reflect.DeepEqual(compare(o.before, o.twin), differences{})):
		return nil, nil, nil // it changes nothing, so that the API server does not call handoff
	case p.opted.live == nil:
		p.ledger = next
		return nil, nil, nil
	}
	stored, err := cluster.reader.Read(p.opted.live)
	if err != nil {
		return nil, nil, err
	}
	without := cluster.reader.LeavesOf(o.twin.object)
	var kept []string
	for path, outcome := range decided {
		_, isStored := stored.Values[path]
		if before, _ := p.ledger.Value(path); w.verb == helmUpgrade && reflect.DeepEqual(before, without[path]) {
			continue // not written, so there is no keep, and last-applied, which is not Helm's, stays as it is
		}
		list, _, inList := strings.Cut(path, "[")
		if _, isValue := stored.Values[list].([]any); inList && isValue {
			continue // it has an element twice, so that it is read as one value
		}
		changesType := p.kind.Kind == "Service" && !isStored // the API server clears what the new type does not have, after admission
		if outcome == ledger.Kept && !changesType && !related(o.names("not kept"), path) {
			kept = append(kept, path)
		}
	}
	if len(kept) > 0 {
		slices.Sort(kept)
		unlike = next.Diff(stored, kept...)
	}
	p.ledger = next.Learn(stored)
	return decided, unlike, nil
}

// errNotCopied is returned if an object cannot be copied: the API server has generated what it accepts of nobody else.
var errNotCopied = errors.New("copying")

// align makes an object a copy of the opted one, unless it is.
func (p *play) align(ctx context.Context, s *side) error {
	if p.opted.live == nil {
		return nil
	}
	if err := s.release(p.opted); err != nil {
		return err
	}
	want, err := storedOf(p.opted.live)
	if err != nil {
		return err
	}
	var d differences
	for attempt := range 3 {
		is, err := storedOf(s.live)
		if err != nil {
			return err
		}
		d = compare(want, is)
		if s.live != nil && len(d.values)+len(d.entries)+len(d.base) == 0 && (d.other == "" || attempt == 2) {
			return nil
		}
		if attempt < 2 {
			if err := s.become(ctx, p.opted); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%w: it is different in %v, %v and %v of last-applied", errNotCopied, d.values, d.entries, d.base)
}

// replay plays a script on other objects. It returns the script up to the first step with findings, and these.
func (s script) replay(ctx context.Context, name string, count *counts) (script, []finding, error) {
	p := s.start(name, count)
	defer p.end(context.WithoutCancel(ctx))
	for _, w := range s.steps {
		if found, err := p.step(ctx, w); err != nil || len(found) > 0 {
			return p.script, found, err
		}
	}
	return p.script, nil, nil
}

// shrunk returns the script without steps that a finding does not need.
func (s script) shrunk(ctx context.Context, name, class string) script {
	left := 60
	for size := len(s.steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size < len(s.steps) && left > 0; left-- {
			without := s
			without.steps = slices.Delete(slices.Clone(s.steps), at, at+size)
			played, found, err := without.replay(ctx, fmt.Sprintf("%s-%d", name, left), newCounts())
			if err == nil && slices.ContainsFunc(found, func(f finding) bool { return f.class() == class }) {
				s.steps = played.steps
			} else {
				at += size
			}
		}
	}
	return s
}

// String returns a line for each step. Its places are those of the grammar.
func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, with an HPA: %t, with kubectl: %t\n", s.kind.Kind, s.scaled, s.kubectl)
	for _, w := range s.steps {
		fmt.Fprintf(&b, "- %s\n", short(fmt.Sprintf("%+v", w)))
	}
	return b.String()
}
