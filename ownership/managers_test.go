package ownership_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

var managers = ownership.Managers{
	Autoscalers: []string{"keda", "proportional-*"},
	Appliers:    []string{"kubectl-client-side-apply", "helm", "pulumi-*", "keda"},
	Imperative:  []string{"kubectl", "kubectl-*", "helm"},
}

func TestInvalidManagerPatternsAreNames(t *testing.T) {
	odd := ruled(ownership.Managers{Appliers: []string{"[", "a/*"}})
	for manager, want := range map[string]bool{"[": true, "x": false, "a/b": true, "a/b/c": false} {
		expect.Equal(t, manager, want, odd.IsApplier(ownership.Entry{Manager: manager, Operation: "Update"}))
	}
}

func TestSender(t *testing.T) {
	type sender struct {
		Writer             ownership.Writer
		Manager, Operation string
		ServerSide         bool
	}
	update := func(manager, at, fields string) string { return entry(manager, "Update", at, fields, "") }
	apply := func(manager, at, fields string) string { return entry(manager, "Apply", at, fields, "") }
	for sentence, c := range map[string]struct {
		fieldManager   string
		live, incoming []string
		want           sender
	}{
		"a field manager that nothing records": {
			"helm", nil, nil, sender{ownership.Applier, "helm", "Update", false},
		},
		"a field manager with an updated entry": {
			"kubectl-edit", []string{update("kubectl-edit", early, ownsImage), update("helm", early, ownsReplicas)},
			[]string{update("helm", early, `{}`), update("kubectl-edit", late, ownsBoth)},
			sender{ownership.ImperativeWriter, "kubectl-edit", "Update", false},
		},
		"a field manager goes before an entry that moved": {
			"helm", []string{update("kubectl-edit", early, ownsImage)},
			[]string{update("kubectl-edit", late, ownsImage)}, sender{ownership.Applier, "helm", "Update", false},
		},
		"a field manager that has only ever applied applies now": {
			"kubectl", []string{apply("kubectl", early, ownsImage)},
			[]string{apply("kubectl", early, ownsImage)}, sender{ownership.Applier, "kubectl", "Apply", true},
		},
		"a field manager that has only ever updated updates now": {
			"kubectl", []string{update("kubectl", early, ownsImage)},
			[]string{update("kubectl", early, ownsImage)}, sender{ownership.ImperativeWriter, "kubectl", "Update", false},
		},
		"no field manager, and a write by which the oldest entries were joined": {
			"", []string{update("a", early, ownsImage), update("b", early, ownsImage), update("helm", early, ownsBoth)},
			[]string{update("ancient-changes", early, ownsImage), update("helm", late, ownsBoth)}, sender{ownership.Applier, "helm", "Update", false},
		},
		"entries that were joined are no applier's, even with its annotation": {
			"ancient-changes", nil, []string{update("ancient-changes", early, `{"f:metadata":{"f:annotations":{"f:`+ownership.LastAppliedAnnotation+`":{}}}}`)},
			sender{ownership.OtherWriter, "ancient-changes", "Update", false},
		},
		"of both operations, the apply moved": {
			"kubectl", []string{apply("kubectl", early, ownsImage), update("kubectl", early, ownsReplicas)},
			[]string{apply("kubectl", late, ownsImage), update("kubectl", early, ownsReplicas)},
			sender{ownership.Applier, "kubectl", "Apply", true},
		},
		"of both operations, the update moved": {
			"kubectl", []string{apply("kubectl", early, ownsBoth), update("kubectl", early, ownsImage)},
			[]string{apply("kubectl", early, ownsImage), update("kubectl", late, ownsBoth)},
			sender{ownership.ImperativeWriter, "kubectl", "Update", false},
		},
		"of both operations, neither moved": {
			"kubectl", []string{apply("kubectl", early, ownsImage), update("kubectl", early, ownsReplicas)},
			[]string{apply("kubectl", early, ownsImage), update("kubectl", early, ownsReplicas)},
			sender{ownership.ImperativeWriter, "kubectl", "Update", false},
		},
		"no field manager: the entry with a new time": {
			"", []string{update("helm", early, ownsImage), update("other", early, ownsReplicas)},
			[]string{update("other", early, ownsReplicas), update("helm", late, ownsImage)},
			sender{ownership.Applier, "helm", "Update", false},
		},
		"no field manager: a new entry": {
			"", []string{update("other", early, ownsBoth)},
			[]string{update("other", early, ownsImage), apply("flux", late, ownsReplicas)},
			sender{ownership.Applier, "flux", "Apply", true},
		},
		"no field manager: the entry that took a field within the same second": {
			"", []string{update("helm", early, ownsImage), update("kubectl-edit", early, ownsReplicas)},
			[]string{update("helm", early, ownsBoth), update("kubectl-edit", early, `{}`)},
			sender{ownership.Applier, "helm", "Update", false},
		},
		"no field manager: entries that only lost fields have not written": {
			"", []string{update("helm", early, ownsBoth), update("kubectl-edit", early, ownsReplicas)},
			[]string{update("helm", early, ownsImage), update("kubectl-edit", early, `{}`)}, sender{},
		},
		"no field manager: nothing moved": {
			"", []string{update("helm", early, ownsBoth)}, []string{update("helm", early, ownsBoth)}, sender{},
		},
		"no field manager: an entry of /scale is not of this write": {
			"", []string{update("helm", early, ownsBoth)},
			[]string{update("helm", early, ownsImage), entry("kubectl", "Update", late, ownsReplicas, "scale")}, sender{},
		},
		"an entry of /scale is not the field manager's own": {
			"kubectl", []string{apply("kubectl", early, ownsImage), entry("kubectl", "Update", early, ownsReplicas, "scale")},
			[]string{apply("kubectl", early, ownsImage), entry("kubectl", "Update", late, ownsReplicas, "scale")},
			sender{ownership.Applier, "kubectl", "Apply", true},
		},
		"an entry of another API version is new": {
			"", []string{strings.Replace(update("helm", early, ownsImage), "apps/v1", "apps/v1beta1", 1)}, []string{update("helm", early, ownsImage)},
			sender{ownership.Applier, "helm", "Update", false},
		},
		"a manager that no list names": {
			"unknown", nil, []string{update("unknown", late, ownsReplicas)}, sender{ownership.OtherWriter, "unknown", "Update", false},
		},
		"an autoscaler that applies has no manifest": {
			"keda", nil, []string{apply("keda", late, ownsReplicas)}, sender{ownership.OtherWriter, "keda", "Apply", true},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := read(t, managers, c.fieldManager, object(t, liveWith("", "", c.live...)), object(t, liveWith("", "", c.incoming...))).Sender
			got := sender{a.Writer, a.Entry.Manager, a.Entry.Operation, a.ServerSide()}
			expect.Equal(t, "sender", c.want, got)
		})
	}
}
