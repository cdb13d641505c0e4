package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// program is a program that the tests play, a row of the table of versions.
type program struct {
	// name is that of its file in bin/clients.
	name, title string
	// folder contains the go.mod in test, and path is the module whose version is that of the program.
	folder, path string
	// how describes how the program is run. Reason is why it is not.
	how, reason string
	// optional reports whether machines may lack the program or have another version: the page is then what the last machine
	// that has it wrote.
	optional bool
}

func programs() []program {
	return []program{
		{name: "kubectl", title: "kubectl and the HPA controller", folder: "controlplane/parts", path: "k8s.io/kubernetes",
			how: "as they are"},
		{name: "helm", title: "Helm 3", folder: "programs", path: "helm.sh/helm/v3", how: "as it is"},
		{name: terraform, title: "Helm 3's library", folder: "programs", path: "helm.sh/helm/v3",
			how: "in a program named `" + terraform + "`, as Terraform's provider: the field manager is the name of the process"},
		{name: "helm4", title: "Helm 4", folder: "programs", path: "helm.sh/helm/v4", how: "as it is"},
		{name: "flux", title: "Flux", folder: "programs", path: "github.com/fluxcd/pkg/ssa",
			how: "the library that kustomize-controller applies with, and the options that the controller passes to it"},
		{name: "argocd", title: "Argo CD", folder: "clients/argocd", path: "github.com/argoproj/argo-cd/v3",
			how: "its application controller and repo server as they are, with a Redis in memory; the options are sync options"},
		{name: "ansible", title: "Ansible", optional: true, reason: withoutAnsible(),
			how: "the module `k8s` of its collection `kubernetes.core`, from Debian's packages; server-side with `force_conflicts`"},
		{name: "keda-operator", title: "KEDA", folder: "clients/keda", path: "github.com/kedacore/keda/v2",
			how: "its operator, as it is"},
		{name: "rollouts-controller", title: "Argo Rollouts", folder: "clients/rollouts", path: "github.com/argoproj/argo-rollouts",
			how: "its controller, as it is"},
	}
}

// withoutAnsible returns why Ansible cannot be played on this machine, and nothing if it can.
func withoutAnsible() string {
	if _, err := exec.LookPath("ansible"); err != nil {
		return "ansible is not installed"
	}
	if suite.all && suite.ansible() == "" {
		return "the collection kubernetes.core of Ansible is not installed"
	}
	return ""
}

// ansibleVersion returns the version of Ansible's collection on this machine, and nothing if it is not installed.
func ansibleVersion() string {
	out, _ := exec.Command("ansible-galaxy", "collection", "list", "kubernetes.core").Output() // it fails without the collection
	return regexp.MustCompile(`\d+\.\d+\.\d+\S*`).FindString(string(out))
}

func programByName(name string) program {
	for _, p := range programs() {
		if p.name == name {
			return p
		}
	}
	return program{}
}

// playable skips a client that cannot be played, or that is not among those of make test.
func playable(t *testing.T, by string, ci bool) {
	t.Helper()
	if !ci && !suite.all {
		t.Skip("played by make e2e-clients")
	}
	p := programByName(by)
	if p.reason != "" {
		t.Skip(p.reason)
	}
	if by == "kubectl" || by == "ansible" {
		return
	}
	if _, err := os.Stat(binary(by)); err != nil {
		t.Fatalf("finding %s: %v; run make e2e-clients", p.title, err)
	}
}

// version returns the version of a program in its go.mod, or that of Ansible's collection on this machine.
func (p program) version() string {
	if p.name == "ansible" {
		return suite.ansible()
	}
	text, err := os.ReadFile(filepath.Join(suite.root, "test", p.folder, "go.mod"))
	if err != nil {
		return err.Error()
	}
	found := regexp.MustCompile(`(?m)^(?:require)?\s+` + regexp.QuoteMeta(p.path) + ` (v\S+)`).FindSubmatch(text)
	if found == nil {
		return "unknown"
	}
	return string(found[1])
}

// row returns the version and the description of a program. Those of an optional program are on the page unless this run
// plays it.
func (p program) row(page map[key]string) (version, how string) {
	version, how = page[key{p.title, "version"}], page[key{p.title, "how it is run"}]
	switch {
	case p.optional && how != "" && (p.reason != "" || !suite.update):
		return version, how
	case p.reason != "":
		return "", "not played: " + p.reason
	default:
		return p.version(), p.how
	}
}
