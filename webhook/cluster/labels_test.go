package cluster_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
)

// refusing refuses patches of one namespace, as a policy can, and counts the patches of each namespace.
type refusing struct {
	http.RoundTripper
	refused string

	mutex   sync.Mutex
	patched map[string]int
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	name, isNamespace := strings.CutPrefix(req.URL.Path, "/api/v1/namespaces/")
	if req.Method != http.MethodPatch || !isNamespace {
		return r.RoundTripper.RoundTrip(req)
	}
	r.mutex.Lock()
	r.patched[name]++
	r.mutex.Unlock()
	if name != r.refused {
		return r.RoundTripper.RoundTrip(req)
	}
	return &http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: req, Body: http.NoBody, Header: http.Header{},
	}, nil
}

func (r *refusing) patches(name string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.patched[name]
}

// TestARefusedRepairDelaysNoOtherNamespace repairs labels while a policy refuses the update of one namespace. No webhook corrects a
// label in this control plane, so each repair is an attempt.
func TestARefusedRepairDelaysNoOtherNamespace(t *testing.T) {
	t.Parallel()
	state := watching(t, suite.plane.Config)
	refused := namespace(t, map[string]string{optin.Annotation: "warn"}).Name
	requests := &refusing{refused: refused, patched: map[string]int{}}
	config := rest.CopyConfig(suite.plane.Config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		requests.RoundTripper = rt
		return requests
	})
	client, err := rest.HTTPClientFor(config)
	expect.NoError(t, err)
	labels, err := state.RepairLabels(config, client, logr.Discard())
	expect.NoError(t, err)
	go func() { _ = labels.Run(t.Context()) }()
	eventually(t, "the repair is refused", true, func() bool { return requests.patches(refused) > 0 })

	began := time.Now()
	other := namespace(t, map[string]string{optin.Annotation: "warn"}).Name
	eventually(t, "the other namespace is repaired", true, func() bool { return requests.patches(other) > 0 })
	if waited := time.Since(began); waited > 10*time.Second {
		t.Errorf("the other namespace was repaired after %s", waited)
	}
	eventually(t, "the refused repair is repeated", true, func() bool { return requests.patches(refused) > 2 })
}
