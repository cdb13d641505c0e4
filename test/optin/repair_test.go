package optin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/golden"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

// TestLabelsAreRepairedAfterAnOutage changes namespaces while no webhook answers.
func TestLabelsAreRepairedAfterAnOutage(t *testing.T) {
	annotated, removed, forged, untouched := newNamespace(t, ""), newNamespace(t, "enforce"), newNamespace(t, ""), newNamespace(t, "")
	expect.NoError(t, cluster.webhook.Stop())
	kubectl(t, "", "annotate", "namespace", annotated, mode+"=enforce")
	kubectl(t, "", "annotate", "namespace", removed, mode+"-")
	kubectl(t, "", "label", "namespace", forged, mode+"="+strings.Repeat("x", 63))
	for name, want := range map[string]string{annotated: "none", removed: "enforce", forged: strings.Repeat("x", 63)} {
		if got := label(get(t, name)); got != want {
			t.Fatalf("while no webhook answers: want label %s, got %s", want, got)
		}
	}
	before := get(t, untouched).ResourceVersion

	// Every pod repairs labels, also one that the API server does not call.
	other := startUnregistered(t, cluster.kubeconfig)
	install(t, handofftest.Options{})
	for name, want := range map[string]string{annotated: "enforce", removed: "none", forged: "none"} {
		eventually(t, "the label is "+want, func() bool { return label(get(t, name)) == want })
		expect.Equal(t, "managers of the label", []string(nil), objects.FieldManagers(get(t, name), labelPath))
		line := `"made the label of a namespace follow its mode annotation","namespace":"` + name + `"`
		if !strings.Contains(cluster.webhook.Log()+other.Log(), line) {
			t.Errorf("the log does not contain the repair of %s", name)
		}
	}
	eventually(t, "the metrics say so", func() bool { return metric(t, "handoff_stale_namespace_labels") == "0" })
	repaired := strings.Count(cluster.webhook.Log()+other.Log(), `"made the label of a namespace follow its mode annotation"`)
	if repaired < 3 || repaired > 6 {
		t.Errorf("want 3 namespaces repaired by one of two pods each, or by both at the same time, got %d repairs", repaired)
	}
	expect.Equal(t, "the version of a namespace without a mode", before, get(t, untouched).ResourceVersion)
	expect.Equal(t, "after the repair, the API server's calls", written(byNamespace), play(t, annotated, ""))
}

// TestRepairsThatCannotSucceed verifies that a webhook that may not patch namespaces, or that the API server does not call for a
// namespace, says so and keeps answering.
func TestRepairsThatCannotSucceed(t *testing.T) {
	name := newNamespace(t, "")
	kubectl(t, "", "label", "namespace", name, "ownership-handoff.io/system=true") // excluded, as handoff's own namespace
	kubectl(t, "", "annotate", "namespace", name, mode+"=enforce")
	defer func() { kubectl(t, "", "annotate", "namespace", name, mode+"-") }()
	eventually(t, "the repair has no effect", func() bool {
		return metric(t, `handoff_namespace_label_repairs_total{result="not_called"}`) != ""
	})
	expect.Equal(t, "namespaces with a stale label", "1", metric(t, "handoff_stale_namespace_labels"))

	const reader = "system:serviceaccount:elsewhere:reader"
	kubeconfig, err := cluster.plane.AddUser(reader)
	expect.NoError(t, err)
	kubectl(t, "", "create", "clusterrolebinding", "reader", "--clusterrole=handoff-webhook", "--user="+reader)
	webhook := startUnregistered(t, kubeconfig) // it is not ready
	eventually(t, "the repair is forbidden", func() bool {
		text, err := webhook.Metrics(t.Context())
		return err == nil && strings.Contains(text, `handoff_namespace_label_repairs_total{result="forbidden"}`)
	})
	expect.Equal(t, "log lines that say what is forbidden", 1, strings.Count(webhook.Log(), "cannot patch resource"))
}

// TestTheDocumentedCommandsForTheLabel runs the commands of docs/install.md that remove the annotations and labels after handoff is
// uninstalled.
func TestTheDocumentedCommandsForTheLabel(t *testing.T) {
	page := golden.Read(t, cluster.root, "docs", "install.md")
	cleanup := regexp.MustCompile(`(?s)\nkubectl annotate namespaces --all .*?\n` + "```").FindString(page)
	if cleanup == "" {
		t.Fatal("the commands are not in docs/install.md")
	}
	unregister(t)
	modes := map[string]string{"enforce": "enforce", "warn": "warn", "off": "none", "": "none"}
	names := map[string]string{}
	for mode, want := range modes {
		names[mode] = newNamespace(t, mode)
		if want != "none" {
			kubectl(t, "", "label", "namespace", names[mode], optin.Label+"="+want)
		}
	}
	shell := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(cluster.plane.Kubectl)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	shell(strings.TrimSuffix(cleanup, "```"))
	for mode := range modes {
		o := get(t, names[mode])
		if _, annotated := o.Annotations[optin.Annotation]; label(o) != "none" || annotated {
			t.Errorf("after the cleanup, mode %q: label %s", mode, label(o))
		}
	}
}
