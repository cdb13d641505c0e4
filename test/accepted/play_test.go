package accepted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/document"
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
	schemas              schemas
	opted, twin, history *side
	later                []string
	count                *counts
}

func (s script) start(schemas schemas, name string, count *counts) *play {
	sideIn := func(role string) *side {
		return &side{kind: s.kind, namespace: s.kind.namespace(role), name: name, kubectl: s.kubectl}
	}
	p := &play{script: s, schemas: schemas, opted: sideIn(opted), twin: sideIn(twin), history: sideIn(history), count: count}
	p.steps = nil
	return p
}

func (p *play) end(ctx context.Context) {
	for _, s := range []*side{p.opted, p.twin, p.history} {
		s.delete(ctx)
	}
}

// sequence generates and plays a sequence, and returns its script and the findings of its last step. It stops at the first step
// with findings.
func sequence(ctx context.Context, schemas schemas, k *kind, seed uint64, index int, count *counts) (script, []finding, error) {
	random := rand.New(rand.NewPCG(seed, uint64(index)))
	s := script{kind: k, kubectl: (index+index/len(cluster.kinds))%20 == 7, scaled: k.Scaled && random.IntN(100) < 30}
	p := s.start(schemas, fmt.Sprintf("s%d", index), count)
	defer p.end(context.WithoutCancel(ctx))
	g := &generator{random: random, object: p.opted, scales: s.scaled || random.IntN(100) < 20}
	g.appliers = pick(random, [][]string{{apply}, {apply}, {apply}, {serverApply}, {serverApply}, {helmUpgrade}, {apply, serverApply}, {apply, serverApply, helmUpgrade}})
	if found, err := p.step(ctx, g.create()); err != nil || len(found) > 0 || p.opted.live == nil {
		return p.script, found, err
	}
	for range 3 {
		for range 1 + random.IntN(3) {
			if found, err := p.step(ctx, g.other()); err != nil || len(found) > 0 {
				return p.script, found, err
			}
		}
		if found, err := p.step(ctx, g.next()); err != nil || len(found) > 0 {
			return p.script, found, err
		}
	}
	return p.script, nil, nil
}

// step plays and records a step, and returns its findings.
func (p *play) step(ctx context.Context, w step) (found []finding, err error) {
	p.steps = append(p.steps, w)
	o := observation{schemas: p.schemas, kind: p.kind, step: w, scaled: p.scaled, later: p.later}
	if o.before, err = storedOf(p.opted.live); err != nil {
		return nil, err
	}
	if err := p.align(ctx, p.twin); err != nil {
		return nil, err
	}
	var unopted [2]answer
	for i, s := range []*side{p.opted, p.twin, p.history} {
		a, err := s.do(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.namespace, err)
		}
		if i == 0 {
			o.answer = a
		} else {
			unopted[i-1] = a
		}
	}
	o.twinErr, o.historyErr = unopted[0].err, unopted[1].err
	for at, s := range map[*stored]*side{&o.opted: p.opted, &o.twin: p.twin, &o.history: p.history} {
		if *at, err = storedOf(s.live); err != nil {
			return nil, err
		}
	}
	found = o.check()
	p.count.observed(p.kind, o)
	if len(found) > 0 || p.opted.live == nil {
		return found, nil
	}
	if replicas, _ := document.Get(p.opted.live.Object, fieldpath.MakePathOrDie("spec", "replicas")); len(p.steps) == 1 && p.scaled {
		if p.scaled = replicas != nil && replicas != int64(0); p.scaled {
			err = p.opted.target(ctx)
		}
	}
	if p.later = slices.Concat(p.later, o.named, o.cleared); err == nil && o.diverged() {
		p.later = nil
		return nil, p.align(ctx, p.history)
	}
	return nil, err
}

// errNotCopied is returned if an object cannot be copied: the API server has generated what it accepts of nobody else.
var errNotCopied = errors.New("copying")

// align makes an object a copy of the opted one, unless it is.
func (p *play) align(ctx context.Context, s *side) error {
	if p.opted.live == nil {
		return nil
	}
	want, err := storedOf(p.opted.live)
	if err != nil {
		return err
	}
	for range 2 {
		is, err := storedOf(s.live)
		if err != nil {
			return err
		}
		d := p.schemas.compare(want, is)
		if s.live != nil && len(d.values)+len(d.entries)+len(d.base) == 0 && d.other == "" {
			return nil
		}
		if err := s.become(ctx, p.opted); err != nil {
			return err
		}
	}
	is, err := storedOf(s.live)
	if d := p.schemas.compare(want, is); err == nil && len(d.values)+len(d.entries)+len(d.base) > 0 {
		return fmt.Errorf("%w: it is different in %v, %v and %v of last-applied", errNotCopied, d.values, d.entries, d.base)
	}
	return err
}

// replay plays a script on other objects and returns the findings of its last step.
func (s script) replay(ctx context.Context, schemas schemas, name string, count *counts) ([]finding, error) {
	p := s.start(schemas, name, count)
	defer p.end(context.WithoutCancel(ctx))
	for _, w := range s.steps {
		if found, err := p.step(ctx, w); err != nil || len(found) > 0 || p.opted.live == nil {
			return found, err
		}
	}
	return nil, nil
}

// String returns a line for each step.
func (s script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, with an HPA: %t, with kubectl: %t\n", s.kind.Kind, s.scaled, s.kubectl)
	for _, w := range s.steps {
		fmt.Fprintf(&b, "- %s by %s", w.verb, w.by)
		for name, set := range map[string]bool{" --force-conflicts": w.force && w.verb == serverApply, " --save-config": w.saved && w.verb != create} {
			if set {
				b.WriteString(name)
			}
		}
		if w.version != "" {
			b.WriteString(" in " + w.version)
		}
		if w.verb == scale {
			fmt.Fprintf(&b, " to %d", w.replicas)
		}
		for _, set := range w.sets {
			if set.gone {
				fmt.Fprintf(&b, " remove %s", set.at)
			} else {
				fmt.Fprintf(&b, " %s=%s", set.at, text(set.value))
			}
		}
		if w.manifest != nil {
			b.WriteString(": " + s.declared(w))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// declared returns what a manifest sets beside the base of the kind.
func (s script) declared(w step) string {
	k := *s.kind
	k.Base = nil
	o := k.object(w, "x", "x")
	meta, _ := o["metadata"].(map[string]any)
	delete(meta, "name")
	delete(meta, "namespace")
	for _, name := range []string{"apiVersion", "kind"} {
		delete(o, name)
	}
	if len(meta) == 0 {
		delete(o, "metadata")
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return short(string(raw))
}
