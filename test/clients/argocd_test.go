package clients_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// argocdNamespace is the namespace of Argo CD and of the Applications.
const argocdNamespace = "argocd"

// startArgoCD starts Argo CD.
func startArgoCD() error {
	p := suite.cluster.Plane
	if err := installCRDs("argocd", "applications.argoproj.io", "appprojects.argoproj.io"); err != nil {
		return err
	}
	settings := filepath.Join("testdata", "argocd.yaml")
	if r := process.Run(context.Background(), nil, "", p.Kubectl, "apply", "-f", settings); r.Err != nil {
		return r.Err
	}
	ports, err := process.FreePorts(6)
	if err != nil {
		return err
	}
	redis, repo := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	env := []string{
		"KUBECONFIG=" + p.Kubeconfig, "ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false", "HOME=" + p.Dir, "TMPDIR=" + p.Dir,
		"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(p.Dir, "ask-pass.sock"), "PATH=" + p.Dir + ":" + os.Getenv("PATH"),
	}
	// The image of Argo CD contains this script. It prints the signature of a commit, and these have none.
	if err := os.WriteFile(filepath.Join(p.Dir, "git-verify-wrapper.sh"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		return err
	}
	for name, args := range map[string][]string{
		"redis": {"redis", redis},
		"repo-server": {"repo-server", "--redis=" + redis, "--disable-tls", "--address=127.0.0.1", fmt.Sprintf("--port=%d", ports[1]),
			"--metrics-address=127.0.0.1", fmt.Sprintf("--metrics-port=%d", ports[2]), "--client-ca-path="},
		"application-controller": {"application-controller", "--redis=" + redis, "--repo-server=" + repo, "--repo-server-plaintext",
			fmt.Sprintf("--metrics-port=%d", ports[3]), "--namespace=" + argocdNamespace, "--self-heal-timeout-seconds=1",
			"--kubeconfig=" + p.Kubeconfig},
	} {
		// The image of Argo CD has such links, and the name of the process is the field manager of some of its requests.
		program := filepath.Join(p.Dir, "argocd-"+name)
		if err := os.Symlink(binary("argocd"), program); err != nil {
			return err
		}
		args := append(append(env[:len(env):len(env)], program), args...)
		// It is terminated with the control plane, because its command line contains the control plane's directory.
		if _, err := process.Start(filepath.Join(p.Dir, "argocd-"+name+".log"), "/usr/bin/env", args...); err != nil {
			return err
		}
	}
	return nil
}

// argocd returns Argo CD with options of an Application's syncs.
func argocd(name string, options ...string) *applier {
	by := sameEverywhere(name, "argocd", false, func(n *namespace, m fmt.Stringer) error {
		n.Helper()
		return n.sync(m, options)
	})
	by.replaces = slices.Contains(options, "Replace=true")
	return by
}

// sync commits a manifest and syncs the Application of the namespace to it.
func (n *namespace) sync(m fmt.Stringer, options []string) error {
	n.Helper()
	expect.NoError(n, suite.argocd())
	revision := n.commit(m)
	n.application(nil)
	list := string(jsontest.Encode(n.T, options))
	for deadline := time.Now().Add(patience); ; {
		state := n.operate(revision, list)
		if state["phase"] == "Succeeded" {
			return nil
		}
		// People would sync again if a replacement has met a controller's write, or an object that Argo CD does not know of yet.
		if text := fmt.Sprint(state); !isOverwritten(text) && !strings.Contains(text, "already exists") || time.Now().After(deadline) {
			return errors.New(fmt.Sprint(state["phase"], ": ", state["message"], ": ", state["syncResult"]))
		}
	}
}

// operate starts an operation of the Application of the namespace, and returns its state at the end.
func (n *namespace) operate(revision, options string) (state map[string]any) {
	n.Helper()
	id := string(uuid.NewUUID()) // distinguishes this operation from earlier ones
	n.kubectl("", "patch", "--namespace="+argocdNamespace, "application", n.name, "--type=merge", "-p", fmt.Sprintf(
		`{"operation":{"info":[{"name":"id","value":%q}],"sync":{"revision":%q,"syncOptions":%s}}}`, id, revision, options))
	n.eventually("Argo CD has synced", func() bool {
		state, _, _ = unstructured.NestedMap(n.app().Object, "status", "operationState")
		info, _, _ := unstructured.NestedSlice(state, "operation", "info")
		return state["finishedAt"] != nil && strings.Contains(fmt.Sprint(info), id)
	})
	return state
}

// commit commits a manifest to the repository of the namespace, and returns the revision.
func (n *namespace) commit(m fmt.Stringer) string {
	n.Helper()
	dir := filepath.Dir(n.write("repo/web.yaml", m.String()))
	git := func(args ...string) string {
		n.Helper()
		identity := []string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"}
		out, err := n.run("", "git", append(identity, args...)...)
		expect.NoError(n, err)
		return out
	}
	git("init", "--quiet")
	git("add", "web.yaml")
	git("commit", "--quiet", "--allow-empty", "--message=web")
	return strings.TrimSpace(git("rev-parse", "HEAD"))
}

// application creates the Application of the namespace, if there is none, with annotations.
func (n *namespace) application(annotations map[string]any) {
	n.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": n.name, "namespace": argocdNamespace, "annotations": annotations},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": "file://" + filepath.Join(n.dir, "repo"), "path": ".", "targetRevision": "HEAD"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": n.name},
		},
	}}
	if err := suite.api.Create(n.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		n.Fatal(err)
	}
}

