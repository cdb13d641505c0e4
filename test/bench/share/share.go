// Package share measures the share of a namespace's writes that reach the webhook.
package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/recorder"
)

// The two namespaces. Handoff is enabled, autoscalers scale and users roll out in both; manifests are applied in only one.
const (
	withoutApplies = "without-applies"
	withApplies    = "with-applies"
)

const (
	rounds = 10
	// target is the exclusive upper limit for the share of the namespace without applies.
	target = 0.15
)

// bench is a control plane with a webhook whose reviews are counted.
type bench struct {
	controlPlane *controlplane.ControlPlane
	webhook      *handofftest.Webhook
	recorder     *recorder.Recorder
	api          client.Client
	progress     io.Writer
}

// Measure runs a mixed load and compares the number of reviews with the number of writes in the API server's audit log.
func Measure(ctx context.Context, progress io.Writer) (rows []table.Row, err error) {
	b := &bench{progress: progress}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	kubelet, err := b.startKubelet(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := b.measure(ctx)
	if err := errors.Join(err, kubelet.stop()); err != nil {
		return nil, err
	}
	for _, namespace := range []string{withoutApplies, withApplies} {
		counts.print(progress, namespace)
		rows = append(rows, counts.row(namespace))
	}
	return rows, nil
}

// measure sets up the namespaces, runs the load, and counts reviews and writes during the load.
func (b *bench) measure(ctx context.Context) (*counts, error) {
	for _, namespace := range []string{withoutApplies, withApplies} {
		if err := b.setUp(ctx, namespace); err != nil {
			return nil, fmt.Errorf("setting up namespace %s: %w", namespace, err)
		}
	}
	audit, err := openAudit(filepath.Join(b.controlPlane.Dir, auditLog))
	if err != nil {
		return nil, err
	}
	defer audit.close()
	before := map[string]int{withoutApplies: b.recorder.Count(withoutApplies), withApplies: b.recorder.Count(withApplies)}
	for round := range rounds {
		began := time.Now()
		if err := b.play(ctx, round); err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
		fmt.Fprintf(b.progress, "share: round %d of %d took %.0f s\n", round+1, rounds, time.Since(began).Seconds())
	}
	counts, err := audit.counts()
	if err != nil {
		return nil, err
	}
	for namespace := range before {
		counts.reviews[namespace] = b.recorder.Count(namespace) - before[namespace]
	}
	return counts, nil
}

func (b *bench) start(ctx context.Context) (err error) {
	// The API server needs the policy file before the control plane's directory exists.
	dir, err := os.MkdirTemp("", "handoff-bench-*")
	if err != nil {
		return fmt.Errorf("creating a directory for the audit policy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	b.controlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Output: b.progress,
		APIServerArgs: map[string][]string{
			"audit-log-path": {"{dir}/" + auditLog}, "audit-policy-file": {policy}, "audit-log-maxsize": {"10000"},
		},
	})
	if err != nil {
		return err
	}
	if b.api, err = clientOf(b.controlPlane.Kubeconfig); err != nil {
		return err
	}
	if b.webhook, err = handofftest.Start(ctx, b.controlPlane, handofftest.Options{}); err != nil {
		return err
	}
	if b.recorder, err = recorder.InFrontOf(b.webhook); err != nil {
		return err
	}
	return b.webhook.Register(ctx)
}

// stop stops the webhook before the control plane, because the API server waits for open watches.
func (b *bench) stop() error {
	var failures []error
	if b.webhook != nil {
		failures = append(failures, b.webhook.Stop())
	}
	if b.recorder != nil {
		b.recorder.Close()
	}
	if b.controlPlane != nil {
		failures = append(failures, b.controlPlane.Stop())
	}
	return errors.Join(failures...)
}

// clientOf returns a client for the user of a kubeconfig.
func clientOf(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	config.QPS = -1
	return stage.NewClient(config)
}
