package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

// A client that replaces the whole Secret can drop a key that the base has set as stringData.
func TestSecretKeysAreComparedWithStringData(t *testing.T) {
	for sentence, c := range map[string]struct {
		base string
		want []string
	}{
		"data with another value":           {`{"data":{"k":"b25l"}}`, []string{".data.k Imperative"}},
		"data with the value of live":       {`{"data":{"k":"dHdv"}}`, nil},
		"stringData with another value":     {`{"stringData":{"k":"one"}}`, []string{".data.k Imperative"}},
		"stringData with the value of live": {`{"stringData":{"k":"two"}}`, nil},
		"both, of which stringData counts":  {`{"data":{"k":"b25l"},"stringData":{"k":"two"}}`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			of := func(manifest, data string) ownership.Object {
				return object(t, `{"metadata":{"annotations":{"`+ownership.LastAppliedAnnotation+`":`+quoted(manifest)+`}},"data":`+data+`}`)
			}
			w := ownership.Write{
				Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, ObjectContext: ownership.ObjectContext{Managers: managers},
				Live: of(c.base, `{"k":"dHdv"}`), Incoming: of(`{}`, `{}`),
				LiveEntries: entries(t, entry("kubectl-edit", "Update", early, `{"f:data":{"f:k":{}}}`, "")),
				Sender: ownership.Sender{
					Writer: ownership.Applier, Entry: entries(t, entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, ""))[0],
				},
			}
			w.Manifests = w.ReadManifests()
			contested, err := w.ContestedFields()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range contested {
				got = append(got, f.Path.String()+" "+f.Owner.Kind.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
