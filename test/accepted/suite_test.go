// Package accepted generates sequences of writes by manifests, users and controllers, and runs them on a real API server with the
// webhook. After each apply, it verifies that handoff has kept the fields that its warnings name, that the API server has
// accepted the write if it accepts it without handoff, and that everything else is the same as without handoff.
//
// The object without handoff comes from a server-side dry run of the same write on the same live object, with the annotation
// that turns handoff off for the object. The two writes differ in nothing else: neither in history, nor in allocated addresses,
// nor in managedFields.
package accepted_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

var (
	sequencesFlag = flag.Int("sequences", 200, "number of sequences to run")
	seedFlag      = flag.Uint64("seed", 41, "seed of the sequences; 0 chooses one and prints it")
	onlyFlag      = flag.Int("only", -1, "run only the sequence with this index")
	kindFlag      = flag.String("kind", "", "run only sequences of this kind")
	workersFlag   = flag.Int("workers", 4, "number of sequences to run concurrently")
	failuresFlag  = flag.String("failures", "", "write all classes of failures with their replays to this file")
	exploreFlag   = flag.Bool("explore", false, "report only rejected applies, and continue after other failures")
	shrinkFlag    = flag.Bool("shrink", true, "minimize the replay of a failure")
)

// cluster is shared by the sequences. Each kind has a separate namespace in mode enforce, so that a ResourceQuota or LimitRange
// does not affect other kinds.
var cluster struct {
	controlPlane *controlplane.ControlPlane
	webhook      *handofftest.Webhook
	client       client.Client
}

// TestMain starts a control plane without controllers, so that nothing else writes between two writes of a sequence.
func TestMain(m *testing.M) {
	flag.Parse()
	options := controlplane.Options{Output: os.Stderr, WithoutControllerManager: true}
	run := func() int {
		code := m.Run()
		if err := cluster.webhook.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "accepted:", err)
			return 1
		}
		return code
	}
	os.Exit(controlplane.Main(run, os.Stderr, options, prepare))
}

// prepare creates the namespaces before it starts the webhook, so that the webhook knows them when it is ready.
func prepare(ctx context.Context, started *controlplane.ControlPlane) (err error) {
	cluster.controlPlane = started
	config := rest.CopyConfig(started.Config)
	config.QPS = -1
	config.WarningHandlerWithContext = collectWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	for _, k := range kinds() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: k.namespace(), Annotations: map[string]string{ownership.ModeAnnotation: "enforce"},
		}}
		if err := cluster.client.Create(ctx, namespace); err != nil {
			return fmt.Errorf("creating the namespace of %s: %w", k.gvk.Kind, err)
		}
	}
	options, err := webhookOptions(started.Dir)
	if err != nil {
		return err
	}
	if cluster.webhook, err = handofftest.Start(ctx, started, options); err != nil {
		return err
	}
	if err := cluster.webhook.Register(ctx); err != nil {
		return errors.Join(err, cluster.webhook.Stop())
	}
	return nil
}

// webhookOptions returns options with controller rules for some fields of each kind, and a longer timeout than usual, so that no
// write is unreviewed because of a busy machine.
func webhookOptions(dir string) (handofftest.Options, error) {
	var options handofftest.Options
	root, err := controlplane.Root()
	if err != nil {
		return options, err
	}
	var rules strings.Builder
	rules.WriteString("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\ncontrollers:\n")
	for _, k := range kinds() {
		group := k.gvk.Group
		if group == "" {
			group = "core"
		}
		if len(k.ruled) > 0 {
			fmt.Fprintf(&rules, "- {group: %s, kind: %s, fields: ['%s']}\n", group, k.gvk.Kind, strings.Join(k.ruled, "', '"))
		}
	}
	manifests := filepath.Join(dir, "manifests")
	base, err := filepath.Rel(manifests, filepath.Join(root, "manifests", "base"))
	if err != nil {
		return options, err
	}
	overlay := "resources: [" + base + "]\npatches:\n- target: {kind: MutatingWebhookConfiguration}\n" +
		"  patch: '[{\"op\": \"replace\", \"path\": \"/webhooks/0/timeoutSeconds\", \"value\": 30}]'\n"
	options = handofftest.Options{Config: filepath.Join(dir, "config.yaml"), Manifests: manifests}
	return options, errors.Join(
		os.Mkdir(manifests, 0o700),
		os.WriteFile(filepath.Join(manifests, "kustomization.yaml"), []byte(overlay), 0o600),
		os.WriteFile(options.Config, []byte(rules.String()), 0o600),
	)
}

// warningsKey is the context key for the warnings of requests.
type warningsKey struct{}

// collectWarnings stores each warning in the context of its request.
type collectWarnings struct{}

func (collectWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if to, ok := ctx.Value(warningsKey{}).(*[]string); ok && code == 299 {
		*to = append(*to, text)
	}
}
