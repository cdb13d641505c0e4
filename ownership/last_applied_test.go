package ownership_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestManifestsOnClientSideApply(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want ownership.Declaration
	}{
		"it sets it":                           {`{"spec":{"replicas":3}}`, ownership.Sets},
		"it sets it to zero":                   {`{"spec":{"replicas":0}}`, ownership.Sets},
		"it sets it to an empty string":        {`{"spec":{"replicas":""}}`, ownership.Sets},
		"it sets it to null":                   {`{"spec":{"replicas":null}}`, ownership.Clears},
		"it sets it to null, with white space": {"{\"spec\":{\"replicas\" : null\n}}", ownership.Clears},
		"it sets it to the string \"null\"":    {`{"spec":{"replicas":"null"}}`, ownership.Sets},
		"it lacks it":                          {`{"spec":{"image":"a"}}`, ownership.Lacks},
		"it has no spec":                       {`{}`, ownership.Lacks},
		"it sets a parent to null":             {`{"spec":null}`, ownership.Clears},
		"its spec is a list":                   {`{"spec":["replicas"]}`, ownership.Lacks},
		"it has the name elsewhere":            {`{"replicas":3,"spec":{"template":{"replicas":3}}}`, ownership.Lacks},
		"it writes the name with escapes":      {`{"sp\u0065c":{"replica\u0073":3}}`, ownership.Sets},
		"it starts with white space":           {"\n\t {\"spec\":{\"replicas\":3}}\n", ownership.Sets},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := declaredInLastApplied(t, c.text, replicas)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want.String(), got.String()); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestsOfRejectsInvalidLastApplied(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		path fieldpath.Path
	}{
		"nothing":           {"", replicas},
		"broken JSON":       {`{"spec":{"replicas":3}`, replicas},
		"text behind it":    {`{"spec":{"replicas":3}} x`, replicas},
		"a list":            {`[{"spec":{"replicas":3}}]`, replicas},
		"a string":          {`"{}"`, replicas},
		"a number":          {`3`, replicas},
		"null":              {` null`, replicas},
		"a repeated name":   {`{"spec":{"replicas":3,"replicas":4}}`, replicas},
		"very deep nesting": {`{"spec":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, replicas},
	} {
		t.Run(sentence, func(t *testing.T) {
			claim, err := declaredInLastApplied(t, c.text, c.path)
			if !errors.Is(err, ownership.ErrLastApplied) || claim != ownership.Lacks {
				t.Errorf("want no claim and %v, got %s and %v", ownership.ErrLastApplied, claim, err)
			}
		})
	}
}

// write is an update by an sender: the last-applied manifests before and after it, "" for no annotation, the values, and
// the sender's entries.
type write struct {
	sender         ownership.Sender
	base, manifest string
	live, incoming string
	was            []string
}

func by(t *testing.T, manager, operation, fields string) ownership.Sender {
	t.Helper()
	return ownership.Sender{Writer: ownership.Applier, Entry: entries(t, entry(manager, operation, late, fields, ""))[0]}
}

func TestManifestsOnByApplier(t *testing.T) {
	const sets3, sets5, lacks, null = `{"spec":{"replicas":3}}`, `{"spec":{"replicas":5}}`, `{"spec":{}}`, `{"spec":{"replicas":null}}`
	clientSide := by(t, "kubectl-client-side-apply", "Update", ownsLastApplied)
	argo := by(t, "argocd-controller", "Update", ownsLastApplied)
	helm := by(t, "helm", "Update", ownsReplicas)
	had := []string{entry("helm", "Update", early, ownsReplicas, "")}
	kubectls := []string{entry("kubectl-client-side-apply", "Update", early, ownsLastApplied, "")}
	creates := []string{entry("kubectl-create", "Update", early, ownsLastApplied, "")}
	withoutField := ownership.Sender{Writer: ownership.Applier, Entry: ownership.Entry{Manager: "x", Operation: "Update"}}
	for sentence, c := range map[string]struct {
		write write
		want  declared
	}{
		"server-side apply: its entries decide, not an annotation": {
			write{by(t, "kubectl", "Apply", ownsBoth), lacks, lacks, "7", "3", []string{entry("kubectl", "Apply", early, ownsBoth, "")}},
			declared{Manifest: ownership.Sets, Base: ownership.Sets},
		},
		"server-side apply: the manifest drops it": {
			write{by(t, "kubectl", "Apply", ownsImage), "", "", "7", "1", []string{entry("kubectl", "Apply", early, ownsBoth, "")}},
			declared{Manifest: ownership.Lacks, Base: ownership.Sets},
		},
		"server-side apply: it takes it": {
			write{by(t, "kubectl", "Apply", ownsBoth), "", "", "7", "3", []string{entry("kubectl", "Apply", early, ownsImage, "")}},
			declared{Manifest: ownership.Sets, Base: ownership.Lacks},
		},
		"server-side apply: fields of another entry of the same manager are not its own": {
			write{by(t, "kubectl", "Apply", ownsImage), "", "", "7", "7", []string{entry("kubectl", "Update", early, ownsBoth, "")}},
			declared{},
		},
		"client-side apply: unchanged": {
			write{clientSide, sets3, sets3, "7", "3", nil}, declared{Manifest: ownership.Sets, Base: ownership.Sets, Recorded: true},
		},
		"client-side apply: for the first time": {
			write{clientSide, "", sets3, "7", "3", nil}, declared{Manifest: ownership.Sets, Recorded: true},
		},
		"client-side apply: the manifest drops it": {
			write{clientSide, sets3, lacks, "7", "1", nil}, declared{Base: ownership.Sets, Recorded: true},
		},
		"client-side apply: it never had it": {
			write{clientSide, lacks, lacks, "7", "7", nil}, declared{Recorded: true},
		},
		"client-side apply: null": {
			write{clientSide, sets3, null, "7", "1", nil},
			declared{Manifest: ownership.Clears, Base: ownership.Sets, Recorded: true},
		},
		"client-side apply: null again": {
			write{clientSide, null, null, "7", "1", nil},
			declared{Manifest: ownership.Clears, Base: ownership.Clears, Recorded: true},
		},
		"Argo CD: as client-side apply": {
			write{argo, sets3, lacks, "7", "1", nil}, declared{Base: ownership.Sets, Recorded: true},
		},
		"a manifest counts for a changed field even if its sender manages nothing": {
			write{withoutField, sets3, lacks, "7", "1", nil}, declared{Base: ownership.Sets, Recorded: true},
		},
		"Helm: its manifest sets the fields that it changes": {
			write{helm, "", "", "7", "3", nil}, declared{Manifest: ownership.Sets},
		},
		"Helm: its manifest does not set fields that it does not change": {
			write{helm, "", "", "7", "7", had}, declared{},
		},
		"Helm: its manifest sets the fields that it comes to manage, even if a policy restored the value": {
			write{helm, "", "", "7", "7", nil}, declared{Manifest: ownership.Sets},
		},
		"Helm: an annotation that kubectl left behind is not its manifest": {
			write{helm, sets3, sets3, "7", "5", kubectls}, declared{Manifest: ownership.Sets},
		},
		"Helm: its manifest sets nothing if it changes nothing": {
			write{helm, sets3, sets3, "7", "7", slices.Concat(kubectls, had)}, declared{},
		},
		"an annotation that kubectl create --save-config has left there is the manifest of the apply after it": {
			write{withoutField, sets3, sets3, "3", "3", creates}, declared{Manifest: ownership.Sets, Base: ownership.Sets, Recorded: true},
		},
		"and so is one without a manager, as after a reset of managedFields": {
			write{withoutField, sets3, sets3, "3", "3", nil}, declared{Manifest: ownership.Sets, Base: ownership.Sets, Recorded: true},
		},
		"Helm: a removed annotation is not its manifest": {
			write{helm, sets3, "", "7", "7", had}, declared{},
		},
		"kubectl diff: the annotation is the old one, and the value is the manifest's": {
			write{clientSide, lacks, lacks, "7", "3", nil}, declared{Manifest: ownership.Sets, Recorded: true},
		},
		"kubectl diff: a manifest that sets it still": {
			write{clientSide, sets3, sets3, "7", "5", nil}, declared{Manifest: ownership.Sets, Base: ownership.Sets, Recorded: true},
		},
		"kubectl apply edit-last-applied: the annotation alone changes": {
			write{clientSide, sets3, lacks, "7", "7", nil}, declared{Base: ownership.Sets, Recorded: true},
		},
		"kubectl apply edit-last-applied: the field is put into it": {
			write{clientSide, lacks, sets5, "7", "7", nil}, declared{Manifest: ownership.Sets, Recorded: true},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := c.write.declared(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("declared (-want +got):\n%s", diff)
			}
		})
	}
}

// declared is what an applier declares, and whether its manifest is the annotation.
type declared struct {
	Manifest, Base ownership.Declaration
	Recorded       bool
}

func (w write) declared(t *testing.T) (declared, error) {
	t.Helper()
	with := func(lastApplied, value string) ownership.Object {
		annotation := ""
		if lastApplied != "" {
			annotation = fmt.Sprintf("%q:%s", ownership.LastAppliedAnnotation, quoted(lastApplied))
		}
		return object(t, fmt.Sprintf(`{"metadata":{"annotations":{%s}},"spec":{"replicas":%s}}`, annotation, value))
	}
	manifests := managers.ManifestsOf(w.sender, with(w.base, w.live), with(w.manifest, w.incoming), entries(t, w.was...))
	on := manifests.On(replicas)
	return declared{Manifest: on.Manifest, Base: on.Base, Recorded: manifests.Recorded}, manifests.Unread
}

func TestManifestsOfRejectsInvalidAnnotations(t *testing.T) {
	clientSide := by(t, "kubectl-client-side-apply", "Update", ownsLastApplied)
	serverSide := by(t, "kubectl", "Apply", ownsBoth)
	helm := by(t, "helm", "Update", ownsReplicas)
	const good, broken = `{"spec":{}}`, `{"spec":`
	for sentence, c := range map[string]struct {
		write write
		want  error
	}{
		"in incoming":                           {write{clientSide, good, broken, "7", "3", nil}, ownership.ErrLastApplied},
		"in live":                               {write{clientSide, broken, good, "7", "3", nil}, ownership.ErrLastApplied},
		"in both":                               {write{clientSide, broken, broken, "7", "3", nil}, ownership.ErrLastApplied},
		"no error where server-side applied":    {write{serverSide, broken, broken, "7", "3", nil}, nil},
		"no error where it is not the writer's": {write{helm, broken, broken, "7", "3", nil}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := c.write.declared(t); !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
		})
	}
}
