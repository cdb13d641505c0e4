package soak_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/objects"
)

// prober asks an API server all the time whether an apply would be decided, with dry runs.
type prober struct {
	api    client.Client
	object *unstructured.Unstructured

	mutex sync.Mutex
	good  int       // answers in a row that were decided
	since time.Time // of the first of them
}

// enough is how many applies in a row must be decided after a fault.
const enough = 10

// newProbers starts a prober for each API server.
func newProbers(m *machine, w *workload) (all []*prober) {
	m.Helper()
	for _, s := range m.apis {
		config := rest.CopyConfig(m.config)
		config.Host = "https://" + hostOf(s.health)
		config.WarningHandlerWithContext = objects.Warnings{}
		config.Timeout = 5 * time.Second
		api, err := client.New(config, client.Options{})
		m.must(err)
		in := intent{workload: w, id: "probe", replicas: 17}
		p := &prober{api: api, object: &unstructured.Unstructured{Object: in.manifest()}}
		all = append(all, p)
		go func() {
			for ctx := m.Context(); ctx.Err() == nil; wait(ctx, 200*time.Millisecond) {
				p.ask(ctx)
			}
		}()
	}
	return all
}

func (p *prober) ask(ctx context.Context) {
	var warnings []string
	ctx = objects.WithWarnings(ctx, &warnings)
	//nolint:staticcheck // the object is unstructured
	err := p.api.Patch(ctx, p.object.DeepCopy(), client.Apply, client.FieldOwner("kubectl"), client.ForceOwnership, client.DryRunAll)
	decided := err == nil && strings.Contains(strings.Join(warnings, "\n"), "handoff: kept .spec.replicas")
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !decided {
		p.good = 0
		return
	}
	p.good++
	if p.good == 1 {
		p.since = time.Now()
	}
}

// reset forgets the answers so far.
func (p *prober) reset() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.good = 0
}

// recovered returns since when enough applies in a row were decided.
func (p *prober) recovered() (since time.Time, ok bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.since, p.good >= enough
}

// awaitRecovery waits until all API servers have answered enough applies in a row, and returns when the last of them recovered.
func awaitRecovery(ctx context.Context, probers []*prober) (at time.Time, ok bool) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; wait(ctx, 100*time.Millisecond) {
		at, ok = time.Time{}, true
		for _, p := range probers {
			since, recovered := p.recovered()
			ok = ok && recovered
			if since.After(at) {
				at = since
			}
		}
		if ok {
			return at, true
		}
	}
	return at, false
}
