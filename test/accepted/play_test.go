package accepted_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func cloneDeep(o map[string]any) map[string]any { return runtime.DeepCopyJSON(o) }

// script is the record of a sequence, for a replay.
type script struct {
	kind    kind
	server  bool
	creator string
	saved   bool
	scaled  bool // an autoscaler targets the object
	kubectl bool
	first   manifest
	steps   []step
}

// sequence generates and runs a sequence, and returns its script and the findings of its last step. It stops at the first step
// with findings, because the object is wrong afterwards.
func sequence(ctx context.Context, schemas schemas, k kind, seed uint64, index int, count *counts) (script, []finding, error) {
	random := rand.New(rand.NewPCG(seed, uint64(index)))
	s := script{kind: k, server: random.IntN(100) < 20, kubectl: (index+index/len(kinds()))%20 == 7, scaled: k.scaled && random.IntN(100) < 30}
	if random.IntN(100) < 25 {
		s.creator = pick(random, []string{"kubectl-create", "kubectl-create", "provisioner"})
		s.saved = !s.server && s.creator == "kubectl-create" && random.IntN(100) < 50
	}
	st := s.stage(schemas, fmt.Sprintf("s%d", index))
	defer st.delete(context.WithoutCancel(ctx))
	g := &generator{random: random, stage: st}
	s.first = g.first()
	if ok, err := s.begin(ctx, st, count); !ok {
		return s, nil, err
	}
	if s.creator != "" {
		if found, err := s.play(ctx, st, step{manifest: s.first}, count); err != nil || len(found) > 0 {
			return s, found, err
		}
	}
	for range 3 {
		for range 1 + random.IntN(3) {
			if _, err := s.play(ctx, st, g.edit(), count); err != nil {
				return s, nil, err
			}
		}
		if found, err := s.play(ctx, st, step{manifest: g.next()}, count); err != nil || len(found) > 0 {
			return s, found, err
		}
	}
	return s, nil, nil
}

func (s *script) stage(schemas schemas, name string) *stage {
	return &stage{kind: s.kind, name: name, server: s.server, creator: s.creator, saved: s.saved, kubectl: s.kubectl, schemas: schemas}
}

// begin creates the object. It returns false if the API server rejects the object, which ends the sequence.
func (s *script) begin(ctx context.Context, st *stage, count *counts) (bool, error) {
	err := st.create(ctx, s.kind.object(s.first, st.name))
	count.created(s.kind.gvk.Kind, err)
	if err == nil && s.scaled {
		return true, st.target(ctx)
	}
	return err == nil, unexpected(err)
}

// play runs a step, records it, and returns its findings.
func (s *script) play(ctx context.Context, st *stage, e step, count *counts) ([]finding, error) {
	var err error
	switch {
	case e.manifest != nil:
		s.steps = append(s.steps, e)
		o, err := st.apply(ctx, e.manifest)
		if err != nil {
			return nil, err
		}
		count.applied(s.kind.gvk.Kind, o)
		if *exploreFlag {
			return o.accepted(), unexpected(errors.Join(o.refused, o.unusable))
		}
		return o.check(), unexpected(o.refused)
	case e.scales:
		err = st.scale(ctx, e)
	default:
		err = st.edit(ctx, e)
	}
	count.edited(s.kind.gvk.Kind, e, err)
	if err == nil {
		s.steps = append(s.steps, e)
	}
	return nil, nil // a rejected write does not change the object
}

// replay runs a script on another object and returns the findings of its last apply.
func (s *script) replay(ctx context.Context, schemas schemas, name string) []finding {
	again := *s
	again.steps = nil
	st := again.stage(schemas, name)
	defer st.delete(context.WithoutCancel(ctx))
	count := newCounts()
	if ok, err := again.begin(ctx, st, count); !ok || err != nil {
		return nil
	}
	for _, e := range s.steps {
		if found, err := again.play(ctx, st, e, count); err != nil || len(found) > 0 {
			return found
		}
	}
	return nil
}

