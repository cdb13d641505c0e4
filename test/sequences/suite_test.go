// Package sequences plays generated sequences of 20 to 200 writes by manifests, users and controllers on a real API server, with and
// without the webhook. After each write, it compares the stored objects and the API server's answers, and what handoff has kept with
// test/ledger.
//
// Each sequence has two objects of the same name. The opted object is in a namespace that has opted in. The twin is not, and becomes
// a copy of the opted object before each write, so that every difference was made by that write.
package sequences_test

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/ledger"
	"github.com/ownership-handoff/handoff/test/objects"
)

var (
	sequencesFlag = flag.Int("sequences", 42, "number of sequences to play")
	firstFlag     = flag.Int("first", -1, "index of the first sequence; -1 goes on where the last run of the seed in -totals has ended")
	seedFlag      = flag.Uint64("seed", 41, "seed of the sequences; 0 goes on with that of the last run in -totals, or chooses one and prints it")
	totalsFlag    = flag.String("totals", "", "file that adds up the sequences of runs without findings")
	onlyFlag      = flag.Int("only", -1, "play only the sequence with this index")
	kindFlag      = flag.String("kind", "", "play only sequences of this kind")
	kubectlFlag   = flag.Bool("kubectl", false, "play all sequences with the real kubectl")
	workersFlag   = flag.Int("workers", 4, "number of sequences to play concurrently")
	webhookFlag   = flag.String("webhook", "", "the webhook's binary (default bin/handoff-webhook)")
)

var (
	//go:embed testdata/widgets.yaml
	widgets string
	//go:embed testdata/policy.yaml
	policy string
)

var cluster struct {
	controlPlane *controlplane.ControlPlane
	webhook      *handofftest.Webhook
	client       client.Client
	reader       ledger.Reader
	kinds        []*kind
	scenarios    []scenario
	alternatives map[string][]any // other values of fields whose values are restricted
}

// TestMain starts a control plane without controllers, so that nothing else writes between two writes of a sequence.
func TestMain(m *testing.M) {
	flag.Parse()
	options := controlplane.Options{Output: os.Stderr, WithoutControllerManager: true}
	run := func() int {
		code := m.Run()
		if err := cluster.webhook.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "sequences:", err)
			return 1
		}
		return code
	}
	os.Exit(controlplane.Main(run, os.Stderr, options, prepare))
}

// prepare creates the namespaces before it starts the webhook, so that the webhook knows them when it is ready.
func prepare(ctx context.Context, started *controlplane.ControlPlane) (err error) {
	cluster.controlPlane, cluster.reader = started, ledger.NewReader()
	cluster.kinds, cluster.scenarios, cluster.alternatives = readGrammar()
	config := rest.CopyConfig(started.Config)
	config.QPS = -1
	config.WarningHandlerWithContext = objects.Warnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	for _, text := range append(strings.Split(policy, "---\n"), objects.CRD("sequences.example.com", "Widget", widgets)) {
		object := &unstructured.Unstructured{}
		decode([]byte(text), &object.Object)
		if err := cluster.client.Create(ctx, object); err != nil {
			return err
		}
	}
	for _, k := range cluster.kinds {
		for _, role := range []string{opted, twin} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.namespace(role)}}
			if role == opted {
				namespace.Annotations = map[string]string{optin.Annotation: "enforce"}
			}
			if err := cluster.client.Create(ctx, namespace); err != nil {
				return fmt.Errorf("creating a namespace of %s: %w", k.Kind, err)
			}
		}
	}
	options, err := webhookOptions(started.Dir)
	if err != nil {
		return err
	}
	if cluster.webhook, err = handofftest.Start(ctx, started, options); err != nil {
		return err
	}
	if err := errors.Join(cluster.webhook.Register(ctx), waitReady(ctx)); err != nil {
		return errors.Join(err, cluster.webhook.Stop())
	}
	return nil
}

// waitReady waits until the API server enforces the policy and serves the custom resources.
func waitReady(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		denied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "denied", Namespace: metav1.NamespaceDefault, Annotations: map[string]string{"note": "no"},
		}}
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("sequences.example.com/v2")
		list.SetKind("WidgetList")
		return cluster.client.Create(ctx, denied, client.FieldOwner(clientSide), client.DryRunAll) != nil && cluster.client.List(ctx, list) == nil, nil
	})
}

// webhookOptions returns options with rules for some fields of each kind, and a longer timeout than usual, so that no
// write is unreviewed because of a busy machine.
func webhookOptions(dir string) (handofftest.Options, error) {
	var options handofftest.Options
	root, err := controlplane.Root()
	if err != nil {
		return options, err
	}
	var rules strings.Builder
	rules.WriteString("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nrules:\n")
	for _, k := range cluster.kinds {
		group := cmp.Or(k.gvk().Group, "core")
		if len(k.Rules) > 0 {
			fmt.Fprintf(&rules, "- {name: %s, kinds: [{group: %s, kind: %s}], fields: ['%s'], writers: [%s]}\n",
				strings.ToLower(k.Kind), group, k.Kind, strings.Join(k.Rules, "', '"), tuner)
		}
	}
	manifests := filepath.Join(dir, "manifests")
	base, err := filepath.Rel(manifests, filepath.Join(root, "manifests", "base"))
	if err != nil {
		return options, err
	}
	overlay := "resources: [" + base + "]\npatches:\n- target: {kind: MutatingWebhookConfiguration}\n" +
		"  patch: '[{\"op\": \"replace\", \"path\": \"/webhooks/0/timeoutSeconds\", \"value\": 30}]'\n"
	options = handofftest.Options{Binary: *webhookFlag, Config: filepath.Join(dir, "config.yaml"), Manifests: manifests}
	return options, errors.Join(
		os.Mkdir(manifests, 0o700),
		os.WriteFile(filepath.Join(manifests, "kustomization.yaml"), []byte(overlay), 0o600),
		os.WriteFile(options.Config, []byte(rules.String()), 0o600),
	)
}
