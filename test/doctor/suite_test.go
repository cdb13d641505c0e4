// Package doctor_test tests kubectl handoff doctor on a real API server that calls the real webhook through a Service.
//
// The API server runs with --enable-aggregator-routing, so it connects to the endpoints of a Service itself and needs no
// kube-proxy. There are no nodes and no controllers: the tests create the pods and the endpoints.
package doctor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/plugin/doctor"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	patience  = 60 * time.Second
	namespace = handofftest.Namespace
	service   = "handoff-webhook"
	secret    = "handoff-webhook-tls"
	account   = "system:serviceaccount:" + namespace + ":handoff-webhook"
)

// cluster is shared by all tests.
var cluster struct {
	*controlplane.ControlPlane

	root string
	// address and port are those of the webhook, which runs as a process. The API server accepts no loopback address as an endpoint.
	address, port string
	certificate   certificate
	// version is the version of the webhook.
	version string
	webhook *handofftest.Webhook
	reader  *objects.Reader
	// manifests are those of handoff.
	manifests string
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{
		Output: os.Stderr, WithoutControllerManager: true,
		APIServerArgs: map[string][]string{"enable-aggregator-routing": {"true"}},
	}, prepare))
}

// prepare installs handoff and starts its webhook.
func prepare(ctx context.Context, controlPlane *controlplane.ControlPlane) (err error) {
	cluster.ControlPlane = controlPlane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	if cluster.address, err = addressOfThisMachine(); err != nil {
		return err
	}
	if cluster.reader, err = objects.NewReader(controlPlane.Config); err != nil {
		return err
	}
	if cluster.certificate, err = newCertificate(service+"."+namespace+".svc", 90*24*time.Hour); err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, filepath.Join(cluster.root, "bin", "handoff-webhook"), "--version").Output()
	if err != nil {
		return err
	}
	cluster.version = strings.TrimPrefix(strings.TrimSpace(string(output)), "handoff-webhook ")
	for _, step := range []func() error{render, apply, startWebhook, trustCA, storeCertificate, runPods, exposePods, optIn} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// startWebhook starts the webhook with the permissions of its ServiceAccount.
func startWebhook() error {
	dir := filepath.Join(cluster.Dir, "tls")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"tls.crt": cluster.certificate.chain, "tls.key": cluster.certificate.key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	kubeconfig, err := cluster.AddUser(account, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err != nil {
		return err
	}
	cluster.webhook, err = handofftest.Start(context.Background(), cluster.ControlPlane,
		handofftest.Options{Kubeconfig: kubeconfig, Args: []string{"--webhook-cert-dir=" + dir}})
	if err != nil {
		return err
	}
	at, err := url.Parse(cluster.webhook.URL)
	if err != nil {
		return err
	}
	cluster.port = at.Port()
	return nil
}

func addressOfThisMachine() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String(), nil
		}
	}
	return "", fmt.Errorf("this machine has no IPv4 address besides the loopback addresses: %v", addresses)
}

// render sets cluster.manifests: the manifests without the ResourceQuota: no controller computes its status, without which the API server
// refuses all pods.
func render() error {
	namespace, err := os.ReadFile(filepath.Join(cluster.root, "manifests", "components", "namespace", "namespace.yaml"))
	if err != nil {
		return err
	}
	manifests, err := kubectl("", "kustomize", filepath.Join(cluster.root, "manifests", "base"))
	if err != nil {
		return err
	}
	documents := []string{string(namespace)}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if !strings.Contains(document, "kind: ResourceQuota") {
			documents = append(documents, document)
		}
	}
	cluster.manifests = strings.Join(documents, "\n---\n")
	return nil
}

// apply installs the manifests as kubectl apply -k does.
func apply() error { return feed(cluster.manifests, "apply", "-f", "-") }

// trustCA sets the caBundle of each webhook, as cert-manager's cainjector does.
func trustCA() error {
	registered, err := cluster.reader.Get(context.Background(), "", "mutatingwebhookconfiguration", "handoff")
	if err != nil {
		return err
	}
	webhooks, _, err := unstructured.NestedSlice(registered.Object, "webhooks")
	if err != nil {
		return err
	}
	var operations []string
	for i := range webhooks {
		operations = append(operations, fmt.Sprintf(`{"op": "add", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q}`,
			i, base64Of(cluster.certificate.ca)))
	}
	return change("cainjector", "mutatingwebhookconfiguration/handoff", "["+strings.Join(operations, ",")+"]")
}

