package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Who sets the replicas of a workload beside its manifest.
const (
	autoscaled = "hpa"    // a real HorizontalPodAutoscaler
	scaled     = "scaler" // a client that is listed under autoscalers, through /scale
	byHand     = "person" // kubectl scale
	churned    = "churn"  // an HPA that the fault of that name creates and deletes
)

const (
	scalerManager = "cluster-proportional-autoscaler"
	idAnnotation  = "soak/write"
	manifestLimit = 7 // revisionHistoryLimit in the manifests
)

// workload is a Deployment. One client at a time applies it.
type workload struct {
	namespace, name, mode, owner, way string

	applying sync.Mutex
}

// intent is what a manifest sets. Its ID is stored in the object with it.
type intent struct {
	workload *workload
	id       string
	replicas int  // 0: nothing
	labels   bool // the label that people set, too
	// answered is when the client knew that an API server had stored it.
	announced, answered time.Time
}

// manifest returns the manifest of a workload.
func (in intent) manifest() map[string]any {
	labels := map[string]any{"app": in.workload.name}
	spec := map[string]any{
		"selector": map[string]any{"matchLabels": labels}, "revisionHistoryLimit": int64(manifestLimit),
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"schedulerName": "nobody", "containers": []any{map[string]any{"name": "app", "image": "registry.invalid/app:1"}},
		}},
	}
	if in.replicas > 0 {
		spec["replicas"] = int64(in.replicas)
	}
	metadata := map[string]any{
		"name": in.workload.name, "namespace": in.workload.namespace, "annotations": map[string]any{idAnnotation: in.id},
	}
	if in.labels {
		metadata["labels"] = map[string]any{"tier": "manifest"}
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec, "metadata": metadata}
}

// traffic are the writers of the soak.
type traffic struct {
	*clients

	books     atomic.Pointer[books]
	workloads []*workload
	programs  int // of so many applies, one is sent by the real program
	last      atomic.Int64
}

// namespaces returns the names of the namespaces with workloads.
func namespaces(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("soak-%02d", i))
	}
	return names
}

// modeOf returns the mode of a namespace: the last one has not opted in, and the one before only warns.
func modeOf(i, count int) string {
	switch count - i {
	case 1:
		return "off"
	case 2:
		return "warn"
	default:
		return "enforce"
	}
}

// newTraffic creates the namespaces and the workloads.
func newTraffic(m *machine, b *books, names []string, programs int) *traffic {
	m.Helper()
	t := &traffic{clients: newClients(m), programs: programs}
	t.books.Store(b)
	for i, namespace := range names {
		mode := modeOf(i, len(names))
		m.kubectl(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, annotations: {ownership-handoff.io/mode: %q}}}",
			namespace, mode), "apply", "-f", "-")
		for j, kind := range [][2]string{
			{autoscaled, serverSide}, {autoscaled, clientSide}, {scaled, serverSide}, {scaled, clientSide},
			{byHand, serverSide}, {byHand, clientSide}, {churned, clientSide}, {autoscaled, helm},
		} {
			if kind[1] == helm && i%5 != 0 {
				continue // each upgrade costs a second of CPU
			}
			t.add(&workload{namespace: namespace, name: fmt.Sprintf("%s-%d", kind[0], j), mode: mode, owner: kind[0], way: kind[1]})
		}
	}
	return t
}

func (t *traffic) add(w *workload) {
	t.machine.Helper()
	t.workloads = append(t.workloads, w)
	t.machine.must(t.apply(t.machine.Context(), w, 3, false, false))
	if w.owner == autoscaled {
		t.machine.must(t.createAutoscaler(t.machine.Context(), w))
	}
}

