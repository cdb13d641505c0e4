package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/objects"
	"github.com/ownership-handoff/handoff/test/proxy"
)

// behindTCP returns the administrator's kubeconfig with the address of a TCP proxy.
func behindTCP(t *testing.T) (kubeconfig string, p *proxy.TCP) {
	t.Helper()
	localOnly(t)
	server, err := url.Parse(cluster.Plane.Config.Host)
	expect.NoError(t, err)
	p = proxy.StartTCP(t, server.Host)
	return servedAt(t, cluster.Plane.Kubeconfig, "https://"+p.Address), p
}

// servedAt returns a copy of a kubeconfig with another server address.
func servedAt(t *testing.T, kubeconfig, address string) string {
	t.Helper()
	text := golden.Read(t, kubeconfig)
	changed := strings.Replace(text, strings.TrimSuffix(cluster.Plane.Config.Host, "/"), address, 1)
	if changed == text {
		t.Fatalf("%s is not in %s", cluster.Plane.Config.Host, kubeconfig)
	}
	return objects.Write(t, changed, t.TempDir(), "kubeconfig")
}

// applied returns a review of an apply in a namespace that would reset replicas from 7 to 3.
func applied(namespace string) string {
	const manifest = `{\"spec\":{\"replicas\":3}}`
	object := func(replicas string) string {
		return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"` + namespace + `","uid":"an-uid",` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + manifest + `"},"managedFields":[` +
			`{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":` +
			`{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:replicas":{}}}}]},` +
			`"spec":{"replicas":` + replicas + `}}`
	}
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE",` +
		`"kind":{"group":"apps","version":"v1","kind":"Deployment"},"namespace":"` + namespace + `","name":"web",` +
		`"options":{"fieldManager":"kubectl-client-side-apply"},"object":` + object("3") + `,"oldObject":` + object("7") + `}}`
}

// TestAPodWithoutTheAPIServerBecomesNotReady verifies that a pod with stale caches is not ready within 30 seconds, decides
// with its last known state, warns, exports a metric, and becomes ready again without a restart. TestFactsReportStaleWatches in
// webhook/cluster has other ways to lose the API server.
func TestAPodWithoutTheAPIServerBecomesNotReady(t *testing.T) {
	t.Parallel()
	kubeconfig, connection := behindTCP(t)
	n := newAutoscaled(t, serverSide()...)
	s := startServer(n, kubeconfig)
	s.ready()
	review := func() (kept bool, warnings string) {
		response, err := s.post(strings.NewReader(applied(n.name)))
		if err != nil || !response.Allowed {
			t.Fatalf("got %+v, %v", response, err)
		}
		return len(response.Patch) > 0, strings.Join(response.Warnings, "\n")
	}
	s.eventually("the autoscaler is known", func() bool { kept, _ := review(); return kept })
	if _, warnings := review(); strings.Contains(warnings, "cluster state") {
		t.Errorf("before: %s", warnings)
	}
	connection.Silence()
	lost := time.Now()
	for status := http.StatusOK; status == http.StatusOK; time.Sleep(100 * time.Millisecond) {
		if status, _ = s.get("/readyz"); time.Since(lost) > 30*time.Second {
			t.Fatal("the pod is still ready after 30 seconds")
		}
	}
	s.said("[-]caches: ", "namespaces have been stale since ")
	if kept, warnings := review(); !kept || !strings.HasPrefix(warnings, "handoff: cluster state is ") {
		t.Errorf("while it is stale: kept %t, %s", kept, warnings)
	}
	if !s.metricHas(`handoff_cache_age_seconds{resource="namespaces"} `) {
		t.Error("there is no metric of the caches' age")
	}
	if !strings.Contains(s.webhook.Log(), "namespaces have been stale since") {
		t.Error("the log does not report the stale caches")
	}
	connection.Pass()
	s.waitReady()
	if kept, warnings := review(); !kept || strings.Contains(warnings, "cluster state") {
		t.Errorf("when it is back: kept %t, %s", kept, warnings)
	}
}

// TestAPodThatStartsBeforeTheAPIServerWaits verifies that the pod does not exit and becomes ready without a restart.
func TestAPodThatStartsBeforeTheAPIServerWaits(t *testing.T) {
	t.Parallel()
	for sentence, args := range map[string][]string{"with a certificate": nil, "self-signed": {"--self-signed", "--namespace=default"}} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			kubeconfig, connection := behindTCP(t)
			connection.Silence()
			n := newNamespace(t, "enforce")
			s := startServer(n, kubeconfig, append(args, "--self-signed-secret="+n.name, "--webhook-configuration="+n.name)...)
			s.said("[-]caches: ", "are not listed yet: ", "did not answer")
			connection.Pass()
			s.eventually("its caches are filled", func() bool { status, _ := s.get("/readyz/caches"); return status == http.StatusOK })
			if args == nil {
				s.ready()
				return
			}
			s.eventually("it says that no API server trusts its certificate", func() bool {
				_, answer := s.get("/readyz?verbose")
				return strings.Contains(answer, "[!]") && strings.Contains(answer, "MutatingWebhookConfiguration "+n.name+" does not exist")
			})
		})
	}
}
