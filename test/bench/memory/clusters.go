package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/seed"
	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// The targets for the largest cluster.
const (
	startTarget = 10 * time.Second
	heapTarget  = 1024 // bytes for each HorizontalPodAutoscaler
)

// clusterSize is the number of objects in a cluster.
type clusterSize struct{ namespaces, autoscalers int }

// clusterSizes grow in one number at a time.
func clusterSizes() []clusterSize {
	return []clusterSize{{1000, 1000}, {1000, 10_000}, {1000, 100_000}, {100_000, 100_000}}
}

// clusterCost is what the webhook costs in a cluster.
type clusterCost struct {
	clusterSize

	start    time.Duration // until it is ready
	resident int64         // the peak since it was started
	// webhook and apiServer are the CPU times until the webhook is ready.
	webhook, apiServer time.Duration
	heap               float64
}

// Clusters measures the real webhook with a real API server: the time from its start until it is ready, and its memory, in
// clusters with more and more HorizontalPodAutoscalers and namespaces.
func Clusters(ctx context.Context, progress io.Writer, newProcess NewProcess) (result table.Result, err error) {
	controlPlane, err := controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	if err := createOriginals(ctx, controlPlane); err != nil {
		return result, err
	}
	costs, now := []clusterCost{}, clusterSize{1, 1}
	for _, size := range clusterSizes() {
		if err := now.grow(ctx, controlPlane, size); err != nil {
			return result, err
		}
		cost, err := size.measure(ctx, controlPlane, newProcess)
		if err != nil {
			return result, fmt.Errorf("with %s: %w", size, err)
		}
		fmt.Fprintf(progress, "cluster: %s: %s\n", size, cost.describe())
		costs, now = append(costs, cost), size
	}
	whole, err := newProcess.hold(ctx, controlPlane.Kubeconfig, Whole, now.autoscalers)
	if err != nil {
		return result, err
	}
	return reportClusters(costs, whole), nil
}

func (s clusterSize) String() string {
	return fmt.Sprintf("%d HPAs, %d namespaces", s.autoscalers, s.namespaces)
}

