package threeway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestRecordedWritesMergeAsUpstream takes base, manifest and live from requests that a real API server sent.
func TestRecordedWritesMergeAsUpstream(t *testing.T) {
	paths, err := filepath.Glob("../../webhook/testdata/reviews/*.json")
	if err != nil || len(paths) == 0 {
		t.Skip("webhook/testdata/reviews has no recorded requests")
	}
	var types schema.Types
	merged := 0
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			live, incoming := recorded(t, path)
			base, had := lastApplied(t, live)
			manifest, has := lastApplied(t, incoming)
			if !had || !has {
				return // not a write of client-side apply
			}
			merged++
			decoded := fromJSON(t, live)
			if !clientgoscheme.Scheme.Recognizes(runtimeschema.FromAPIVersionAndKind(fmt.Sprint(decoded["apiVersion"]), fmt.Sprint(decoded["kind"]))) {
				mergesAsPatch(t, base, manifest, live)
				return
			}
			typed := typedLike(t, decoded)
			o := sample{place: types.Of(typed), typed: typed}
			differential(t, o, base, manifest, live)
			differential(t, o, manifest, base, live)
			differential(t, o, []byte(`{}`), manifest, live)
		})
	}
	t.Logf("%d of %d requests are of client-side apply", merged, len(paths))
}

func mergesAsPatch(t *testing.T, base, manifest, live []byte) {
	t.Helper()
	want, err := upstreamMergePatch(base, manifest, live)
	if err != nil {
		t.Fatal(err)
	}
	got, err := threeway.MergeJSON(base, manifest, live, schema.JSONMergePatch(), threeway.Options{})
	same(t, "handoff", string(want), got, err)
}

// recorded returns the objects of a review. A recording contains the review itself, or the review with other fields.
func recorded(t *testing.T, path string) (live, incoming []byte) {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	var recording struct {
		Request struct {
			Object, OldObject json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &recording); err != nil {
		t.Fatal(err)
	}
	return recording.Request.OldObject, recording.Request.Object
}

func lastApplied(t *testing.T, object []byte) ([]byte, bool) {
	t.Helper()
	o, err := ownership.ParseObject(object)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := o.LastApplied()
	return []byte(text), ok
}