// app reads the Application of the namespace.
func (n *namespace) app() *unstructured.Unstructured {
	n.Helper()
	o := object("argoproj.io/v1alpha1", "Application")
	expect.NoError(n, suite.api.Get(n.Context(), client.ObjectKey{Namespace: argocdNamespace, Name: n.name}, o))
	return o
}

// operation returns when the last sync of the Application has started.
func (n *namespace) operation() string {
	n.Helper()
	started, _, _ := unstructured.NestedString(n.app().Object, "status", "operationState", "startedAt")
	return started
}

// refreshed compares the Application with the cluster again, and returns whether it is Synced.
func (n *namespace) refreshed() string {
	n.Helper()
	n.kubectl("", "annotate", "--namespace="+argocdNamespace, "application", n.name, "argocd.argoproj.io/refresh=hard")
	var status string
	n.eventually("Argo CD has compared", func() bool {
		app := n.app()
		status, _, _ = unstructured.NestedString(app.Object, "status", "sync", "status")
		return app.GetAnnotations()["argocd.argoproj.io/refresh"] == "" && status != ""
	})
	return status
}

// TestArgoCDsDefaultDiffStaysOutOfSync verifies docs/gitops.md: after a keep, the default diff compares the manifest with the
// live object and reports OutOfSync, and the server-side diff reports Synced.
func TestArgoCDsDefaultDiffStaysOutOfSync(t *testing.T) {
	t.Parallel()
	playable(t, "argocd", false)
	for name, c := range map[string]struct {
		annotations map[string]any
		want        string
	}{
		"default diff":     {nil, "OutOfSync"},
		"server-side diff": {map[string]any{"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}, "Synced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, true)
			n.commit(first)
			expect.NoError(n, suite.argocd())
			n.application(c.annotations)
			n.mustSync(first)
			n.autoscale()
			n.mustSync(first)
			expect.Equal(t, "replicas", int32(7), n.replicas())
			expect.Equal(t, "status", c.want, n.refreshed())
			n.selfHeals(c.want == "OutOfSync")
		})
	}
}

// selfHeals enables self-healing and checks whether Argo CD syncs again and again, or never.
func (n *namespace) selfHeals(want bool) {
	n.Helper()
	n.kubectl("", "patch", "--namespace="+argocdNamespace, "application", n.name, "--type=merge", "-p",
		`{"spec":{"syncPolicy":{"automated":{"selfHeal":true}}}}`)
	before := n.operation()
	if !want {
		for range 3 { // each of which would start a sync if there was a difference
			n.refreshed()
		}
		expect.Equal(n, "the sync of an Application that does not differ", before, n.operation())
		return
	}
	for i := range 3 {
		n.eventually(fmt.Sprintf("sync %d by self-healing", i+1), func() bool {
			n.refreshed()
			now := n.operation()
			if now == before {
				return false
			}
			before = now
			return true
		})
	}
}

func (n *namespace) mustSync(m fmt.Stringer) {
	n.Helper()
	expect.NoError(n, n.sync(m, nil))
}
