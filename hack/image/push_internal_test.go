package image

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestPush verifies that the registry has all platforms under the tag.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/handoff-webhook:v1")
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := push(t.Context(), &printed, tag, index); err != nil {
		t.Fatal(err)
	}
	if want := "pushed " + tag.Context().Name() + "@" + digest(t, index) + "\n"; printed.String() != want {
		t.Errorf("got output %q, want %q", &printed, want)
	}
	stored, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digest(t, index), digest(t, stored)); diff != "" {
		t.Errorf("digest in the registry (-pushed +stored):\n%s", diff)
	}
	manifest, err := stored.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range manifest.Manifests {
		if _, err := remote.Image(tag.Digest(one.Digest.String())); err != nil {
			t.Error("the registry lacks an image of the index:", err)
		}
	}
}
