package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

const bow = `# The front of the shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  annotations: {round: "ROUND"}
spec:
  # What it starts with.
  replicas: REPLICAS # enough
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
      - image: registry.invalid/web
        name: app
`

func bowManifest(name, replicas string, round int) string {
	return strings.NewReplacer("NAME", name, "REPLICAS", replicas, "ROUND", strconv.Itoa(round)).Replace(bow)
}

// newStripNamespace returns a new namespace.
func newStripNamespace(t *testing.T) string {
	t.Helper()
	name := "strip-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "Test", "").Replace(t.Name()))
	must(t, "create", "namespace", name)
	return name
}

// must runs kubectl.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// autoscaleTo creates an autoscaler with a minimum of replicas, and waits until it has set them.
func autoscaleTo(t *testing.T, namespace, name, replicas string) {
	t.Helper()
	must(t, "autoscale", "-n", namespace, "deployment", name, "--min="+replicas, "--max=20")
	if err := eventually(replicas, "get", "-n", namespace, "deployment", name, "-o", "jsonpath={.spec.replicas}"); err != nil {
		t.Fatal(err)
	}
}

// stripped returns a manifest after kubectl handoff strip, and what it writes to standard error.
func stripped(t *testing.T, manifest string, args ...string) (out, errOut string) {
	t.Helper()
	t.Setenv("KUBECONFIG", cluster.controlPlane.Kubeconfig)
	t.Setenv("KUBECACHEDIR", filepath.Join(cluster.controlPlane.Dir, "cache"))
	var both [2]bytes.Buffer
	code := cli.Run(t.Context(), cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(manifest), Out: &both[0], ErrOut: &both[1]}, Version: "test", Now: time.Now,
	}, append([]string{"strip"}, args...))
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &both[1])
	}
	return both[0].String(), both[1].String()
}

// appliedText applies a manifest, and returns the replicas afterwards.
func appliedText(t *testing.T, manifest string, args ...string) (replicas string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cluster.controlPlane.Kubectl, append([]string{"apply", "-f", "-", "-o", "jsonpath={.spec.replicas}"}, args...)...)
	cmd.Stdin = strings.NewReader(manifest)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl apply: %w: %s", err, &errOut)
	}
	return string(out), nil
}

func TestStripPreventsConflictsOfServerSideApply(t *testing.T) {
	ns := newStripNamespace(t)
	if _, err := appliedText(t, bowManifest("web", "3", 0), "--server-side", "-n", ns); err != nil {
		t.Fatal(err)
	}
	autoscaleTo(t, ns, "web", "7")
	if _, err := appliedText(t, bowManifest("web", "3", 0), "--server-side", "-n", ns); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Fatalf("want a conflict without strip, got %v", err)
	}
	for round := range 25 {
		manifest := bowManifest("web", "3", round)
		out, errOut := stripped(t, manifest, "-n", ns)
		if want := strings.Replace(manifest, "  replicas: 3 # enough\n", "", 1); out != want {
			t.Fatalf("want\n%s\ngot\n%s", want, out)
		}
		if want := "standard input: deployment.apps/web: dropped .spec.replicas, owned by HorizontalPodAutoscaler/web\n"; errOut != want {
			t.Fatalf("want %q, got %q", want, errOut)
		}
		if replicas, err := appliedText(t, out, "--server-side", "-n", ns); replicas != "7" || err != nil {
			t.Fatalf("round %d: %s replicas, %v", round, replicas, err)
		}
	}
}

// An autoscaler that never had to scale does not manage the replicas: an apply without them deletes them, and they default to 1.
func TestStripSetsWhatOnlyTheManifestManages(t *testing.T) {
	ns := newStripNamespace(t)
	for _, mode := range [][]string{{"--server-side"}, {"--server-side=false"}} {
		name := "web-" + strings.NewReplacer("--server-side=false", "client", "--server-side", "server").Replace(mode[0])
		args := slices.Concat(mode, []string{"-n", ns})
		if _, err := appliedText(t, bowManifest(name, "3", 0), args...); err != nil {
			t.Fatal(err)
		}
		autoscaleTo(t, ns, name, "3")
		for round, replicas := range []string{"3", "5", "2"} {
			out, _ := stripped(t, bowManifest(name, replicas, round), "-n", ns)
			if want := bowManifest(name, "3", round); out != want {
				t.Fatalf("want\n%s\ngot\n%s", want, out)
			}
			if replicas, err := appliedText(t, out, args...); replicas != "3" || err != nil {
				t.Fatalf("%s: round %d: %s replicas, %v", mode, round, replicas, err)
			}
		}
		without := strings.Replace(bowManifest(name, "3", 9), "  replicas: 3 # enough\n", "", 1)
		if replicas, err := appliedText(t, without, slices.Concat(args, []string{"--dry-run=server"})...); replicas != "1" || err != nil {
			t.Errorf("%s: an apply without replicas results in %s, %v: this test shows nothing", mode, replicas, err)
		}
	}
}