// autoscaler returns an HPA that follows the external metric of its namespace.
func (w *workload) autoscaler() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %s, name: %s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[2]s}
  minReplicas: 2
  maxReplicas: 8
  metrics: [{type: External, external: {metric: {name: load}, target: {type: AverageValue, averageValue: "1"}}}]
  behavior: {scaleUp: {policies: [{type: Pods, value: 8, periodSeconds: 1}]}, scaleDown: {policies: [{type: Pods, value: 8, periodSeconds: 1}]}}
`, w.namespace, w.name)
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err) // the text above
	}
	return o
}

func (t *traffic) createAutoscaler(ctx context.Context, w *workload) error {
	return client.IgnoreAlreadyExists(t.api.Create(ctx, w.autoscaler()))
}

// apply applies a manifest, and announces it to the books.
func (t *traffic) apply(ctx context.Context, w *workload, replicas int, labels, program bool) error {
	in := intent{workload: w, id: strconv.FormatInt(t.last.Add(1), 10), replicas: replicas, labels: labels && w.way != helm}
	t.books.Load().expect(in)
	warnings, err := t.clients.apply(ctx, in.manifest(), w.way, program)
	t.books.Load().applied(in.id, warnings, err)
	return err
}

// play writes until the context ends. It does not wait for writes in flight longer than these take.
func (t *traffic) play(ctx context.Context, writers int, think time.Duration) {
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { t.repeat(ctx, think, t.applyAny) })
	}
	all.Go(func() { t.repeat(ctx, 2*think, t.scaleAny) })
	all.Go(func() { t.repeat(ctx, 5*think, t.tuneAny) })
	all.Go(func() { t.repeat(ctx, 5*think, t.labelAny) })
	all.Go(func() {
		t.repeat(ctx, 10*think, func(context.Context) error {
			t.machine.metrics.Set(t.any().namespace, 2+rand.IntN(7))
			return nil
		})
	})
	all.Wait()
}

// repeat writes again and again. The books judge refusals by the audit log; here they only cost time.
func (t *traffic) repeat(ctx context.Context, think time.Duration, do func(context.Context) error) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		err := do(limited)
		cancel()
		t.books.Load().answered(err)
		time.Sleep(think/2 + rand.N(think))
	}
}

func (t *traffic) any() *workload { return t.workloads[rand.IntN(len(t.workloads))] }

func (t *traffic) applyAny(ctx context.Context) error {
	w := t.any()
	program := rand.IntN(t.programs) == 0
	if w.way == helm && !program || !w.applying.TryLock() {
		return nil
	}
	defer w.applying.Unlock()
	replicas := []int{0, 0, 3, 3, 4}[rand.IntN(5)]
	if w.way == helm { // docs/limits.md: nothing records what its manifest drops
		replicas = 3
	}
	return t.apply(ctx, w, replicas, rand.IntN(3) == 0, program)
}

func (t *traffic) scaleAny(ctx context.Context) error {
	w := t.any()
	manager := map[string]string{scaled: scalerManager, byHand: "kubectl"}[w.owner]
	if manager == "" {
		return nil
	}
	return t.patch(ctx, w.namespace, w.name, manager, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 2+rand.IntN(7)), "scale")
}

func (t *traffic) tuneAny(ctx context.Context) error {
	w := t.any()
	return t.patch(ctx, w.namespace, w.name, "tuner", fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, manifestLimit+1+rand.IntN(3)))
}

func (t *traffic) labelAny(ctx context.Context) error {
	w := t.any()
	if w.way == helm {
		return nil
	}
	return t.patch(ctx, w.namespace, w.name, "kubectl-label", fmt.Sprintf(`{"metadata":{"labels":{"tier":"person-%d"}}}`, rand.IntN(9)))
}

// skippedIn returns the reason of a warning that the webhook skipped a write.
func skippedIn(warnings []string) string {
	for _, w := range warnings {
		if _, reason, ok := strings.Cut(w, "handoff: skipped, "); ok {
			return reason
		}
		if strings.Contains(w, ": only replicas ") {
			return w
		}
	}
	return ""
}