func base64Of(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

func storeCertificate() error { return store(cluster.certificate) }

func store(c certificate) error {
	return feed(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": %q, "namespace": %q},
		"data": {"tls.crt": %q, "tls.key": %q, "ca.crt": %q}}`, secret, namespace, base64Of(c.chain), base64Of(c.key), base64Of(c.ca)),
		"apply", "-f", "-")
}

// runPods creates two pods from the Deployment's template, which are ready.
func runPods() error {
	return errors.Join(runPod("handoff-webhook-1", "Running", "True"), runPod("handoff-webhook-2", "Running", "True"))
}

// runPod creates a pod from the Deployment's template.
func runPod(name, phase, ready string) error {
	create := applied(func(pod map[string]any) {
		metadata, _ := pod["metadata"].(map[string]any)
		metadata["name"], metadata["namespace"] = name, namespace
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
	}, "-n", namespace, "deployment", "handoff-webhook", "-o", "jsonpath={.spec.template}")
	return all(create, func() error { return setPodStatus(name, phase, ready) })()
}

// applied returns a function that gets an object, changes it and applies the result, which can be another object.
func applied(change func(o map[string]any), get ...string) func() error {
	return func() error {
		text, err := kubectl("", append([]string{"get"}, get...)...)
		if err != nil {
			return err
		}
		var o map[string]any
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return err
		}
		change(o)
		changed, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return feed(string(changed), "apply", "-f", "-")
	}
}

// setPodStatus sets the status of a pod, as a kubelet does.
func setPodStatus(name, phase, ready string) error {
	patch := fmt.Sprintf(`{"status": {
		"phase": %[3]q, "podIP": %[1]q, "podIPs": [{"ip": %[1]q}],
		"conditions": [{"type": "Ready", "status": %[2]q, "message": "containers with unready status: [webhook]"}]}}`, cluster.address, ready, phase)
	return cluster.reader.Patch(context.Background(), namespace, "pod", name, types.MergePatchType, patch, "kubelet", "status")
}

// exposePods creates the endpoints of the Service, as the endpoint controllers do.
func exposePods() error { return expose(cluster.port, true) }

func expose(port string, ready bool) error {
	addresses := map[bool]string{true: "addresses", false: "notReadyAddresses"}[ready]
	return feed(fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
			"metadata": {"name": %[1]q, "namespace": %[2]q, "labels": {"kubernetes.io/service-name": %[1]q}},
			"ports": [{"name": "webhook", "port": %[3]s, "protocol": "TCP"}],
			"endpoints": [{"addresses": [%[4]q], "conditions": {"ready": %[5]t}}]},
		{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": %[1]q, "namespace": %[2]q},
			"subsets": [{"ports": [{"name": "webhook", "port": %[3]s, "protocol": "TCP"}], %[6]q: [{"ip": %[4]q,
				"targetRef": {"kind": "Pod", "namespace": %[2]q, "name": "handoff-webhook-1"}}]}]}]}`,
		service, namespace, port, cluster.address, ready, addresses), "apply", "-f", "-")
}

// optIn creates a namespace in mode enforce.
func optIn() error {
	return feed(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations":
		{"ownership-handoff.io/mode": "enforce"}}}`, "apply", "-f", "-")
}

// change patches an object in the name of a field manager.
func change(manager, object, patch string) error {
	kind, name, _ := strings.Cut(object, "/")
	return cluster.reader.Patch(context.Background(), namespace, kind, name, types.JSONPatchType, patch, manager)
}

func kubectl(input string, args ...string) (string, error) {
	r := process.Run(context.Background(), nil, input, cluster.Kubectl, args...)
	return r.Stdout, r.Err
}

// feed runs a kubectl command whose output does not matter.
func feed(input string, args ...string) error {
	_, err := kubectl(input, args...)
	return err
}

// run runs a command line of the plugin.
func run(t *testing.T, kubeconfig string, args ...string) (code int, output, problems string) {
	t.Helper()
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("KUBECACHEDIR", filepath.Join(cluster.Dir, "cache"))
	var out, errOut bytes.Buffer
	code = cli.Run(t.Context(), cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut},
		Version:   cluster.version, Now: time.Now,
	}, args)
	return code, out.String(), errOut.String()
}

// diagnose returns the report of kubectl handoff doctor.
func diagnose(t *testing.T) (code int, report doctor.Report) {
	t.Helper()
	code, output, problems := run(t, cluster.Kubeconfig, "doctor", "-o", "json")
	if err := json.Unmarshal([]byte(output), &report); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", code, err, output, problems)
	}
	return code, report
}