// After kubectl handoff release, strip drops the field, and neither kind of apply deletes it.
func TestStripDropsReleasedFields(t *testing.T) {
	ns := newStripNamespace(t)
	for name, mode := range map[string]string{"client": "--server-side=false", "server": "--server-side"} {
		if _, err := appliedText(t, bowManifest(name, "3", 0), mode, "-n", ns); err != nil {
			t.Fatal(err)
		}
		autoscaleTo(t, ns, name, "3")
		if out := handoff(t, cluster.controlPlane.Kubeconfig, "release deployment/"+name+" .spec.replicas -n "+ns); !strings.Contains(out, "[exit code 0]") {
			t.Fatal(out)
		}
		for round := range 3 {
			out, _ := stripped(t, bowManifest(name, "5", round), "-n", ns)
			if strings.Contains(out, "replicas") {
				t.Fatalf("not dropped:\n%s", out)
			}
			if replicas, err := appliedText(t, out, mode, "-n", ns); replicas != "3" || err != nil {
				t.Fatalf("%s: round %d: %s replicas, %v", mode, round, replicas, err)
			}
		}
	}
}

// stripProgram returns a directory with the plugin and a script that runs it with the given arguments.
func stripProgram(t *testing.T, args string) (script string) {
	t.Helper()
	dir := t.TempDir()
	plugin := filepath.Join(dir, "kubectl-handoff")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", plugin, "../../cmd/kubectl-handoff").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script = filepath.Join(dir, "strip.sh")
	text := fmt.Sprintf("#!/bin/sh\nKUBECONFIG=%s KUBECACHEDIR=%s exec %s strip %s\n",
		cluster.controlPlane.Kubeconfig, filepath.Join(cluster.controlPlane.Dir, "cache"), plugin, args)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

func TestStripAsPostRendererOfHelm3(t *testing.T) {
	ns := newStripNamespace(t)
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	script := stripProgram(t, "-n "+ns)
	chart := t.TempDir()
	helm := func(round int, args ...string) string {
		t.Helper()
		for file, text := range map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n", "templates/web.yaml": bowManifest("web", "3", round),
		} {
			path := filepath.Join(chart, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "helm"), append(args, "web", chart, "-n", ns, "--kubeconfig", cluster.controlPlane.Kubeconfig)...)
		cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+chart, "HELM_CACHE_HOME="+chart, "HELM_DATA_HOME="+chart)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("helm %v: %v: %s; run make bin/helm", args, err, out)
		}
		return must(t, "get", "-n", ns, "deployment", "web", "-o", "jsonpath={.spec.replicas} {.metadata.annotations.round}")
	}
	helm(0, "install", "--post-renderer", script)
	autoscaleTo(t, ns, "web", "7")
	scaled := func() string { return must(t, "get", "-n", ns, "hpa", "web", "-o", "jsonpath={.status.lastScaleTime}") }
	if err := eventuallyDiffers("", scaled); err != nil {
		t.Fatal(err)
	}
	before := scaled()
	for round := 1; round <= 20; round++ {
		if got, want := helm(round, "upgrade", "--post-renderer", script), fmt.Sprintf("7 %d", round); got != want {
			t.Fatalf("round %d: got %s, want %s", round, got, want)
		}
	}
	if after := scaled(); after != before {
		t.Errorf("the autoscaler had to scale again: at %s, and at %s", before, after)
	}
	must(t, "delete", "hpa", "web", "-n", ns) // it would scale again at once
	if got := helm(21, "upgrade"); got != "3 21" {
		t.Errorf("without the post-renderer: got %s: this test shows nothing", got)
	}
}

func eventuallyDiffers(from string, read func() string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		if read() != from {
			return nil
		}
	}
	return fmt.Errorf("still %q", from)
}

func TestStripAsFunctionOfKustomize(t *testing.T) {
	ns := newStripNamespace(t)
	if _, err := appliedText(t, bowManifest("web", "3", 0), "--server-side", "-n", ns); err != nil {
		t.Fatal(err)
	}
	autoscaleTo(t, ns, "web", "7")
	script := stripProgram(t, "")
	dir := filepath.Dir(script)
	for file, text := range map[string]string{
		"web.yaml":           bowManifest("web", "3", 1),
		"kustomization.yaml": "namespace: " + ns + "\nresources: [web.yaml]\ntransformers: [strip.yaml]\n",
		"strip.yaml": "apiVersion: ownership-handoff.io/v1\nkind: Strip\nmetadata:\n  name: strip\n  annotations:\n" +
			"    config.kubernetes.io/function: |\n      exec: {path: ./strip.sh}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte("replicas:")) || !bytes.Contains(out, []byte(`round: "1"`)) {
		t.Errorf("got\n%s", out)
	}
	if replicas, err := appliedText(t, string(out), "--server-side"); replicas != "7" || err != nil {
		t.Errorf("%s replicas, %v", replicas, err)
	}
}
