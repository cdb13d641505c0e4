package plugin_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/release"
	"github.com/ownership-handoff/handoff/test/objects"
)

// settings is an object that no controller changes.
var settings = released{
	object: "configmap/web", field: ".data.size",
	manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {size: big, zone: a}\n",
}

// between returns the kubeconfig of a proxy that calls seen for each patch, with its number from 1 and its text. The proxy
// forwards the patch if seen returns true.
func between(t *testing.T, seen func(patch int, text string) (forward bool)) (kubeconfig string) {
	t.Helper()
	transport, err := rest.TransportFor(cluster.controlPlane.Config)
	expect.NoError(t, err)
	to, err := url.Parse(cluster.controlPlane.Config.Host)
	expect.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	patches := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			patches++
			text, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(text))
			if err != nil || !seen(patches, string(text)) {
				http.Error(w, "the network is down", http.StatusServiceUnavailable)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	return objects.Write(t, text, t.TempDir(), "kubeconfig")
}

// appliedIn applies settings in a new namespace.
func appliedIn(t *testing.T) (yard string) {
	t.Helper()
	yard = newYard(t, "conflict")
	before, _ := files(t, settings.manifest)
	settings.play(t, yard, before, []string{"apply -f MANIFEST"})
	return yard
}

func TestReleaseRetriesOnConflict(t *testing.T) {
	for name, changed := range map[string]struct {
		times int // number of patches that conflict
		want  string
	}{
		"once":       {1, "configmap/web released .data.size\n"},
		"four times": {4, "configmap/web released .data.size\n"},
		"always":     {100, "error: configmap/web: the object changed during each of 5 attempts; nothing was released, try again\n"},
	} {
		t.Run(name, func(t *testing.T) {
			yard := appliedIn(t)
			kubeconfig := between(t, func(patch int, _ string) bool {
				if patch <= changed.times {
					settings.play(t, yard, "", []string{fmt.Sprintf("annotate configmap web example.com/at=%d --overwrite", patch)})
				}
				return true
			})
			said := handoff(t, kubeconfig, "release configmap/web .data.size -n "+yard)
			if !strings.Contains(said, changed.want) {
				t.Errorf("want %s, got\n%s", changed.want, said)
			}
			live := settings.live(t, yard)
			at := live.Value(fieldpath.MakePathOrDie("metadata", "annotations", "example.com/at"))
			expect.Equal(t, "the concurrent change", fmt.Sprintf(`"%d"`, min(changed.times, 5)), string(at))
			if text, _ := live.Annotation(ownership.LastAppliedAnnotation).String(); strings.Contains(text, "size") != (changed.times > 5) {
				t.Errorf("last-applied: %s", text)
			}
		})
	}
}

func TestInterruptedReleaseIsCompletedByRerun(t *testing.T) {
	yard := appliedIn(t)
	line := "release configmap/web .data.size -n " + yard
	said := handoff(t, between(t, func(_ int, text string) bool { return strings.Contains(text, `"`+ownership.LastAppliedAnnotation) }), line)
	if !strings.Contains(said, "is released, but "+release.WriterManager+" can still manage") || !strings.Contains(said, "[exit code 2]") {
		t.Errorf("interrupted: %s", said)
	}
	if got := annotationManagers(t, yard); got != release.WriterManager {
		t.Fatalf("the annotation is managed by %s", got)
	}
	if said = handoff(t, cluster.controlPlane.Kubeconfig, line); !strings.Contains(said, "web unchanged\n[exit code 0]") {
		t.Errorf("completed: %s", said)
	}
	expect.Equal(t, "managers of the annotation", "kubectl-client-side-apply", annotationManagers(t, yard))
}

func annotationManagers(t *testing.T, yard string) string {
	t.Helper()
	return managersOf(t, settings.live(t, yard), `.metadata.annotations["`+ownership.LastAppliedAnnotation+`"]`)
}
