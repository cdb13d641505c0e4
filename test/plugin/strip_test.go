package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/objects"
)

func bowManifest(t *testing.T, replicas string, round int) string {
	t.Helper()
	return strings.NewReplacer("NAME", "web", "REPLICAS", replicas, "ROUND", strconv.Itoa(round)).Replace(golden.Read(t, "testdata/bow.yaml"))
}

// autoscaleTo creates an autoscaler with a minimum of replicas, and waits until it has set them.
func autoscaleTo(t *testing.T, namespace, name, replicas string) {
	t.Helper()
	must(t, "autoscale", "-n", namespace, "deployment", name, "--min="+replicas, "--max=20")
	must(t, "wait", "-n", namespace, "deployment", name, "--for=jsonpath={.spec.replicas}="+replicas, "--timeout=60s")
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
	r := process.Run(t.Context(), nil, manifest, cluster.controlPlane.Kubectl, append([]string{"apply", "-f", "-", "-o", "jsonpath={.spec.replicas}"}, args...)...)
	return r.Stdout, r.Err
}

// TestStripKeepsTheAutoscalersReplicas strips manifests with changing replicas, and applies them. An autoscaler that never had to
// scale does not manage the replicas: an apply without them would default them to 1, so strip sets them.
func TestStripKeepsTheAutoscalersReplicas(t *testing.T) {
	const serverSide, clientSide = "--server-side", "--server-side=false"
	without := func(manifest string) string {
		return regexp.MustCompile(` {2}replicas: .*\n`).ReplaceAllString(manifest, "")
	}
	for sentence, c := range map[string]struct {
		mode, scaled string
		release      bool
		// fails is a manifest whose apply fails, or results in other replicas.
		fails string
	}{
		"server-side, scaled":     {serverSide, "7", false, bowManifest(t, "3", 9)},
		"server-side, not scaled": {serverSide, "3", false, without(bowManifest(t, "3", 9))},
		"client-side, not scaled": {clientSide, "3", false, without(bowManifest(t, "3", 9))},
		"server-side, released":   {serverSide, "3", true, bowManifest(t, "5", 9)},
		"client-side, released":   {clientSide, "3", true, bowManifest(t, "5", 9)},
	} {
		t.Run(sentence, func(t *testing.T) {
			ns := newYard(t, "strip")
			_, err := appliedText(t, bowManifest(t, "3", 0), c.mode, "-n", ns)
			expect.NoError(t, err)
			autoscaleTo(t, ns, "web", c.scaled)
			if c.release {
				if out := handoff(t, cluster.controlPlane.Kubeconfig, "release deployment/web .spec.replicas -n "+ns); !strings.Contains(out, "[exit code 0]") {
					t.Fatal(out)
				}
			}
			if replicas, err := appliedText(t, c.fails, c.mode, "-n", ns, "--dry-run=server"); err == nil && replicas == c.scaled {
				t.Fatalf("without strip, %s replicas: this test shows nothing", replicas)
			}
			for round, replicas := range []string{"3", "5", "2", "3"} {
				manifest := bowManifest(t, replicas, round)
				want := bowManifest(t, "3", round)
				if c.release || c.scaled != "3" {
					want = without(manifest)
				}
				out, said := stripped(t, manifest, "-n", ns)
				if out != want {
					t.Fatalf("want\n%s\ngot\n%s", want, out)
				}
				if says := "dropped .spec.replicas, owned by HorizontalPodAutoscaler/web\n"; c.scaled != "3" && said != "standard input: deployment.apps/web: "+says {
					t.Fatalf("got %q", said)
				}
				if got, err := appliedText(t, out, c.mode, "-n", ns); got != c.scaled || err != nil {
					t.Fatalf("round %d: %s replicas, %v", round, got, err)
				}
			}
		})
	}
}

// stripProgram returns a script that runs the plugin, as make build has built it, with the given arguments.
func stripProgram(t *testing.T, args string) (script string) {
	t.Helper()
	root, err := controlplane.Root()
	expect.NoError(t, err)
	script = filepath.Join(t.TempDir(), "strip.sh")
	text := fmt.Sprintf("#!/bin/sh\nKUBECONFIG=%s KUBECACHEDIR=%s exec %s strip %s\n",
		cluster.controlPlane.Kubeconfig, filepath.Join(cluster.controlPlane.Dir, "cache"), filepath.Join(root, "bin", "kubectl-handoff"), args)
	expect.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	return script
}

func TestStripAsPostRendererOfHelm3(t *testing.T) {
	ns := newYard(t, "strip")
	root, err := controlplane.Root()
	expect.NoError(t, err)
	script := stripProgram(t, "-n "+ns)
	helm := func(round int, args ...string) string {
		t.Helper()
		chart, environment := objects.Chart(t, bowManifest(t, "3", round))
		r := process.Run(t.Context(), environment, "", filepath.Join(root, "bin", "helm"),
			append(args, "web", chart, "-n", ns, "--kubeconfig", cluster.controlPlane.Kubeconfig)...)
		if r.Err != nil {
			t.Fatalf("%v; run make bin/helm", r.Err)
		}
		return must(t, "get", "-n", ns, "deployment", "web", "-o", "jsonpath={.spec.replicas} {.metadata.annotations.round}")
	}
	helm(0, "install", "--post-renderer", script)
	autoscaleTo(t, ns, "web", "7")
	scaled := func() string { return must(t, "get", "-n", ns, "hpa", "web", "-o", "jsonpath={.status.lastScaleTime}") }
	must(t, "wait", "-n", ns, "hpa", "web", "--for=jsonpath={.status.lastScaleTime}", "--timeout=60s")
	before := scaled()
	for round := 1; round <= 10; round++ {
		if got, want := helm(round, "upgrade", "--post-renderer", script), fmt.Sprintf("7 %d", round); got != want {
			t.Fatalf("round %d: got %s, want %s", round, got, want)
		}
	}
	expect.Equal(t, "replicas before and after, which the autoscaler need not change", before, scaled())
	must(t, "delete", "hpa", "web", "-n", ns) // it would scale again at once
	expect.Equal(t, "without the post-renderer, unless this test shows nothing", "3 11", helm(11, "upgrade"))
}

func TestStripAsFunctionOfKustomize(t *testing.T) {
	ns := newYard(t, "strip")
	_, err := appliedText(t, bowManifest(t, "3", 0), "--server-side", "-n", ns)
	expect.NoError(t, err)
	autoscaleTo(t, ns, "web", "7")
	script := stripProgram(t, "")
	dir := filepath.Dir(script)
	for file, text := range map[string]string{
		"web.yaml":           bowManifest(t, "3", 1),
		"kustomization.yaml": "namespace: " + ns + "\nresources: [web.yaml]\ntransformers: [strip.yaml]\n",
		"strip.yaml": "apiVersion: ownership-handoff.io/v1\nkind: Strip\nmetadata:\n  name: strip\n  annotations:\n" +
			"    config.kubernetes.io/function: |\n      exec: {path: ./strip.sh}\n",
	} {
		objects.Write(t, text, dir, file)
	}
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
	options.PluginConfig.FnpLoadingOptions.EnableExec = true
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	expect.NoError(t, err)
	out, err := resources.AsYaml()
	expect.NoError(t, err)
	if bytes.Contains(out, []byte("replicas:")) || !bytes.Contains(out, []byte(`round: "1"`)) {
		t.Errorf("got\n%s", out)
	}
	if replicas, err := appliedText(t, string(out), "--server-side"); replicas != "7" || err != nil {
		t.Errorf("%s replicas, %v", replicas, err)
	}
}
