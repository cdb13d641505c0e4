package source_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
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

func TestParserTextHidesWhatItQuotesFromTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"yaml: line 3: did not find expected ',' or ']'":    "line 3: did not find expected ',' or ']'",
		"yaml: line 3: did not find expected '-' indicator": "line 3: did not find expected '-' indicator",
		"yaml: unknown anchor 'hunter2' referenced":         "unknown anchor *** referenced",
		"yaml: unknown anchor 'h' referenced":               "unknown anchor *** referenced",
		"yaml: unknown anchor '!?' referenced":              "unknown anchor *** referenced",
		"invalid character 'h' looking for a value":         "invalid character *** looking for a value",
	} {
		if got := source.ParserText(errors.New(text)); got != want {
			t.Errorf("%s: want %s, got %s", text, want, got)
		}
	}
}

func TestASelectorOfObjectsInFilesDoesNotHideTheirAutoscalers(t *testing.T) {
	objects := `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"replicas":7}},
		{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","namespace":"shop"},
			"spec":{"maxReplicas":9,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}]}`
	reader := source.Reader{Cluster: genericclioptions.NewConfigFlags(false), In: strings.NewReader(objects), Configuration: config.Default()}
	reading, err := reader.Read(t.Context(), source.Query{Files: resource.FilenameOptions{Filenames: []string{"-"}}, Selector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	if len(reading.Subjects) != 1 || reading.Subjects[0].Scaler.Name != "HorizontalPodAutoscaler/web" {
		t.Errorf("want the Deployment with its autoscaler, got %+v", reading)
	}
}
