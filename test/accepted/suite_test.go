// Package accepted generates sequences of writes by manifests, people and controllers, plays them on a real API server
// behind the real webhook, and checks after each apply that handoff kept what it says it kept, refused nothing that the
// API server accepts without it, and left everything else as it is without it.
//
// The object without handoff is a server-side dry run of the same write on the same live object, with the annotation that
// turns handoff off for this object in the write. So one write with handoff is compared with one write without it, and
// nothing else differs: no history, no allocated address, no managedFields.
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
	sequencesFlag = flag.Int("sequences", 200, "how many sequences of writes are played")
	seedFlag      = flag.Uint64("seed", 41, "seed of the sequences; 0: one is chosen and printed")
	onlyFlag      = flag.Int("only", -1, "play this sequence alone")
	kindFlag      = flag.String("kind", "", "play sequences of this kind alone")
	workersFlag   = flag.Int("workers", 4, "how many sequences are played at a time")
	failuresFlag  = flag.String("failures", "", "a file for every class of failure with its replay")
	exploreFlag   = flag.Bool("explore", false, "report refused applies alone, and go on after anything else that breaks")
	shrinkFlag    = flag.Bool("shrink", true, "make the replay of a failure smaller")
)

// cluster is what the sequences share. Each kind has a namespace of its own in mode enforce: a ResourceQuota or a
// LimitRange must not decide about other objects.
var cluster struct {
	*controlplane.Plane
	webhook *handofftest.Webhook
	client  client.Client
}

// TestMain starts a control plane without controllers: between two writes of a sequence, nobody else writes.
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

// prepare creates the namespaces before the webhook starts, so that it knows them once it is ready.
func prepare(ctx context.Context, started *controlplane.Plane) (err error) {
	cluster.Plane = started
	config := rest.CopyConfig(started.Config)
	config.QPS = -1
	config.WarningHandlerWithContext = collectWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	for _, k := range kinds() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: k.namespace(), Annotations: map[string]string{ownership.ModeAnnotation: "enforce"},
		}}
		if err := cluster.client.Create(ctx, namespace); err != nil {
			return fmt.Errorf("namespace of %s: %w", k.Kind, err)
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

// webhookOptions configures a controller for some fields of each kind, and gives the webhook more time than the API server
// usually grants: a busy machine must not decide what goes through unreviewed.
func webhookOptions(dir string) (handofftest.Options, error) {
	var options handofftest.Options
	root, err := controlplane.Root()
	if err != nil {
		return options, err
	}
	var rules strings.Builder
	rules.WriteString("apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\ncontrollers:\n")
	for _, k := range kinds() {
		group := k.Group
		if group == "" {
			group = "core"
		}
		if len(k.ruled) > 0 {
			fmt.Fprintf(&rules, "- {group: %s, kind: %s, fields: ['%s']}\n", group, k.Kind, strings.Join(k.ruled, "', '"))
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

// warningsKey is where a context holds the warnings of the requests that are made with it.
type warningsKey struct{}

// collectWarnings hands each warning to the context of its request.
type collectWarnings struct{}

func (collectWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if to, ok := ctx.Value(warningsKey{}).(*[]string); ok && code == 299 {
		*to = append(*to, text)
	}
}
