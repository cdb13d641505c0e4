package ownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

// Helm 3 records no manifest: what its write changes, or comes to manage, counts as set.
func TestManifestsOfHelm(t *testing.T) {
	had := entry("helm", "Update", early, ownsReplicas, "")
	kubectls := entry("kubectl-client-side-apply", "Update", early, ownsLastApplied, "")
	replaced := entry("kubectl-replace", "Update", early, ownsLastApplied, "") // with --save-config
	for sentence, c := range map[string]struct {
		lastApplied, replicas string // of the incoming object; live has 7
		was                   []string
		want                  ownership.Declaration
	}{
		"a field that it changes":                           {"", "3", []string{had}, ownership.Sets},
		"a field that it removes":                           {"", "", []string{had}, ownership.Lacks},
		"a field that it does not change":                   {"", "7", []string{had}, ownership.Lacks},
		"a field that it comes to manage, restored since":   {"", "7", nil, ownership.Sets},
		"a field it changes, which kubectl applied before":  {`{"spec":{"replicas":3}}`, "5", []string{kubectls}, ownership.Sets},
		"a field it leaves, which kubectl applied before":   {`{"spec":{"replicas":3}}`, "7", []string{kubectls, had}, ownership.Lacks},
		"a field it leaves, which kubectl replace has set":  {`{"spec":{"replicas":3}}`, "7", []string{replaced, had}, ownership.Lacks},
		"a field it leaves, which an invalid manifest sets": {`{"spec":`, "7", []string{kubectls, had}, ownership.Lacks},
	} {
		t.Run(sentence, func(t *testing.T) {
			older := strings.Replace(entry("helm", "Update", early, ownsRelease, ""), "apps/v1", "apps/v1beta1", 1)
			was := object(t, liveWith(`,"spec":{"replicas":7}`, c.lastApplied, append(c.was, older)...))
			spec := strings.Replace(`,"spec":{"replicas":`+c.replicas+`}`, `"replicas":}`, "}", 1)
			w := read(t, managers, "helm", was, object(t, liveWith(spec, c.lastApplied, older, entry("helm", "Update", late, ownsReplicas, ""))))
			want := ownership.Declared{Manifest: c.want, Base: ownership.Lacks}
			if diff := cmp.Diff(want, w.Declared(replicas)); diff != "" || w.Manifests.Unread != nil {
				t.Errorf("declared, with the error %v (-want +got):\n%s", w.Manifests.Unread, diff)
			}
		})
	}
	unknown := object(t, liveWith("", `{"spec":`, entry("ci", "Update", early, ownsLastApplied, "")))
	if w := read(t, managers, "helm", unknown, unknown); w.Manifests.Unread != nil {
		t.Errorf("an invalid manifest of a manager that no list names: %v", w.Manifests.Unread)
	}
}
