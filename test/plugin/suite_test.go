package plugin_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/golden"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

const patience = 60 * time.Second

// cluster is shared by all tests: a control plane with the objects of testdata/objects.yaml, and a user with few permissions.
var cluster struct {
	controlPlane *controlplane.ControlPlane
	limited      string // kubeconfig of the user with few permissions
}

// generate configures the generators. With seed 0, each run uses another seed.
var generate struct {
	releases, previews int
	seed               uint64
}

func TestMain(m *testing.M) {
	flag.IntVar(&generate.releases, "releases", 25, "number of generated releases")
	flag.IntVar(&generate.previews, "previews", 45, "number of generated previews")
	flag.Uint64Var(&generate.seed, "seed", 1, "seed of the generators; 0 for another one each time")
	flag.Parse()
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{Output: os.Stderr}, prepare))
}

// checkGolden compares a text with a golden file, which is of the newest version of Kubernetes. Older ones differ in these places.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	var older []string
	for _, differs := range []struct {
		before        uint // this minor version
		newest, older string
	}{
		{35, "(17 fields)", "(16 fields)"}, // status.terminatingReplicas of a Deployment
		{36, "spec.maxReplicas: required value", "spec.maxReplicas: invalid value"},
		{ // values in errors are in the syntax of Go
			34, `{"Partition":0,"MaxUnavailable":null}`,
			"apps.RollingUpdateStatefulSetStrategy{Partition:0, MaxUnavailable:(*intstr.IntOrString)(nil)}",
		},
	} {
		if !cluster.controlPlane.Since(differs.before) {
			older = append(older, differs.newest, differs.older)
		}
	}
	golden.CheckEdited(t, name, got, older)
}

// prepare creates the objects, waits for their autoscalers, and makes the changes of a user.
func prepare(ctx context.Context, controlPlane *controlplane.ControlPlane) (err error) {
	cluster.controlPlane = controlPlane
	if cluster.limited, err = cluster.controlPlane.AddUser("limited"); err != nil {
		return err
	}
	for _, step := range []string{
		"apply -f testdata/first.yaml",
		"wait --for=condition=Established crd/gadgets.shop.example.com --timeout=60s",
		"apply -n shop -f testdata/objects.yaml",
		"apply -n shop -f testdata/api.yaml --server-side",
		`patch -n shop deployment web -p {"spec":{"revisionHistoryLimit":5}}`,
		`patch -n shop gadget web --subresource=status --type=merge -p {"status":{"selector":"app=web"}}`,
		"apply -n shop -f testdata/hpas.yaml",
		"wait -n shop hpa web worker web-pool --for=jsonpath={.status.lastScaleTime} --timeout=60s",
		"wait -n shop deployment web --for=jsonpath={.spec.replicas}=7 --timeout=60s",
		"wait -n shop deployment web --for=jsonpath={.status.replicas}=7 --timeout=60s",
		"wait -n shop deployment web worker --for=jsonpath={.status.unavailableReplicas}=7 --timeout=60s",
		"wait -n shop deployment api --for=jsonpath={.status.unavailableReplicas}=2 --timeout=60s",
		"wait -n shop gadget web --for=jsonpath={.spec.pool.size}=7 --timeout=60s",
	} {
		if _, err := kubectl(ctx, strings.Fields(step)...); err != nil {
			return err
		}
	}
	return nil
}

// kubectl returns the whole output of a command.
func kubectl(ctx context.Context, args ...string) (string, error) {
	r := process.Run(ctx, nil, "", cluster.controlPlane.Kubectl, args...)
	return r.Stdout + r.Stderr, r.Err
}

// must runs a kubectl command that must succeed, and play several of them.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(context.WithoutCancel(t.Context()), args...)
	expect.NoError(t, err)
	return out
}

func play(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		must(t, strings.Fields(line)...)
	}
}

// stored reads an object with its managedFields.
func stored(t *testing.T, object, namespace string) ownership.Object {
	t.Helper()
	o, err := ownership.ParseObject([]byte(must(t, "get", object, "-n", namespace, "-o", "json", "--show-managed-fields")))
	expect.NoError(t, err)
	return o
}

// handoff runs a command, and returns its output as shown on a terminal.
func handoff(t *testing.T, kubeconfig, line string) string {
	t.Helper()
	return handoffAt(t, time.Now(), kubeconfig, line)
}

// handoffAt runs handoff at a fixed time, so that ages in its output can be compared.
func handoffAt(t *testing.T, now time.Time, kubeconfig, line string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("KUBECACHEDIR", filepath.Join(cluster.controlPlane.Dir, "cache"))
	var both bytes.Buffer
	code := cli.Run(t.Context(), cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &both, ErrOut: &both}, Version: "test", Now: func() time.Time { return now },
	}, strings.Fields(line))
	return fmt.Sprintf("$ kubectl handoff %s\n%s[exit code %d]\n\n", line, &both, code)
}

// startWebhook starts the webhook, and makes the API server call it until the test ends.
func startWebhook(t *testing.T) *handofftest.Webhook {
	t.Helper()
	webhook, err := handofftest.Start(t.Context(), cluster.controlPlane, handofftest.Options{})
	expect.NoError(t, err)
	t.Cleanup(func() {
		play(t, "delete --ignore-not-found -f ../../manifests/base/webhook.yaml")
		_ = webhook.Stop() // a test can have stopped it
	})
	expect.NoError(t, webhook.Register(t.Context()))
	return webhook
}

func transcript(t *testing.T, kubeconfig string, lines ...string) string {
	t.Helper()
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(handoff(t, kubeconfig, line))
	}
	return all.String()
}
