package doctor_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/golden"
)

// user adds a user with permissions, each a kubectl create command without its last argument.
func user(t *testing.T, name string, permissions ...string) (kubeconfig string) {
	t.Helper()
	kubeconfig, err := cluster.AddUser(name)
	expect.NoError(t, err)
	grant(t, name, permissions...)
	return kubeconfig
}

// grant runs kubectl create commands, in which USER is a user.
func grant(t *testing.T, user string, permissions ...string) {
	t.Helper()
	for _, command := range permissions {
		must(t, runs(append([]string{"create"}, strings.Fields(strings.ReplaceAll(command, "USER", user))...)...))
	}
}

func must(t *testing.T, steps ...func() error) {
	t.Helper()
	expect.NoError(t, all(steps...)())
}

// anyCode is any exit code.
const anyCode = -1

// eventually waits until a command of the plugin has an exit code and an output. The API server and the webhook notice changes late.
func eventually(t *testing.T, sentence, kubeconfig, command string, code int, wants ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		got, output, errors := run(t, kubeconfig, strings.Fields(command)...)
		missing := slices.DeleteFunc(slices.Clone(wants), func(want string) bool { return strings.Contains(output+errors, want) })
		if (got == code || code == anyCode) && len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: want exit code %d and %q, got %d:\n%s%s", sentence, code, missing, got, output, errors)
		}
	}
}

