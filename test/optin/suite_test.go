// Package optin tests that the API server sends handoff the writes of namespaces that have opted in, and of no others: the label by
// which it selects them, what keeps the label in step with the annotation, the permissions that this takes, and that users with
// rights in one namespace change nothing for others.
package optin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/golden"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	patience = 60 * time.Second
	// serviceAccount is the user of the webhook, with the permissions of manifests/base.
	serviceAccount = "system:serviceaccount:" + handofftest.Namespace + ":handoff-webhook"
	mode           = optin.Annotation
)

// cluster is shared by the tests, which do not run in parallel: they count reviews, and stop the webhook.
var cluster struct {
	plane      *controlplane.ControlPlane
	root       string
	kubeconfig string // of the ServiceAccount
	webhook    *handofftest.Webhook
	reader     *objects.Reader
}

// auditPolicy logs what the API server sends to webhooks.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, verbs: [create, update, patch]}
`

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "handoff-optin-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		policy := filepath.Join(dir, "audit.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return controlplane.Main(m.Run, os.Stderr, controlplane.Options{
			Output: os.Stderr, WithoutControllerManager: true,
			APIServerArgs: map[string][]string{
				"audit-policy-file": {policy}, "audit-log-path": {"{dir}/audit.log"}, "audit-log-mode": {"blocking"},
			},
		}, prepare)
	}())
}

// prepare installs what the webhook needs, and starts and registers it.
func prepare(ctx context.Context, plane *controlplane.ControlPlane) (err error) {
	cluster.plane = plane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	if cluster.reader, err = objects.NewReader(plane.Config); err != nil {
		return err
	}
	for _, file := range []string{
		"components/namespace/namespace.yaml", "base/serviceaccount.yaml", "base/rbac.yaml", "base/namespaces.yaml",
	} {
		path := filepath.Join(cluster.root, "manifests", file)
		if r := process.Run(ctx, nil, "", plane.Kubectl, "apply", "--validate=strict", "-f", path); r.Err != nil {
			return r.Err
		}
	}
	cluster.kubeconfig, err = plane.AddUser(serviceAccount,
		"system:serviceaccounts", "system:serviceaccounts:"+handofftest.Namespace, "system:authenticated")
	if err != nil {
		return err
	}
	return startWebhook(ctx, handofftest.Options{})
}

// startWebhook starts the webhook as the ServiceAccount, and registers it.
func startWebhook(ctx context.Context, options handofftest.Options) (err error) {
	options.Kubeconfig = cluster.kubeconfig
	cluster.webhook, err = handofftest.Start(ctx, cluster.plane, options)
	if err != nil {
		return err
	}
	if err := cluster.webhook.Register(ctx); err != nil {
		log := cluster.webhook.Log()
		return fmt.Errorf("%w\n%s", err, log[max(0, len(log)-2000):])
	}
	return nil
}

// kubectl runs a command that must succeed.
func kubectl(t *testing.T, stdin string, args ...string) process.Result {
	t.Helper()
	r := process.Run(t.Context(), nil, stdin, cluster.plane.Kubectl, args...)
	expect.NoError(t, r.Err)
	return r
}

func short(text string) string { return text[:min(len(text), 300)] }

// install replaces the webhook, and registers it.
func install(t *testing.T, options handofftest.Options) {
	t.Helper()
	err := errors.Join(cluster.webhook.Unregister(t.Context()), cluster.webhook.Stop())
	if err == nil {
		err = startWebhook(t.Context(), options)
	}
	expect.NoError(t, err)
}

// unregister removes the registration of the webhook until the test ends.
func unregister(t *testing.T) {
	t.Helper()
	expect.NoError(t, cluster.webhook.Unregister(t.Context()))
	t.Cleanup(func() { expect.NoError(t, cluster.webhook.Register(context.WithoutCancel(t.Context()))) })
}

// namespaceIn decodes the namespace that a command has printed with -o json.
func namespaceIn(t *testing.T, r process.Result) *corev1.Namespace {
	t.Helper()
	o := &corev1.Namespace{}
	if err := json.Unmarshal([]byte(r.Stdout), o); err != nil {
		t.Fatalf("%v: %s", err, short(r.Stdout))
	}
	return o
}

// newNamespace creates a namespace, and annotates it with a mode unless that is empty. It is never deleted, because there is no
// controller that would do it.
func newNamespace(t *testing.T, inMode string) (name string) {
	t.Helper()
	out := kubectl(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "optin-"}}`, "create", "-f-", "-o", "json")
	name = namespaceIn(t, out).Name
	if inMode != "" {
		kubectl(t, "", "annotate", "namespace", name, mode+"="+inMode)
	}
	return name
}

// startUnregistered starts a webhook that the API server does not call, with a user's permissions, until the test ends.
func startUnregistered(t *testing.T, kubeconfig string) *handofftest.Webhook {
	t.Helper()
	webhook, err := handofftest.Start(t.Context(), cluster.plane, handofftest.Options{Kubeconfig: kubeconfig})
	expect.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, webhook.Stop()) })
	return webhook
}

func get(t *testing.T, name string) *corev1.Namespace {
	t.Helper()
	o, err := cluster.reader.Get(t.Context(), "", "namespace", name)
	expect.NoError(t, err)
	read := &corev1.Namespace{}
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, read))
	return read
}

var labelPath = fieldpath.MakePathOrDie("metadata", "labels", optin.Label)

// label returns the label of a namespace, "none" if it has none.
func label(o *corev1.Namespace) string {
	value, ok := o.Labels[optin.Label]
	if !ok {
		return "none"
	}
	return value
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			log := cluster.webhook.Log()
			t.Fatalf("timed out after %s: %s\nwebhook: %s", patience, what, log[max(0, len(log)-2000):])
		}
	}
}

// metric returns the value of a metric of the webhook with its labels, as text; "" if there is none.
func metric(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimPrefix(strings.Join(metrics(t, name+" "), ""), name+" ")
}

// metrics returns the lines of the webhook's metrics that begin with a text.
func metrics(t *testing.T, prefix string) (lines []string) {
	t.Helper()
	text, err := cluster.webhook.Metrics(t.Context())
	expect.NoError(t, err)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// audited returns the requests in the audit log since an offset, except the API server's own, and the names of the webhooks that the API server called for
// each: "patch deployments: webhook.ownership-handoff.io".
func audited(t *testing.T, offset int64, namespace string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(golden.Read(t, cluster.plane.Dir, "audit.log")[offset:]) {
		var event struct {
			Verb        string
			Annotations map[string]string
			ObjectRef   struct{ Resource, Namespace string }
			User        struct{ Username string }
		}
		expect.NoError(t, json.Unmarshal([]byte(line), &event))
		if event.ObjectRef.Namespace != namespace || event.User.Username == "system:apiserver" {
			continue
		}
		var called []string
		for key, text := range event.Annotations {
			var mutation struct{ Webhook string }
			if strings.HasPrefix(key, "mutation.webhook.admission.k8s.io/round_") && json.Unmarshal([]byte(text), &mutation) == nil {
				called = append(called, mutation.Webhook)
			}
		}
		slices.Sort(called)
		lines = append(lines, event.Verb+" "+event.ObjectRef.Resource+": "+strings.Join(called, " "))
	}
	return lines
}

// auditOffset returns the current size of the audit log.
func auditOffset(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(cluster.plane.Dir, "audit.log"))
	expect.NoError(t, err)
	return info.Size()
}
