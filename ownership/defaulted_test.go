package ownership_test

import (
	"cmp"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestDefaulted(t *testing.T) {
	const (
		recorded     = `{"spec":{"type":"A"}}`
		record       = `"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
		member       = `"f:spec":{"f:member":{"f:x":{}}}`
		managed      = `{` + member + `}`
		managesBoth  = `{` + record + `,` + member + `}`
		managesOther = `{"f:spec":{"f:type":{}}}`
	)
	entry := func(manager, operation, fields string) string {
		return `{"manager":"` + manager + `","operation":"` + operation + `","apiVersion":"v1","fieldsV1":` + fields + `}`
	}
	path := fieldpath.MakePathOrDie("spec", "member")
	for name, c := range map[string]struct {
		live, base string // the entries and the last-applied annotation of live
		sender     string // the sender's entry in incoming
		manifest   string // the last-applied annotation of incoming; empty: as the base
		want       bool
	}{
		"no entry has it":                           {"", "", entry("s", "Apply", managesOther), "", true},
		"the sender created it and recorded":        {entry("c", "Update", managesBoth), recorded, entry("c", "Update", managesBoth), "", true},
		"the sender created it and records nothing": {entry("helm", "Update", managed), "", entry("helm", "Update", managed), "", true},
		"another created it and recorded":           {entry("c", "Update", managesBoth), recorded, entry("s", "Apply", managesOther), "", true},
		"another created it and recorded nothing":   {entry("create", "Update", managed), "", entry("s", "Apply", managesOther), "", false},
		"another declared it by server-side apply":  {entry("t", "Apply", managed), "", entry("s", "Apply", managesOther), "", false},
		"the sender declared it before":             {entry("s", "Apply", managed), "", entry("s", "Apply", managesOther), "", false},
		"the sender declares it now":                {"", "", entry("s", "Apply", managed), "", false},
		"the record has it":                         {entry("c", "Update", managesBoth), `{"spec":{"member":{}}}`, entry("s", "Apply", managesOther), "", false},
		"the record is broken":                      {entry("c", "Update", managesBoth), `{`, entry("s", "Apply", managesOther), "", false},
		"the manifest has it": {
			entry("c", "Update", managesBoth), recorded, entry("c", "Update", managesBoth), `{"spec":{"member":{}}}`, false,
		},
		"a person also manages it": {
			entry("c", "Update", managesBoth) + "," + entry("kubectl-patch", "Update", managed), recorded,
			entry("c", "Update", managesBoth), "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := `,"spec":{"member":{"x":1}}`
			live, incoming := object(t, liveWith(spec, c.base, c.live)), object(t, liveWith(spec, cmp.Or(c.manifest, c.base), c.sender))
			w := read(t, managers, "", live, incoming)
			w.Sender = ownership.Sender{Writer: ownership.Applier, Entry: w.IncomingEntries[0]}
			w.Sender.Was, _ = w.Sender.Entry.Find(w.LiveEntries)
			w.Manifests = w.ReadManifests()
			expect.Equal(t, "defaulted", c.want, w.Defaulted(path))
		})
	}
}