func TestUsersSeeWhatTheyMayRead(t *testing.T) {
	waitHealthy(t)
	limited := user(t, "limited")
	eventually(t, "without permissions", limited, "doctor", cli.ExitPartial, "not everything could be checked",
		"partial: configuration: mutatingwebhookconfigurations.admissionregistration.k8s.io is forbidden", "partial: namespaces: namespaces is forbidden")
	grant(t, "limited", // the rules of the ClusterRole view, which no controller aggregates
		"clusterrolebinding USER --clusterrole=system:aggregate-to-view --user=USER",
		"clusterrole configurations --verb=list --resource=mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"clusterrolebinding configurations --clusterrole=configurations --user=USER")
	eventually(t, "with the ClusterRole view", limited, "doctor", anyCode,
		`partial: certificate: secrets "handoff-webhook-tls" is forbidden`,
		"partial: permissions: subjectaccessreviews.authorization.k8s.io is forbidden",
		"partial: dry-run: no dry run is possible in namespace shop; choose another one with -n: deployments.apps")
}

// TestViewersSeeWhereHandoffIsOn gives a user the roles that the manifests contain for it, and no others.
func TestViewersSeeWhereHandoffIsOn(t *testing.T) {
	waitHealthy(t)
	viewer := user(t, "viewer", "rolebinding USER -n shop --clusterrole=system:aggregate-to-view --user=USER",
		"rolebinding USER -n handoff-system --role=handoff-viewer --user=USER")
	if code, output, errors := run(t, viewer, "status", "shop"); code == cli.ExitOK {
		t.Errorf("without the ClusterRole: exit code %d:\n%s%s", code, output, errors)
	}
	grant(t, "viewer", "clusterrolebinding USER --clusterrole=handoff-viewer --user=USER")
	eventually(t, "with both roles", viewer, "status shop", cli.ExitOK, "enforce\n")
	// As one that kustomize has installed with a namePrefix.
	rename := applied(func(o map[string]any) { o["metadata"] = map[string]string{"name": "acme-handoff"} }, configuration, "-o", "json")
	must(t, rename, runs("delete", configuration), patches("kubectl-edit", "clusterrole/handoff-viewer",
		`[{"op": "replace", "path": "/rules/0/resourceNames", "value": ["acme-handoff"]}]`))
	eventually(t, "with another name of the configuration", viewer, "status shop", cli.ExitOK, "enforce\n")
	must(t, runs("delete", "mutatingwebhookconfiguration", "acme-handoff"), reinstall)
	waitHealthy(t)
}

// TestTheDryRunIsOfAKindThatIsPossible verifies it for users who cannot create Deployments, and for an installation that does not review
// them.
func TestTheDryRunIsOfAKindThatIsPossible(t *testing.T) {
	waitHealthy(t)
	stateful := user(t, "stateful", "role USER -n shop --verb=create --resource=statefulsets.apps", "rolebinding USER -n shop --role=USER --user=USER")
	answered := "dry-run         ok        " + cluster.version + " answered in namespace shop"
	eventually(t, "a user who can create only StatefulSets", stateful, "doctor -n shop", anyCode, answered)
	must(t, patches("kubectl-client-side-apply", configuration, `[{"op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["statefulsets"]}]`))
	eventually(t, "rules for StatefulSets only", cluster.Kubeconfig, "doctor", cli.ExitNegative, "do not match updates of", answered)
	must(t, reinstall)
	waitHealthy(t)
}

// TestATeamLearnsWhyNothingIsKept runs the commands with the permissions of a namespace's administrator.
func TestATeamLearnsWhyNothingIsKept(t *testing.T) {
	waitHealthy(t)
	team := user(t, "team", // no controller aggregates the rules of the ClusterRoles
		"rolebinding USER-edit -n shop --clusterrole=system:aggregate-to-edit --user=USER",
		"rolebinding USER-view -n shop --clusterrole=system:aggregate-to-view --user=USER")
	const mode, on, configured = "ownership-handoff.io/mode", "where handoff is on", "with the configuration of the webhook, which it states"
	eventually(t, on, team, "doctor -n shop", cli.ExitOK, cluster.version+" answered in namespace shop", "1 in mode enforce",
		"configuration   skipped   mutatingwebhookconfigurations.admissionregistration.k8s.io is forbidden", "\nProblems: 0\n")
	eventually(t, on, team, "status shop", cli.ExitOK, "enforce\n")
	eventually(t, on, team, "status -n shop", cli.ExitOK, "shop        enforce\n", "note: only the current namespace is shown")
	eventually(t, on, team, "audit -n shop", cli.ExitOK)
	must(t, runs("create", "-n", "shop", "deployment", "team", "--image=team:1", "--replicas=2"))
	eventually(t, configured, team, "explain deployment/team .spec.replicas -n shop", cli.ExitOK, "is 2")
	eventually(t, configured, team, "strip -n shop -f testdata/misspelled.yaml", cli.ExitError, "namespaces")
	eventually(t, "without a record of the manifest", team, "release deployment/team .spec.replicas -n shop", cli.ExitError, "nothing to release")
	must(t, runs("delete", "-n", "shop", "deployment", "team"))
	eventually(t, "without permission to write namespaces", team, "enable shop --warn", cli.ExitError, "kubectl label TYPE NAME "+mode+"=warn")
	for _, step := range []struct {
		sentence string
		do       func() error
		problem  string
		status   string
	}{
		{"the mode is off", runs("annotate", "namespace", "shop", mode+"=off", "--overwrite"), "is in mode off: handoff keeps nothing there", "off\n"},
		{
			"the label of the system", all(runs("annotate", "namespace", "shop", mode+"=enforce", "--overwrite"),
				runs("label", "namespace", "shop", "ownership-handoff.io/system=true")),
			"is in mode enforce, but the API server does not call handoff in namespace shop", "enforce (not called)\n",
		},
		{
			"no webhook", all(runs("label", "namespace", "shop", "ownership-handoff.io/system-"), runs("delete", configuration)),
			"namespace/shop: no answer from handoff to a dry run", "enforce (not called)\n",
		},
	} {
		must(t, step.do)
		eventually(t, step.sentence, team, "doctor -n shop", cli.ExitNegative, step.problem)
		eventually(t, step.sentence, team, "status shop", cli.ExitNegative, step.status)
	}
	must(t, reinstall, optIn)
	waitHealthy(t)
}

func TestWithoutTimeTheRemainingChecksAreSkipped(t *testing.T) {
	waitHealthy(t)
	code, output, errors := run(t, cluster.Kubeconfig, "doctor", "--deadline=1ns")
	if code != cli.ExitPartial || !strings.Contains(errors, "context deadline exceeded") {
		t.Errorf("exit code %d:\n%s%s", code, output, errors)
	}
}

// TestAnAPIServerThatIsNotReachedIsAnError verifies that there is no report without an API server.
func TestAnAPIServerThatIsNotReachedIsAnError(t *testing.T) {
	code, output, errors := run(t, cluster.Kubeconfig, "doctor", "--server=https://127.0.0.1:1")
	if code != cli.ExitError || output != "" || !strings.HasPrefix(errors, "error: ") {
		t.Errorf("exit code %d:\n%s%s", code, output, errors)
	}
}

func TestNothingIsStored(t *testing.T) {
	waitHealthy(t)
	list := func() string {
		objects, err := kubectl("", "get", "deployments,namespaces,secrets,configmaps,events,clusterroles,mutatingwebhookconfigurations", "-A",
			"-o", "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}")
		expect.NoError(t, err)
		return objects
	}
	before := list()
	if code, _, errors := run(t, cluster.Kubeconfig, "doctor"); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errors)
	}
	expect.Equal(t, "the objects before and after", before, list())
}

