package plugin_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/release"
)

// settings is an object that no controller changes in between.
var settings = released{
	object: "configmap/web", field: ".data.size",
	manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {size: big, zone: a}\n",
}

// between returns a kubeconfig for a person whose patches are seen first: seen is given the number of each, from 1, and its
// text, and says whether it may go on.
func between(t *testing.T, seen func(patch int, text string) (goOn bool)) (kubeconfig string) {
	t.Helper()
	transport, err := rest.TransportFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(cluster.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	patches := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			patches++
			text, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(text))
			if err != nil || !seen(patches, string(text)) {
				http.Error(w, "the network has gone", http.StatusServiceUnavailable)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// appliedIn applies settings in a yard of its own.
func appliedIn(t *testing.T) (yard string) {
	t.Helper()
	yard = newYard(t, "conflict")
	before, _ := files(t, settings.manifest)
	settings.play(t, yard, before, []string{"apply -f MANIFEST"})
	return yard
}

func TestAChangeInBetweenIsSeenAndPlannedAnew(t *testing.T) {
	for name, changed := range map[string]struct {
		times int // how many patches come too late
		want  string
	}{
		"once":         {1, "configmap/web released .data.size\n"},
		"four times":   {4, "configmap/web released .data.size\n"},
		"all the time": {100, "error: configmap/web: others changed it at each of 5 attempts; nothing is released, try again\n"},
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
			if at := live.Value(annotation("example.com/at")); string(at) != fmt.Sprintf(`"%d"`, min(changed.times, 5)) {
				t.Errorf("what was changed in between is %s", at)
			}
			if text, _ := live.LastApplied(); strings.Contains(text, "size") != (changed.times > 5) {
				t.Errorf("last-applied: %s", text)
			}
		})
	}
}

func TestAReleaseThatWasCutShortIsFinishedByTheSameCommand(t *testing.T) {
	yard := appliedIn(t)
	line := "release configmap/web .data.size -n " + yard
	said := handoff(t, between(t, func(_ int, text string) bool { return strings.Contains(text, "~1last-applied") }), line)
	if !strings.Contains(said, "is released, but "+release.WriterManager+" still manages") || !strings.Contains(said, "[exit code 2]") {
		t.Errorf("cut short: %s", said)
	}
	if got := claimantsOf(t, yard); got != release.WriterManager {
		t.Fatalf("the annotation is %s's", got)
	}
	if said = handoff(t, cluster.Kubeconfig, line); !strings.Contains(said, "web unchanged\n[exit code 0]") {
		t.Errorf("finished: %s", said)
	}
	if got := claimantsOf(t, yard); got != "kubectl-client-side-apply" {
		t.Errorf("the annotation is %s's", got)
	}
}

func claimantsOf(t *testing.T, yard string) string {
	t.Helper()
	return managersOf(t, string(settings.live(t, yard).Text()), `.metadata.annotations["`+ownership.LastAppliedAnnotation+`"]`)
}

// TestADryRunWritesNothing holds that for both kinds.
func TestADryRunWritesNothing(t *testing.T) {
	yard := appliedIn(t)
	before := settings.live(t, yard).Value(version())
	for _, kind := range []string{"client", "server"} {
		said := handoff(t, cluster.Kubeconfig, "release configmap/web .data.size --dry-run="+kind+" -o yaml --show-managed-fields -n "+yard)
		if strings.Contains(said, `"size":`) || !strings.Contains(said, "manager: "+release.PersonManager+"\n") ||
			strings.Contains(said, release.WriterManager) {
			t.Errorf("%s: the object as it would be:\n%s", kind, said)
		}
	}
	if after := settings.live(t, yard).Value(version()); !bytes.Equal(after, before) {
		t.Errorf("resourceVersion was %s and is %s", before, after)
	}
}

func annotation(name string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", name)
}

func version() fieldpath.Path { return fieldpath.MakePathOrDie("metadata", "resourceVersion") }
