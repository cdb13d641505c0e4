package source_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/plugin/source"
)

func TestReadTextsLikeKubectl(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "a", "b.json": "b", "c.yml": "c", "notes.txt": "d"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "deep.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	for from, want := range map[string]string{
		folder: "a b c", filepath.Join(folder, "notes.txt"): "d", filepath.Join(folder, "[ab].*"): "a b", server.URL + "/b.json": "b", "-": "in",
	} {
		texts, err := source.ReadTexts(t.Context(), strings.NewReader("in"), []string{from}, false)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, 0, len(texts))
		for _, text := range texts {
			got = append(got, string(text.Content))
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
	for from, says := range map[string]string{
		filepath.Join(folder, "nosuch"): "does not exist; check the path", server.URL + "/nosuch": "the server responded with 404 Not Found; check the URL",
	} {
		if _, err := source.ReadTexts(t.Context(), nil, []string{from}, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want an error that says %q, got %v", from, says, err)
		}
	}
}
