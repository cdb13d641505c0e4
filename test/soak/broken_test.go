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
	return map[string]brokenBuild{
		"it does not keep replicas that the manifest drops": {
			"merge/table.go", `Keep, "{field}, no longer in the manifest"`, `Through, "{field}, no longer in the manifest"`,
			"nobody said that the write is undecided",
		},
		"it drops a patch without a word":      {"webhook/handler.go", answered, quarter("answer.Patch, answer.PatchType = nil, nil"), "nobody said that the write is undecided"},
		"it skips writes":                      {"webhook/handler.go", answered, quarter("return h.failOpen(&r, errPanic)"), "which this fault does not allow"},
		"it refuses writes":                    {"webhook/handler.go", answered, quarter("answer.Allowed = false"), "refused in handoff's name"},
		"it sends a patch that does not apply": {"webhook/evaluate.go", operations, operations[:len(operations)-1] + `, []merge.Operation{{Op: "remove", Path: "/spec/no"}})`, "refused in handoff's name"},
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
		broken := all[sentence]
		s.binary = s.build(broken.file, []string{broken.from, broken.to})
		for _, p := range s.pods {
			s.must(p.kill())
			s.must(p.start(s.Context()))
		}
		caught := false
		r := s.play(func(_ context.Context, r *report) {
			for deadline := time.Now().Add(patience); !caught && time.Now().Before(deadline); time.Sleep(time.Second) {
				caught = r.books.has(broken.want)
			}
		})
		if !caught {
			s.Errorf("%s: the books do not report %q, only %q", sentence, broken.want, r.Violations)
		}
	}
}

// has reports whether there is a violation that contains a text.
func (b *books) has(text string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return slices.ContainsFunc(b.Violations, func(v string) bool { return strings.Contains(v, text) })
}
