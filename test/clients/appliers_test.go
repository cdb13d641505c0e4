package clients_test

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/jsontest"
)

// applier is a client that applies manifests, a row of the first table.
type applier struct {
	name string
	// by names the program in the table of versions.
	by string
	// ci reports whether make test plays the client.
	ci bool
	// replaces reports whether the client replaces whole objects.
	replaces bool
	// create applies the first manifest, apply the next ones. Adopt applies a manifest of an object that another client created.
	// Rollback returns to the manifest of the first revision.
	create, apply, adopt, rollback func(n *namespace, m fmt.Stringer) error
}

// scaler is a client that scales, a row of the second table.
type scaler struct {
	name, by string
	// to is the count that it scales to.
	to string
	// scale returns when the scaler has scaled Deployment/web, and leaves any value as an apply sets it. Remove deletes the
	// scaler's object.
	scale, remove func(n *namespace)
}

func hpa() *scaler {
	return &scaler{
		name: "HorizontalPodAutoscaler", by: "kubectl", to: "7",
		scale: (*namespace).autoscale,
		remove: func(n *namespace) {
			n.Helper()
			n.remove(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
			n.known(false)
		},
	}
}

// appliers returns the rows of the first table.
func appliers() []*applier {
	return []*applier{
		kubectl("kubectl apply"),
		kubectl("kubectl apply --server-side", "--server-side", "--force-conflicts"),
		helm("Helm 3", helmRun{program: "helm"}),
		helm("Helm 3, `--force`", helmRun{program: "helm", replaces: true, flags: []string{"--force"}}),
		helm("Helm 3's library", helmRun{program: terraform}),
		helm("Helm 4, as it comes", helmRun{program: "helm4", ci: true}),
		helm("Helm 4, `--force-conflicts`", helmRun{program: "helm4", ci: true, flags: []string{"--force-conflicts"}}),
		helm("Helm 4, `--server-side=false`", helmRun{program: "helm4", ci: true, flags: []string{"--server-side=false"}}),
		helm("Helm 4, `--server-side=false --force-replace`",
			helmRun{program: "helm4", replaces: true, flags: []string{"--server-side=false", "--force-replace"}}),
		helm("Helm 4 after Helm 3", helmRun{program: "helm4", before: "helm"}),
		helm("Helm 4 after Helm 3, `--server-side=true --force-conflicts`",
			helmRun{program: "helm4", before: "helm", flags: []string{"--server-side=true", "--force-conflicts"}}),
		flux(),
		argocd("Argo CD"),
		argocd("Argo CD, `ServerSideApply=true`", "ServerSideApply=true"),
		argocd("Argo CD, `Replace=true`", "Replace=true"),
		ansible("Ansible, without `apply`", map[string]any{"apply": false}),
		ansible("Ansible, `apply: true`", nil),
		ansible("Ansible, `apply: true` and `server_side_apply`",
			map[string]any{"server_side_apply": map[string]any{"field_manager": "ansible", "force_conflicts": true}}),
	}
}

// sameEverywhere returns a client for which every apply is the same.
func sameEverywhere(name, by string, ci bool, apply func(n *namespace, m fmt.Stringer) error) *applier {
	return &applier{name: name, by: by, ci: ci, create: apply, apply: apply, adopt: apply, rollback: apply}
}

func kubectl(name string, flags ...string) *applier {
	return sameEverywhere("`"+name+"`", "kubectl", false, func(n *namespace, m fmt.Stringer) error {
		n.Helper()
		args := append([]string{"--namespace", n.name, "apply", "-f", "-"}, flags...)
		_, err := n.run(m.String(), suite.cluster.Plane.Kubectl, args...)
		return err
	})
}

func flux() *applier {
	return sameEverywhere("Flux", "flux", true, func(n *namespace, m fmt.Stringer) error {
		n.Helper()
		_, err := n.run(m.String(), binary("flux"), "--kubeconfig", suite.cluster.Plane.Kubeconfig, "--namespace", n.name)
		return err
	})
}

// ansible returns Ansible's module kubernetes.core.k8s with more parameters.
func ansible(name string, parameters map[string]any) *applier {
	return sameEverywhere(name, "ansible", false, func(n *namespace, m fmt.Stringer) error {
		n.Helper()
		args := map[string]any{
			"state": "present", "apply": true, "kubeconfig": suite.cluster.Plane.Kubeconfig, "namespace": n.name,
			"src": n.write("web.yaml", m.String()),
		}
		maps.Copy(args, parameters)
		text := string(jsontest.Encode(n.T, args))
		_, err := n.run("", "ansible", "localhost", "--connection=local", "--module-name=kubernetes.core.k8s", "--args="+text)
		return err
	})
}

// terraform is the file name of the program with Helm's library: a name as Terraform's provider has it, because the field
// manager is the name of the process.
const terraform = "terraform-provider-helm_v3.0.2_x5"

// helmRun describes how Helm is run.
type helmRun struct {
	// program upgrades releases. Before installs them; the default is the same program.
	program, before string
	flags           []string
	ci, replaces    bool
}

func helm(name string, run helmRun) *applier {
	run.before = cmp.Or(run.before, run.program)
	own := func(program string) []string { // flags for a program: those of the newer one mean nothing to the older
		if program != run.program {
			return nil
		}
		return run.flags
	}
	return &applier{
		name: name, by: run.program, ci: run.ci, replaces: run.replaces,
		create: func(n *namespace, m fmt.Stringer) error { return upgrade(n, run.before, m, own(run.before)) },
		apply:  func(n *namespace, m fmt.Stringer) error { return upgrade(n, run.program, m, run.flags) },
		adopt: func(n *namespace, m fmt.Stringer) error {
			return upgrade(n, run.program, m, append([]string{"--take-ownership"}, run.flags...))
		},
		rollback: func(n *namespace, _ fmt.Stringer) error {
			return runHelm(n, run.program, run.flags, "rollback", "web", "1")
		},
	}
}

// upgrade upgrades the release web to a chart with the manifest, or installs it.
func upgrade(n *namespace, program string, m fmt.Stringer, flags []string) error {
	n.Helper()
	chart := filepath.Dir(n.write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"))
	n.write("chart/templates/web.yaml", m.String())
	if program != terraform { // which installs what it cannot upgrade
		flags = append([]string{"--install"}, flags...)
	}
	return runHelm(n, program, flags, "upgrade", "web", chart)
}

// isOverwritten reports whether an error says that someone else has written an object between a client's request for it and its write.
func isOverwritten(message string) bool {
	return strings.Contains(message, "the object has been modified")
}

func runHelm(n *namespace, program string, flags []string, command ...string) error {
	n.Helper()
	flags = append([]string{"--kubeconfig=" + suite.cluster.Plane.Kubeconfig, "--namespace=" + n.name}, flags...)
	args := slices.Concat(command, flags)
	if program == terraform {
		args = slices.Concat(flags, command)
	}
	for {
		_, err := n.run("", binary(program), args...)
		switch {
		case err == nil:
			return nil
		case !isOverwritten(err.Error()):
			return fmt.Errorf("%s: %w", program, err)
		}
		n.settled() // a replacement has met a controller's write, and is run again as people would do
	}
}
