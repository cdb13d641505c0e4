package merge_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	csa   = "kubectl-client-side-apply"
	image = "spec.image"
	count = "spec.replicas"

	manifest3    = `{"spec":{"image":"a","replicas":3}}`
	manifestNone = `{"spec":{"image":"a"}}`
)

// A path's names, split at dots, would tear the annotation's name apart.
func csaEntry(at string, fields ...string) string {
	text := entry(csa, "Update", at, append(fields, "metadata.annotations.x")...)
	return strings.Replace(text, `"f:x"`, `"f:`+ownership.LastAppliedAnnotation+`"`, 1)
}

func TestKeep(t *testing.T) {
	for sentence, c := range map[string]struct {
		by             string
		live, incoming stored
		want           stored
	}{
		"client-side apply over an autoscaler: value, last-applied, and the autoscaler's entry without a time": {
			by: csa,
			live: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image)},
			},
			incoming: stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}},
			want: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(late, image)},
			},
		},
		"client-side apply that changes nothing else becomes live, times included": {
			by: csa,
			live: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image), entry("x", "Update", early, "status.x")},
			},
			incoming: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":3}`,
				entries: []string{entry("x", "Update", early, "status.x"), csaEntry(late, image, count)},
			},
			want: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image), entry("x", "Update", early, "status.x")},
			},
		},
		"an entry that the write created and that contains nothing else is removed": {
			by:       csa,
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("x", "Update", early, image)}},
			incoming: stored{spec: `{"image":"a","replicas":3}`, entries: []string{entry("x", "Update", early, image), entry(csa, "Update", late, count)}},
			want:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("x", "Update", early, image)}},
		},
		"a manager that lost a field to a forced apply regains it if the value was restored": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image), hpaEntry()}},
			incoming: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			want:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image), hpaEntry()}},
		},
		"a manager that lost a field to a forced apply regains it, although the apply has the time of another write": {
			by: "kubectl",
			live: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", early, image), entry("vpa", "Update", early, count), entry("helm", "Update", late, "spec.y"),
			}},
			incoming: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", late, image, count), entry("helm", "Update", late, "spec.y"),
			}},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", early, image), entry("vpa", "Update", early, count), entry("helm", "Update", late, "spec.y"),
			}},
		},
		"managed fields nested under the kept path are kept as well": {
			by: "helm",
			live: stored{
				spec:    `{"replicas":{"min":1,"max":9}}`,
				entries: []string{entry("x", "Update", early, "spec.replicas.max", "spec.replicas.min", "spec.y")},
			},
			incoming: stored{
				spec:    `{"replicas":{"min":2}}`,
				entries: []string{entry("x", "Update", early, "spec.y"), entry("helm", "Update", late, "spec.replicas.min")},
			},
			want: stored{
				spec:    `{"replicas":{"min":1,"max":9}}`,
				entries: []string{entry("x", "Update", early, "spec.replicas.max", "spec.replicas.min", "spec.y")},
			},
		},
		"an object that had no managedFields and becomes live again has none": {
			by:       "helm",
			live:     stored{spec: `{"replicas":7}`},
			incoming: stored{spec: `{"replicas":3}`, entries: []string{entry("helm", "Update", late, count)}},
			want:     stored{spec: `{"replicas":7}`, entries: []string{}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			rewritten, err := rewriteKeeping(writeOf(t, c.by, c.live, c.incoming), replicas)
			expect.NoError(t, err)
			object := patched(t, c.incoming.text(), operationsOf(t, rewritten.Operations))
			expect.Equal(t, "the object", jsontest.Decode(t, []byte(c.want.text())), jsontest.Decode(t, []byte(object)))
			rewritten, err = rewriteKeeping(writeOf(t, c.by, c.live, c.want), replicas)
			expect.NoError(t, err)
			if len(rewritten.Operations) > 0 {
				t.Errorf("once more, it changes the object again: %s", operationsOf(t, rewritten.Operations))
			}
		})
	}
}

// TestEntriesInAnotherVersion has entries that were recorded in v1beta1, where replicas are .spec.size and the image is .spec.picture. The
// write, in v1, takes both fields from them, and what they have at other paths stays.
func TestEntriesInAnotherVersion(t *testing.T) {
	older := func(fields ...string) string {
		return strings.Replace(entry("operator", "Update", early, fields...), "apps/v1", "apps/v1beta1", 1)
	}
	scale, other := []fieldpath.Path{replicas}, []fieldpath.Path{fieldpath.MakePathOrDie("spec", "image")}
	for sentence, c := range map[string]struct {
		kept                 []fieldpath.Path
		live, incoming, want string // the operator's entry
	}{
		"the scale field": {scale, older("spec.size", "spec.x"), older("spec.x"), older("spec.size", "spec.x")},
		"the scale field, beside a field that the write has replaced":       {scale, older("spec.size", "spec.y"), older(), older("spec.size")},
		"the scale field, beside one of its name in the write's version":    {scale, older("spec.size", count), older(count), older("spec.size", count)},
		"the scale field, which the entry does not have":                    {scale, older("spec.x", count), older("spec.x"), older("spec.x")},
		"another field, by the name that live does not have":                {other, older("spec.picture", "spec.x"), older("spec.x"), older("spec.picture", "spec.x")},
		"another field, but no field of live's that the write has replaced": {other, older("spec.picture", "spec.y"), older(), older("spec.picture")},
		"an entry that is gone": {other, older("spec.picture"), "", older("spec.picture")},
		"an entry whose version the write changes": {
			append(other, replicas), strings.Replace(older("spec.picture", "spec.size"), "Update", "Apply", 1), entry("operator", "Apply", late, count),
			older("spec.picture", "spec.size", count),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			incoming := []string{csaEntry(late, image, count)}
			if c.incoming != "" {
				incoming = append(incoming, c.incoming)
			}
			w := writeOf(t, csa, stored{spec: `{"image":"b","replicas":7,"x":1,"y":1}`, entries: []string{c.live, csaEntry(early)}},
				stored{spec: `{"image":"a","replicas":3,"x":1,"y":2}`, entries: incoming})
			w.Kind, w.Scale = appsv1.SchemeGroupVersion.WithKind("Deployment"), replicas
			w.Managers.Autoscalers = []string{"operator"}
			w.Managers.Scale = func(apiVersion string) fieldpath.Path {
				if apiVersion == "apps/v1" {
					return replicas
				}
				return fieldpath.MakePathOrDie("spec", "size")
			}
			rewritten, err := rewriteKeeping(w, c.kept...)
			expect.NoError(t, err)
			_, entries := parsed(t, patched(t, stored{spec: `{"image":"a","replicas":3}`, entries: incoming}.text(), operationsOf(t, rewritten.Operations)))
			i := slices.IndexFunc(entries, func(e ownership.Entry) bool { return e.Manager == "operator" })
			if i < 0 {
				t.Fatalf("the entry is gone: %s", operationsOf(t, rewritten.Operations))
			}
			_, want := parsed(t, stored{spec: "{}", entries: []string{c.want}}.text())
			expect.Equal(t, "the entry", jsontest.Decode(t, want[0].Fields.Text()), jsontest.Decode(t, entries[i].Fields.Text()))
		})
	}
}
