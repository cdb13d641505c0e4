package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/plugin/cli"
)

func TestReadFilesLikeKubectl(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	folder := t.TempDir()
	deep := filepath.Join(folder, "deep")
	if err := os.CopyFS(deep, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"malformed.yaml", "nokind.yaml", "unreadable.yaml", "stripped.yaml", "manifest.yaml"} {
		if err := os.Remove(filepath.Join(deep, other)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"preview", "strip"} {
		if err := os.RemoveAll(filepath.Join(deep, folder)); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	for sentence, args := range map[string][]string{
		"a file":             {"-f", "testdata/shop.yaml"},
		"a folder":           {"-f", deep},
		"folders in folders": {"-R", "-f", folder},
		"a URL":              {"-f", server.URL + "/deep/shop.yaml"},
		"standard input":     {"-f", "-"},
		"two files":          {"-f", "testdata/helm.yaml", "-f", "testdata/shop.yaml"},
		"a pattern":          {"-f", filepath.Join(deep, "[s]hop.*")},
	} {
		code, output := run(t, nil, append([]string{"explain", "deployment/web", ".spec.replicas"}, args...)...)
		if code != cli.ExitOK || !strings.HasPrefix(output, "`.spec.replicas` is 7: HorizontalPodAutoscaler `web` set it") {
			t.Errorf("%s: exit code %d\n%s", sentence, code, output)
		}
	}
	_, output := run(t, nil, "explain", "-f", server.URL+"/nosuch.yaml")
	if want := `nosuch.yaml", server reported 404 Not Found`; !strings.Contains(output, want) {
		t.Errorf("want an error that says %q, got %s", want, output)
	}
}