// createOriginals creates the objects that are copied.
func createOriginals(ctx context.Context, controlPlane *controlplane.ControlPlane) error {
	api, err := unlimited(controlPlane.Config)
	if err != nil {
		return err
	}
	for _, object := range []func(int) (client.Object, error){namespace, autoscaler} {
		o, err := object(0)
		if err != nil {
			return err
		}
		if err := api.Create(ctx, o, client.FieldOwner("kubectl-client-side-apply")); err != nil {
			return fmt.Errorf("creating %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// grow adds copies of the first namespace and HorizontalPodAutoscaler until the cluster has a size.
func (s clusterSize) grow(ctx context.Context, controlPlane *controlplane.ControlPlane, to clusterSize) error {
	inNamespace := func(i int) [2]string { return [2]string{namespaceName(0), namespaceName(i)} }
	of := seed.Copies{
		Etcd: controlPlane.EtcdURL(), Key: "/registry/namespaces/" + namespaceName(0), From: s.namespaces, To: to.namespaces,
		Replace: func(i int) [][2]string { return [][2]string{inNamespace(i)} },
	}
	if err := of.Write(ctx); err != nil {
		return err
	}
	of.Key = "/registry/horizontalpodautoscalers/" + namespaceName(0) + "/" + autoscalerName(0)
	of.From, of.To = s.autoscalers, to.autoscalers
	of.Replace = func(i int) [][2]string {
		return [][2]string{inNamespace(i % namespaces), {autoscalerName(0), autoscalerName(i)}}
	}
	if err := of.Write(ctx); err != nil {
		return err
	}
	api, err := unlimited(controlPlane.Config)
	if err != nil {
		return err
	}
	last := &autoscalingv2.HorizontalPodAutoscaler{}
	last.Namespace, last.Name = namespaceName((to.autoscalers-1)%namespaces), autoscalerName(to.autoscalers-1)
	if err := seed.Await(ctx, api, last); err != nil {
		return err
	}
	namespace := &corev1.Namespace{}
	namespace.Name = namespaceName(to.namespaces - 1)
	return seed.Await(ctx, api, namespace)
}

// measure starts the webhook, and then a process with its cache alone, whose heap has no other content.
func (s clusterSize) measure(
	ctx context.Context, controlPlane *controlplane.ControlPlane, newProcess NewProcess,
) (cost clusterCost, err error) {
	cost.clusterSize = s
	apiServer, err := procs.Find("kube-apiserver", controlPlane.Dir)
	if err != nil {
		return cost, err
	}
	before, err := procs.CPU(apiServer)
	if err != nil {
		return cost, err
	}
	began := time.Now()
	webhook, err := handofftest.Start(ctx, controlPlane, handofftest.Options{})
	if err != nil {
		return cost, err
	}
	cost.start = time.Since(began)
	defer func() { err = errors.Join(err, webhook.Stop()) }()
	pid, err := procs.Find("handoff-webhook", controlPlane.Dir)
	if err != nil {
		return cost, err
	}
	if cost.webhook, err = procs.CPU(pid); err != nil {
		return cost, err
	}
	after, err := procs.CPU(apiServer)
	if err != nil {
		return cost, err
	}
	cost.apiServer = after - before
	if _, cost.resident, err = procs.Memory(pid); err != nil {
		return cost, err
	}
	held, err := newProcess.hold(ctx, controlPlane.Kubeconfig, Facts, s.autoscalers)
	cost.heap = float64(held.Bytes)
	return cost, err
}

func (c clusterCost) describe() string {
	return fmt.Sprintf("ready after %.2f s (CPU %.1f s, API server %.1f s), peak %.0f MB resident, cache %.1f MB of heap",
		c.start.Seconds(), c.webhook.Seconds(), c.apiServer.Seconds(), float64(c.resident)/1e6, c.heap/1e6)
}

func reportClusters(costs []clusterCost, whole Holding) (result table.Result) {
	starts, heaps := []table.Point{}, []table.Point{}
	for i, c := range costs {
		if c.namespaces == costs[0].namespaces {
			starts = append(starts, table.Point{float64(c.autoscalers), c.start.Seconds()})
			heaps = append(heaps, table.Point{float64(c.autoscalers), c.heap / 1e6})
		}
		row := table.Row{
			What:    "start and memory, " + c.String(),
			Handoff: c.describe(),
		}
		if i == len(costs)-1 {
			row.Reference = fmt.Sprintf("%.2f s, %.1f MB, typed cache without transforms", whole.Seconds, float64(whole.Bytes)/1e6)
			row.Ratio = table.Ratio{Value: c.start.Seconds() / whole.Seconds}
		}
		result.Rows = append(result.Rows, row)
	}
	least, most, last := costs[0], costs[len(costs)-2], costs[len(costs)-1]
	each := (most.heap - least.heap) / float64(most.autoscalers-least.autoscalers)
	result.Rows = append(result.Rows, table.Row{
		What: "heap for each HPA", Handoff: fmt.Sprintf("%.0f B", each), Reference: fmt.Sprintf("%d B, the target", heapTarget),
		Ratio: table.Ratio{Value: each / heapTarget}, Target: table.Ratio{Value: 1},
	}, table.Row{
		What: "start, " + last.String(), Handoff: fmt.Sprintf("%.2f s", last.start.Seconds()),
		Reference: fmt.Sprintf("%.0f s, the target", startTarget.Seconds()),
		Ratio:     table.Ratio{Value: last.start.Seconds() / startTarget.Seconds()}, Target: table.Ratio{Value: 1},
	}, table.SlopeRow("heap, by HPAs", heaps), table.SlopeRow("start, by HPAs", starts))
	result.Plots = []table.Plot{{
		Name: "cluster", Title: "Start and memory, by the number of HorizontalPodAutoscalers",
		X: table.Axis{Label: "HorizontalPodAutoscalers", Log: true}, Y: table.Axis{Label: "seconds, MB", Log: true},
		Series: []table.Series{{Name: "seconds until ready", Points: starts}, {Name: "MB of heap", Points: heaps}},
	}}
	return result
}
