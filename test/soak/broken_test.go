package soak_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// brokenBuild is a webhook that is broken on purpose: some text in a source file is replaced.
type brokenBuild struct {
	file, from, to string
	// want is part of a violation that the books must report.
	want string
}

// brokenBuilds are keyed by what the webhook does wrong. Some do it for a quarter of the reviews only.
func brokenBuilds() map[string]brokenBuild {
	const answered = "	answer = out.response(r.uid, patch)\n"
	const operations = "slices.Concat(unguard, out.decided.Operations)"
	quarter := func(statement string) string { return answered + "	if r.uid[0] < '4' {\n" + statement + "\n	}\n" }
	without := func(path string) string {
		return "slices.DeleteFunc(" + operations + `, func(o merge.Operation) bool { return o.Path == "` + path + `" })`
	}
	const undo = `, func() (undo []merge.Operation) {
		if id, ok := r.write.Live.Annotation("soak/write").String(); ok && r.uid[0] < '4' {
			undo = []merge.Operation{{Op: "replace", Path: "/metadata/annotations/soak~1write", Value: id}}
		}
		return undo
	}())`
	return map[string]brokenBuild{
		"it does not keep replicas that the manifest drops": {
			"merge/table.go", `Keep, "{field}, no longer in the manifest"`, `Through, "{field}, no longer in the manifest"`,
			"nobody said that the write is undecided",
		},
		"it drops a patch without a word":      {"webhook/handler.go", answered, quarter("answer.Patch, answer.PatchType = nil, nil"), "nobody said that the write is undecided"},
		"it skips writes":                      {"webhook/handler.go", answered, quarter("return h.failOpen(&r, errPanic)"), "which this fault does not allow"},
		"it refuses writes":                    {"webhook/handler.go", answered, quarter("answer.Allowed = false"), "refused in handoff's name"},
		"it sends a patch that does not apply": {"webhook/evaluate.go", operations, operations[:len(operations)-1] + `, []merge.Operation{{Op: "remove", Path: "/spec/no"}})`, "refused in handoff's name"},
		"it undoes what an apply sets":         {"webhook/evaluate.go", operations, operations[:len(operations)-1] + undo, "is not stored, but write"},
		"it leaves managedFields":              {"webhook/evaluate.go", operations, without("/metadata/managedFields"), ".spec.replicas: want the managers"},
		"it leaves last-applied": {
			"webhook/evaluate.go", operations, without("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"),
			".spec.replicas in last-applied: want",
		},
		"it does not keep fields of rules": {"merge/table.go", "controlled    = []ownership.Owner{ownership.Autoscaler, ownership.Controller}", "controlled    = []ownership.Owner{ownership.Autoscaler}", ".spec.revisionHistoryLimit: want"},
	}
}

// catchBrokenBuilds verifies that the books report what each of the first broken builds does wrong.
func (s *stage) catchBrokenBuilds(number int) {
	all := brokenBuilds()
	for _, sentence := range slices.Sorted(maps.Keys(all))[:min(number, len(all))] {
		s.runBroken(all[sentence], nil)
		caught := false
		r := s.play(func(_ context.Context, r *report) {
			for deadline := time.Now().Add(patience); !caught && time.Now().Before(deadline); time.Sleep(time.Second) {
				caught = r.books.has(all[sentence].want)
			}
		})
		if !caught {
			s.Errorf("%s: the books do not report %q, only %q", sentence, all[sentence].want, r.Violations)
		}
	}
}

// catchDuringFaults verifies that the books report during each fault what a build does wrong that recovers from all of them.
func (s *stage) catchDuringFaults(all faults) {
	broken, undoes := brokenBuilds()["it leaves managedFields"], brokenBuilds()["it undoes what an apply sets"]
	broken.to = strings.Replace(broken.to, broken.from, undoes.to, 1)
	s.runBroken(broken, all)
	r := s.play(func(ctx context.Context, r *report) {
		for _, f := range all {
			s.playTogether(ctx, r, faults{f})
			if f.may == unknownGuard {
				wait(ctx, newGuard)
			}
		}
	})
	for _, f := range all { // managers are not compared while the guard is new
		want := map[bool]string{false: broken.want, true: undoes.want}[f.may == unknownGuard]
		if !r.books.has("during "+f.name+", after", want) {
			s.Errorf("%s: the books do not report %q", f.name, want)
		}
	}
}

// catchBrokenGuard verifies that the books report what a guard without bindings does not keep.
func (s *stage) catchBrokenGuard() {
	s.must(s.setGuard(s.Context(), true))
	s.kubectl("", "delete", "mutatingadmissionpolicybindings", "--all")
	killed := slices.DeleteFunc(catalog(), func(f *fault) bool { return f.name != "all webhook pods killed" })
	r := s.play(func(ctx context.Context, r *report) { s.playTogether(ctx, r, killed) })
	if !r.books.has("in spite of the guard") {
		s.Errorf("a guard without bindings: the books report only %q", r.Violations)
	}
	s.must(s.setGuard(s.Context(), false))
}

// runBroken replaces all pods by those of a broken build, also the pods that faults start.
func (s *stage) runBroken(broken brokenBuild, all faults) {
	s.mistake = broken
	s.buildWebhooks(all)
	s.binary = s.build(map[string][]string{})
	for _, p := range s.pods {
		s.must(p.kill())
		s.must(p.start(s.Context()))
	}
}

// has reports whether there is a violation that contains some texts.
func (b *books) has(texts ...string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.ContainsFunc(b.Violations, func(v string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(v, text) })
	})
}
