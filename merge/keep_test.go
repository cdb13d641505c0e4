package merge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge"
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
		kept           merge.Change
		operations     []string
		want           stored
	}{
		"the value alone, if all entries are as in live": {
			by:         "kubectl",
			live:       stored{entries: []string{entry("kubectl", "Apply", early, image, count)}, spec: `{"image":"a","replicas":3}`},
			incoming:   stored{entries: []string{entry("kubectl", "Apply", late, image)}, spec: `{"image":"a","replicas":1}`},
			operations: []string{`{"op":"add","path":"/spec/replicas","value":3}`},
			want:       stored{entries: []string{entry("kubectl", "Apply", late, image)}, spec: `{"image":"a","replicas":3}`},
		},
		"a value that is not there any more": {
			by:         "helm",
			live:       stored{spec: `{"image":"a","replicas":3}`},
			incoming:   stored{spec: `{"image":"a"}`},
			operations: []string{`{"op":"add","path":"/spec/replicas","value":3}`},
			want:       stored{spec: `{"image":"a","replicas":3}`},
		},
		"client-side apply over an autoscaler: value, last-applied, and the autoscaler's entry without a time": {
			by: csa,
			live: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image)},
			},
			incoming: stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"replace","path":"` + lastAppliedAt + `","value":` + quoted(manifestNone) + `}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(hpaEntry(), csaEntry(late, image)) + `}`,
			},
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
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"replace","path":"` + lastAppliedAt + `","value":` + quoted(manifestNone) + `}`,
				`{"op":"add","path":"/metadata/managedFields","value":` +
					list(hpaEntry(), csaEntry(early, image), entry("x", "Update", early, "status.x")) + `}`,
			},
			want: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image), entry("x", "Update", early, "status.x")},
			},
		},
		"a manifest that drops a field of the autoscaler": {
			by: csa,
			live: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(early, image)},
			},
			incoming: stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":1}`, entries: []string{csaEntry(late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(hpaEntry(), csaEntry(late, image)) + `}`,
			},
			want: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`,
				entries: []string{hpaEntry(), csaEntry(late, image)},
			},
		},
		"null is removed from last-applied as well": {
			by:       csa,
			live:     stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), csaEntry(early, image)}},
			incoming: stored{lastApplied: `{"spec":{"image":"b","replicas":null}}`, spec: `{"image":"b","replicas":7}`, entries: []string{hpaEntry(), csaEntry(late, image)}},
			operations: []string{
				`{"op":"replace","path":"` + lastAppliedAt + `","value":` + quoted(`{"spec":{"image":"b"}}`) + `}`,
			},
			want: stored{lastApplied: `{"spec":{"image":"b"}}`, spec: `{"image":"b","replicas":7}`, entries: []string{hpaEntry(), csaEntry(late, image)}},
		},
		"an annotation that is not this write's manifest is put right as well": {
			by:       "helm",
			live:     stored{lastApplied: manifest3, spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("helm", "Update", early, image)}},
			incoming: stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{entry("helm", "Update", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"replace","path":"` + lastAppliedAt + `","value":` + quoted(manifestNone) + `}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(hpaEntry(), entry("helm", "Update", late, image)) + `}`,
			},
			want: stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("helm", "Update", late, image)}},
		},
		"an update entry of the applier keeps what it had in live": {
			by: csa,
			live: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(early, image, count)},
			},
			incoming: stored{lastApplied: `{"spec":{"image":"b","replicas":5}}`, spec: `{"image":"b","replicas":5}`, entries: []string{csaEntry(late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":3}`,
				`{"op":"replace","path":"` + lastAppliedAt + `","value":` + quoted(`{"spec":{"image":"b"}}`) + `}`,
			},
			want: stored{lastApplied: `{"spec":{"image":"b"}}`, spec: `{"image":"b","replicas":3}`, entries: []string{csaEntry(late, image, count)}},
		},
		"the entry of a person that lost the field contains it again": {
			by: csa,
			live: stored{
				lastApplied: manifest3, spec: `{"image":"a","replicas":5}`,
				entries: []string{csaEntry(early, image), entry("kubectl-edit", "Update", early, count, "spec.paused")},
			},
			incoming: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":1}`,
				entries: []string{entry("kubectl-edit", "Update", early, "spec.paused"), csaEntry(late, image, count)},
			},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":5}`,
				`{"op":"add","path":"/metadata/managedFields","value":` +
					list(entry("kubectl-edit", "Update", early, count, "spec.paused"), csaEntry(late, image)) + `}`,
			},
			want: stored{
				lastApplied: manifestNone, spec: `{"image":"a","replicas":5}`,
				entries: []string{entry("kubectl-edit", "Update", early, count, "spec.paused"), csaEntry(late, image)},
			},
		},
		"an entry that the write created and that contains nothing else is removed": {
			by:       csa,
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("x", "Update", early, image)}},
			incoming: stored{spec: `{"image":"a","replicas":3}`, entries: []string{entry("x", "Update", early, image), entry(csa, "Update", late, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(hpaEntry(), entry("x", "Update", early, image)) + `}`,
			},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), entry("x", "Update", early, image)}},
		},
		"the sender's Apply entry drops the field, and the autoscaler's entry is restored": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image), hpaEntry()}},
			incoming: stored{spec: `{"image":"b","replicas":3}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("kubectl", "Apply", late, image), hpaEntry()) + `}`,
			},
			want: stored{spec: `{"image":"b","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image), hpaEntry()}},
		},
		"the applier's Apply entry with the autoscaler's value keeps the field that it has in live": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image, count), hpaEntry()}},
			incoming: stored{spec: `{"image":"b","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image, count), hpaEntry()}},
			want:     stored{spec: `{"image":"b","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image, count), hpaEntry()}},
		},
		"an Apply entry of another manager keeps its fields": {
			by:       csa,
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("flux", "Apply", early, count), csaEntry(early, image)}},
			incoming: stored{spec: `{"image":"b","replicas":3}`, entries: []string{csaEntry(late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("flux", "Apply", early, count), csaEntry(late, image)) + `}`,
			},
			want: stored{spec: `{"image":"b","replicas":7}`, entries: []string{entry("flux", "Apply", early, count), csaEntry(late, image)}},
		},
		"the applier's Apply entry that sets the field keeps it as in live": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":3}`, entries: []string{entry("kubectl", "Apply", early, image, count)}},
			incoming: stored{spec: `{"image":"a","replicas":5}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":3}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("kubectl", "Apply", early, image, count)) + `}`,
			},
			want: stored{
				spec:    `{"image":"a","replicas":3}`,
				entries: []string{entry("kubectl", "Apply", early, image, count)}, // and its time: nothing has changed
			},
		},
		"the manifest's entry was the only one with a field: no entry has it": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":3}`, entries: []string{entry("kubectl", "Apply", early, image, count)}},
			incoming: stored{spec: `{"image":"b","replicas":1}`, entries: []string{entry("kubectl", "Apply", late, image)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":3}`,
			},
			want: stored{spec: `{"image":"b","replicas":3}`, entries: []string{entry("kubectl", "Apply", late, image)}},
		},
		"a manifest moves from client-side to server-side apply while the autoscaler has scaled": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), csaEntry(early, image)}},
			incoming: stored{spec: `{"image":"a","replicas":3}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("kubectl", "Apply", late, image), hpaEntry()) + `}`,
			},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image), hpaEntry()}},
		},
		// kubectl first moves the entries, in a separate write: that write changes no value.
		"a manager that lost a field to a forced apply regains it if the value was restored": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image), hpaEntry()}},
			incoming: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("kubectl", "Apply", early, image), hpaEntry()) + `}`,
			},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", early, image), hpaEntry()}},
		},
		"a manager that lost a field to a forced apply regains it, although the apply has the time of another write": {
			by: "kubectl",
			live: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", early, image), entry("vpa", "Update", early, count), entry("helm", "Update", late, "spec.y"),
			}},
			incoming: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", late, image, count), entry("helm", "Update", late, "spec.y"),
			}},
			operations: []string{
				`{"op":"add","path":"/metadata/managedFields","value":` +
					list(entry("kubectl", "Apply", early, image), entry("vpa", "Update", early, count), entry("helm", "Update", late, "spec.y")) + `}`,
			},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{
				entry("kubectl", "Apply", early, image), entry("vpa", "Update", early, count), entry("helm", "Update", late, "spec.y"),
			}},
		},
		"the field of a subresource's entry does not move": {
			by:       "kubectl",
			live:     stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image), hpaEntry()}},
			incoming: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image, count)}},
			operations: []string{
				`{"op":"add","path":"/metadata/managedFields","value":` + list(entry("kubectl", "Apply", late, image), hpaEntry()) + `}`,
			},
			want: stored{spec: `{"image":"a","replicas":7}`, entries: []string{entry("kubectl", "Apply", late, image), hpaEntry()}},
		},
		"nothing, if all is as in live": {
			by:       csa,
			live:     stored{lastApplied: manifest3, spec: `{"image":"a","replicas":7}`, entries: []string{hpaEntry(), csaEntry(early, image)}},
			incoming: stored{lastApplied: `{"spec":{"image":"b"}}`, spec: `{"image":"b","replicas":7}`, entries: []string{hpaEntry(), csaEntry(late, image)}},
			want:     stored{lastApplied: `{"spec":{"image":"b"}}`, spec: `{"image":"b","replicas":7}`, entries: []string{hpaEntry(), csaEntry(late, image)}},
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
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":{"min":1,"max":9}}`,
				`{"op":"add","path":"/metadata/managedFields","value":` +
					list(entry("x", "Update", early, "spec.replicas.max", "spec.replicas.min", "spec.y")) + `}`,
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
			operations: []string{
				`{"op":"add","path":"/spec/replicas","value":7}`,
				`{"op":"add","path":"/metadata/managedFields","value":[]}`,
			},
			want: stored{spec: `{"replicas":7}`, entries: []string{}},
		},
		"a path with names that a JSON pointer escapes": {
			by:       "helm",
			live:     stored{spec: `{"a/b~c":7}`},
			incoming: stored{spec: `{"a/b~c":3}`},
			kept:     merge.Change{Path: fieldpath.MakePathOrDie("spec", "a/b~c")},
			operations: []string{
				`{"op":"add","path":"/spec/a~1b~0c","value":7}`,
			},
			want: stored{spec: `{"a/b~c":7}`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if c.kept.Path == nil {
				c.kept.Path = replicas
			}
			w := writeOf(t, c.by, c.live, c.incoming)
			rewritten, err := merge.Rewrite(w, []merge.Change{c.kept}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := operationsOf(t, rewritten.Operations)
			if diff := cmp.Diff(c.operations, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			object := patched(t, c.incoming.text(), got)
			if diff := jsontest.Diff(t, c.want.text(), object); diff != "" {
				t.Errorf("the object (-want +got):\n%s", diff)
			}
			again := stored{lastApplied: c.want.lastApplied, entries: c.want.entries, spec: c.want.spec}
			if rewritten, err = merge.Rewrite(writeOf(t, c.by, c.live, again), []merge.Change{c.kept}, nil); err != nil {
				t.Fatal(err)
			}
			if len(rewritten.Operations) > 0 {
				t.Errorf("once more, it changes the object again: %s", operationsOf(t, rewritten.Operations))
			}
		})
	}
}
