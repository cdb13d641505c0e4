package ownership_test

import (
	"strconv"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestDefaulted(t *testing.T) {
	const (
		recorded    = `{"spec":{"type":"A"}}`
		record      = `"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
		member      = `"f:spec":{"f:member":{"f:x":{}}}`
		claims      = `{` + member + `}`
		claimsBoth  = `{` + record + `,` + member + `}`
		claimsOther = `{"f:spec":{"f:type":{}}}`
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
		"no entry has it":                           {"", "", entry("s", "Apply", claimsOther), "", true},
		"the sender created it and recorded":        {entry("c", "Update", claimsBoth), recorded, entry("c", "Update", claimsBoth), "", true},
		"the sender created it and records nothing": {entry("helm", "Update", claims), "", entry("helm", "Update", claims), "", true},
		"another created it and recorded":           {entry("c", "Update", claimsBoth), recorded, entry("s", "Apply", claimsOther), "", true},
		"another created it and recorded nothing":   {entry("create", "Update", claims), "", entry("s", "Apply", claimsOther), "", false},
		"another declared it by server-side apply":  {entry("t", "Apply", claims), "", entry("s", "Apply", claimsOther), "", false},
		"the sender declared it before":             {entry("s", "Apply", claims), "", entry("s", "Apply", claimsOther), "", false},
		"the sender declares it now":                {"", "", entry("s", "Apply", claims), "", false},
		"the record has it":                         {entry("c", "Update", claimsBoth), `{"spec":{"member":{}}}`, entry("s", "Apply", claimsOther), "", false},
		"the record is broken":                      {entry("c", "Update", claimsBoth), `{`, entry("s", "Apply", claimsOther), "", false},
		"the manifest has it": {
			entry("c", "Update", claimsBoth), recorded, entry("c", "Update", claimsBoth), `{"spec":{"member":{}}}`, false,
		},
		"a person also manages it": {
			entry("c", "Update", claimsBoth) + "," + entry("kubectl-patch", "Update", claims), recorded,
			entry("c", "Update", claimsBoth), "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(lastApplied, entries string) (ownership.Object, []ownership.Entry) {
				annotations := "{}"
				if lastApplied != "" {
					annotations = `{"` + ownership.LastAppliedAnnotation + `":` + strconv.Quote(lastApplied) + `}`
				}
				o, err := ownership.ParseObject([]byte(`{"metadata":{"annotations":` + annotations + `,"managedFields":[` + entries + `]},"spec":{"member":{"x":1}}}`))
				if err != nil {
					t.Fatal(err)
				}
				e, err := o.Entries()
				if err != nil {
					t.Fatal(err)
				}
				return o, e
			}
			live, liveEntries := object(c.base, c.live)
			if c.manifest == "" {
				c.manifest = c.base
			}
			incoming, sender := object(c.manifest, c.sender)
			manifests, err := managers.ManifestsOf(ownership.Sender{Writer: ownership.Applier, Entry: sender[0]}, live, incoming, liveEntries)
			if err != nil {
				t.Fatal(err)
			}
			if got := manifests.Defaulted(path, liveEntries); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