// TestTheOutputForPeople records the output on the page of the documentation.
func TestTheOutputForPeople(t *testing.T) {
	cluster.NeedMutatingPolicies(t) // the output is recorded from such an API server
	waitHealthy(t)
	var transcript strings.Builder
	record := func(args ...string) {
		code, output, errors := run(t, cluster.Kubeconfig, args...)
		fmt.Fprintf(&transcript, "$ kubectl handoff %s\n%s%s[exit code %d]\n\n", strings.Join(args, " "), output, errors, code)
	}
	record("doctor")
	record("doctor", "-n", "kube-system")
	steps := []func() error{
		patches("kubectl-edit", configuration, `[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 30}]`),
		runs("annotate", "namespace", "default", "ownership-handoff.io/mode=enforced"),
	}
	must(t, steps...)
	record("doctor")
	must(t, reinstall, runs("annotate", "namespace", "default", "ownership-handoff.io/mode-"))
	text := strings.ReplaceAll(transcript.String(), cluster.version, "v0.1.0")
	text = regexp.MustCompile(`(?m)^(api-server +ok +)v\S+`).ReplaceAllString(text, "${1}v1.36.3")
	golden.Check(t, "doctor", text)
}

// TestTheWebhookStatesTheMode gives a user no permission to read the namespace.
func TestTheWebhookStatesTheMode(t *testing.T) {
	waitHealthy(t)
	const readable = "deployments.apps,horizontalpodautoscalers.autoscaling"
	blind := user(t, "blind", "role USER -n shop --verb=create,list --resource="+readable, "rolebinding USER -n shop --role=USER --user=USER")
	must(t, runs("create", "-n", "shop", "deployment", "blind", "--image=blind:1", "--save-config"),
		runs("autoscale", "-n", "shop", "deployment", "blind", "--max=9"))
	eventually(t, "without permission to read the namespace", blind, "audit deployments -n shop", anyCode, "   keeps 1\n")
	must(t, runs("delete", "-n", "shop", "deployment,hpa", "blind"))
}

// TestAPolicyThatFixesLabelsIsNamed refuses the label that the webhook adds to the write of the annotation.
func TestAPolicyThatFixesLabelsIsNamed(t *testing.T) {
	waitHealthy(t)
	const policy = `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "fixed-labels"}, "spec": {
			"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["namespaces"]}]},
			"validations": [{"expression": "object.metadata.?labels == oldObject.metadata.?labels", "message": "labels are fixed"}]}},
		{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "fixed-labels"}, "spec": {
			"policyName": "fixed-labels", "validationActions": ["Deny"]}}]}`
	expect.NoError(t, feed(policy, "create", "-f-"))
	defer func() {
		if err := feed(policy, "delete", "-f-"); err != nil {
			t.Error(err)
		}
		eventually(t, "without the policy, which the API server enforces for another second", cluster.Kubeconfig, "enable default --dry-run=server", cli.ExitOK)
	}()
	eventually(t, "with a policy", cluster.Kubeconfig, "enable default --dry-run=server", anyCode,
		"labels are fixed", "it also refuses the annotation", "namespaceLabels.enabled=false")
}
