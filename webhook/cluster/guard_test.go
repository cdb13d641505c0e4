package cluster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// lookForGuard starts a Guard, which checks until the test ends.
func lookForGuard(t *testing.T, config *rest.Config, log logr.Logger) *cluster.Guard {
	t.Helper()
	h, err := rest.HTTPClientFor(config)
	expect.NoError(t, err)
	guard, err := cluster.NewGuard(config, h, log)
	expect.NoError(t, err)
	expect.Equal(t, "missing before its presence is known", false, guard.Missing())
	go func() { _ = guard.Run(t.Context()) }()
	return guard
}

// answering returns the configuration of an API server that answers all requests alike, and a channel of the requests' paths.
func answering(t *testing.T, status int, reason metav1.StatusReason) (*rest.Config, <-chan string) {
	t.Helper()
	paths := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		paths <- req.URL.Path
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + string(reason) + `"}`))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, paths
}

func TestTheGuardIsMissingOnlyIfTheAPIServerSaysSo(t *testing.T) {
	t.Parallel()
	absent, paths := answering(t, http.StatusNotFound, metav1.StatusReasonNotFound)
	guard := lookForGuard(t, absent, logr.Discard())
	eventually(t, "without the API", true, guard.Missing)
	for _, want := range []string{"/v1/", "/v1/", "/v1beta1/", "/v1beta1/"} {
		if got := <-paths; !strings.Contains(got, want+"mutatingadmissionpolicies/handoff-guard-") {
			t.Errorf("want a policy in %s, got %s", want, got)
		}
	}
	for status, reason := range map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	} {
		unreadable, _ := answering(t, status, reason)
		said := make(chan string, 100)
		guard := lookForGuard(t, unreadable, funcr.New(func(_, line string) { said <- line }, funcr.Options{}))
		if got := <-said; !strings.Contains(got, "cannot tell whether the guard is installed") {
			t.Errorf("%s: the log says %s", reason, got)
		}
		expect.Equal(t, "missing after "+string(reason), false, guard.Missing())
	}
}

// TestTheGuardIsFoundWithThePermissionsInTheManifests installs a policy of the guard without its binding, so that it does nothing.
func TestTheGuardIsFoundWithThePermissionsInTheManifests(t *testing.T) {
	if suite.plane.PoliciesVersion() != "v1" {
		t.Skip("the API server does not serve MutatingAdmissionPolicies in v1")
	}
	t.Parallel()
	const name = "reads-guard"
	roles, err := manifests.Objects[rbacv1.ClusterRole](manifests.Base, "ClusterRole")
	expect.NoError(t, err)
	role := &roles[slices.IndexFunc(roles, func(r rbacv1.ClusterRole) bool { return r.Name == "handoff-webhook" })]
	role.Name = name
	grant(t, name, role)
	guard := lookForGuard(t, user(t, name), logr.Discard())
	eventually(t, "before it is installed", true, guard.Missing)

	policies, err := manifests.Objects[admissionregistrationv1.MutatingAdmissionPolicy](manifests.Guard, "MutatingAdmissionPolicy")
	expect.NoError(t, err)
	for i := range policies {
		policy := &policies[i]
		create(t, policy)
		eventually(t, "with "+policy.Name, false, guard.Missing)
		expect.NoError(t, client.IgnoreNotFound(suite.client.Delete(context.Background(), policy)))
		eventually(t, "without "+policy.Name, true, guard.Missing)
	}
}
