package optin_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// TestAnEndpointWithoutTheKeyOfTheCAIsNotAsked sends the API server to another server, as an attacker does who redirects the traffic of
// the webhook.
func TestAnEndpointWithoutTheKeyOfTheCAIsNotAsked(t *testing.T) {
	n := newNeighbor(t, "enforce")
	var asked atomic.Bool
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(impostor.Close)
	for sentence, c := range map[string]struct {
		ca    []byte
		asked bool
	}{
		"a certificate of another CA":              {cluster.webhook.CA, false},
		"a certificate that the API server trusts": {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: impostor.Certificate().Raw}), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			redirected := *cluster.webhook
			redirected.URL, redirected.CA = impostor.URL, c.ca
			reregister(t.Context(), t, cluster.webhook, &redirected)
			t.Cleanup(func() { reregister(context.WithoutCancel(t.Context()), t, &redirected, cluster.webhook) })
			asked.Store(false)
			seen, _, err := n.apply(t.Context(), client.DryRunAll)
			if err != nil || !strings.Contains(seen, "replicas 3,") || asked.Load() != c.asked {
				t.Errorf("want the write unmodified, and the server asked %v, got %v: %s, %v", c.asked, asked.Load(), seen, err)
			}
		})
	}
}

func reregister(ctx context.Context, t *testing.T, from, to *handofftest.Webhook) {
	t.Helper()
	expect.NoError(t, errors.Join(from.Unregister(ctx), to.Register(ctx)))
}