// smaller removes steps, slots of all manifests and settings of edits that a failure does not require.
func (s script) smaller(ctx context.Context, schemas schemas, class, name string) script {
	tries := 0
	breaks := func(t script) bool {
		tries++
		found := t.replay(ctx, schemas, fmt.Sprintf("%s-%d", name, tries))
		return slices.ContainsFunc(found, func(f finding) bool { return f.class() == class })
	}
	if !breaks(s) {
		return s
	}
	for _, change := range s.reductions() {
		if t := change(s.clone()); breaks(t) {
			s = t
		}
	}
	return s
}

func (s script) clone() script {
	s.first = maps.Clone(s.first)
	s.steps = slices.Clone(s.steps)
	for i := range s.steps {
		s.steps[i].manifest = maps.Clone(s.steps[i].manifest)
		s.steps[i].sets = slices.Clone(s.steps[i].sets)
	}
	return s
}

func (s script) reductions() (all []func(script) script) {
	all = append(all,
		func(t script) script { t.kubectl = false; return t },
		func(t script) script { t.scaled = false; return t },
		func(t script) script { t.creator, t.saved = "", false; return t },
	)
	for i := len(s.steps) - 2; i >= 0; i-- {
		left := len(s.steps) - i // counted from the end, which earlier removals do not change
		all = append(all, func(t script) script {
			if at := len(t.steps) - left; at >= 0 {
				t.steps = slices.Delete(t.steps, at, at+1)
			}
			return t
		})
	}
	for _, slot := range s.kind.slots {
		if slot.required || !s.says(slot.at) {
			continue
		}
		all = append(all, func(t script) script {
			delete(t.first, slot.at)
			for _, e := range t.steps {
				delete(e.manifest, slot.at)
			}
			return t
		})
	}
	return append(all, func(t script) script {
		for i := range t.steps {
			if len(t.steps[i].sets) > 1 {
				t.steps[i].sets = t.steps[i].sets[:1]
			}
		}
		return t
	}, func(t script) script {
		for i := range t.steps {
			if len(t.steps[i].sets) > 1 {
				t.steps[i].sets = t.steps[i].sets[1:]
			}
		}
		return t
	})
}

func (s script) says(at string) bool {
	_, ok := s.first[at]
	return ok || slices.ContainsFunc(s.steps, func(e step) bool { _, ok := e.manifest[at]; return ok })
}

// String returns a readable form of the script.
func (s script) String() string {
	var b strings.Builder
	creator := s.creator
	if creator == "" {
		creator = "apply"
	} else if s.saved {
		creator += " --save-config"
	}
	side := "client-side"
	if s.server {
		side = "server-side"
	}
	fmt.Fprintf(&b, "%s, %s apply, with an HPA: %t, with kubectl: %t\n- create by %s: %s\n", s.kind.gvk.Kind, side, s.scaled, s.kubectl, creator, s.declared(s.first))
	for _, e := range s.steps {
		switch {
		case e.manifest != nil:
			fmt.Fprintf(&b, "- apply: %s\n", s.declared(e.manifest))
		case e.scales:
			fmt.Fprintf(&b, "- %s scales to %d\n", e.by, e.replicas)
		default:
			fmt.Fprintf(&b, "- %s (put: %t) sets", e.by, e.put)
			for _, set := range e.sets {
				fmt.Fprintf(&b, " %s=%s", set.at, text(set.value))
				if set.gone {
					b.WriteString(" (removed)")
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (s script) declared(m manifest) string {
	o := s.kind.object(m, "x")
	meta, _ := o["metadata"].(map[string]any)
	delete(meta, "name")
	delete(meta, "namespace")
	for _, name := range []string{"apiVersion", "kind"} {
		delete(o, name)
	}
	if len(meta) == 0 {
		delete(o, "metadata")
	}
	raw, err := yaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	if len(o) == 0 {
		return "{}"
	}
	return text(o) + "\n    " + strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "\n    ")
}
