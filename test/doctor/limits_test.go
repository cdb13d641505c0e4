package doctor_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/golden"
)

func TestUsersSeeWhatTheyMayRead(t *testing.T) {
	waitHealthy(t)
	limited, err := cluster.AddUser("limited")
	if err != nil {
		t.Fatal(err)
	}
	code, output, errors := run(t, limited, "doctor")
	if code != cli.ExitPartial || !strings.Contains(output, "not everything could be checked") {
		t.Errorf("exit code %d:\n%s", code, output)
	}
	for _, want := range []string{
		"partial: configuration: requires permission to list mutatingwebhookconfigurations.admissionregistration.k8s.io",
		"partial: namespaces: requires permission to list namespaces",
	} {
		if !strings.Contains(errors, want) {
			t.Errorf("want %q:\n%s", want, errors)
		}
	}
	// The rules of the ClusterRole view. No controller aggregates them.
	if _, err := kubectl("", "create", "clusterrolebinding", "limited", "--clusterrole=system:aggregate-to-view", "--user=limited"); err != nil {
		t.Fatal(err)
	}
	if _, err := kubectl("", "create", "clusterrole", "configurations", "--verb=list",
		"--resource=mutatingwebhookconfigurations.admissionregistration.k8s.io"); err != nil {
		t.Fatal(err)
	}
	if _, err := kubectl("", "create", "clusterrolebinding", "configurations", "--clusterrole=configurations", "--user=limited"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"partial: certificate: requires permission to get secret/handoff-webhook-tls -n handoff-system",
		"partial: permissions: requires permission to create subjectaccessreviews.authorization.k8s.io",
		"partial: dry-run: requires permission to create deployments.apps -n shop, for a dry run; or choose a namespace with -n",
	} {
		for end := time.Now().Add(patience); !strings.Contains(errors, want); _, _, errors = run(t, limited, "doctor") {
			if time.Now().After(end) {
				t.Fatalf("want %q:\n%s", want, errors)
			}
		}
	}
}

// TestViewersSeeWhereHandoffIsOn gives a user the roles that the manifests contain for it, and no others.
func TestViewersSeeWhereHandoffIsOn(t *testing.T) {
	waitHealthy(t)
	viewer, err := cluster.AddUser("viewer")
	if err != nil {
		t.Fatal(err)
	}
	status := func() (code int, output string) {
		code, output, errors := run(t, viewer, "status", "shop")
		return code, output + errors
	}
	for _, command := range []string{
		"create rolebinding viewer -n shop --clusterrole=system:aggregate-to-view --user=viewer",
		"create rolebinding viewer -n handoff-system --role=handoff-viewer --user=viewer",
	} {
		if _, err := kubectl("", strings.Fields(command)...); err != nil {
			t.Fatal(err)
		}
	}
	if code, output := status(); code == cli.ExitOK {
		t.Errorf("without the ClusterRole: exit code %d:\n%s", code, output)
	}
	if _, err := kubectl("", strings.Fields("create clusterrolebinding viewer --clusterrole=handoff-viewer --user=viewer")...); err != nil {
		t.Fatal(err)
	}
	waitOn := func(sentence string) {
		t.Helper()
		code, output := status()
		for end := time.Now().Add(patience); code != cli.ExitOK && time.Now().Before(end); code, output = status() {
			time.Sleep(200 * time.Millisecond)
		}
		if code != cli.ExitOK || strings.Contains(output, "partial") || !strings.Contains(output, "enforce\n") {
			t.Errorf("%s: exit code %d:\n%s", sentence, code, output)
		}
	}
	waitOn("with both roles")
	if err := all(renameConfiguration, patches("kubectl-edit", "clusterrole/handoff-viewer",
		`[{"op": "replace", "path": "/rules/0/resourceNames", "value": ["acme-handoff"]}]`))(); err != nil {
		t.Fatal(err)
	}
	waitOn("with another name of the configuration")
	if err := all(runs("delete", "mutatingwebhookconfiguration", "acme-handoff"), reinstall)(); err != nil {
		t.Fatal(err)
	}
	waitHealthy(t)
}

// renameConfiguration replaces the configuration, as one that kustomize has installed with a namePrefix.
func renameConfiguration() error {
	text, err := kubectl("", "get", configuration, "-o", "json")
	if err != nil {
		return err
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	o["metadata"] = map[string]string{"name": "acme-handoff"}
	renamed, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := kubectl(string(renamed), "create", "-f", "-"); err != nil {
		return err
	}
	return runs("delete", configuration)()
}

// TestTheDryRunIsOfAKindThatIsPossible verifies it for users who cannot create Deployments, and for an installation that does not review
// them.
func TestTheDryRunIsOfAKindThatIsPossible(t *testing.T) {
	waitHealthy(t)
	user, err := cluster.AddUser("stateful")
	if err != nil {
		t.Fatal(err)
	}
	if err := all(
		runs("create", "role", "stateful", "-n", "shop", "--verb=create", "--resource=statefulsets.apps"),
		runs("create", "rolebinding", "stateful", "-n", "shop", "--role=stateful", "--user=stateful"),
	)(); err != nil {
		t.Fatal(err)
	}
	wait := func(sentence string, args []string, kubeconfig, want string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			_, output, errors := run(t, kubeconfig, args...)
			if strings.Contains(output, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: want %q:\n%s%s", sentence, want, output, errors)
			}
		}
	}
	answered := "dry-run         ok        " + cluster.version + " answered in namespace shop"
	wait("a user who can create only StatefulSets", []string{"doctor", "-n", "shop"}, user, answered)
	if err := change("kubectl-client-side-apply", configuration,
		`[{"op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["statefulsets"]}]`); err != nil {
		t.Fatal(err)
	}
	wait("rules for StatefulSets only", []string{"doctor"}, cluster.Kubeconfig, "do not match updates of")
	wait("rules for StatefulSets only", []string{"doctor"}, cluster.Kubeconfig, answered)
	if err := reinstall(); err != nil {
		t.Fatal(err)
	}
	waitHealthy(t)
}

// TestATeamLearnsWhyNothingIsKept runs the commands with the permissions of a namespace's administrator.
func TestATeamLearnsWhyNothingIsKept(t *testing.T) {
	waitHealthy(t)
	team, err := cluster.AddUser("team")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"edit", "view"} { // no controller aggregates the rules of the ClusterRoles
		if _, err := kubectl("", "create", "rolebinding", "team-"+role, "-n", "shop", "--clusterrole=system:aggregate-to-"+role, "--user=team"); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(sentence, command string, code int, wants ...string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			got, output, errors := run(t, team, strings.Fields(command)...)
			missing := slices.DeleteFunc(slices.Clone(wants), func(want string) bool { return strings.Contains(output+errors, want) })
			if got == code && len(missing) == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: want exit code %d and %q, got %d:\n%s%s", sentence, code, missing, got, output, errors)
			}
		}
	}
	const mode = "ownership-handoff.io/mode"
	expect("where handoff is on", "doctor -n shop", cli.ExitOK, cluster.version+" answered in namespace shop", "1 in mode enforce",
		"configuration   skipped   requires permission to list mutatingwebhookconfigurations", "\nNo problems found.\n")
	expect("where handoff is on", "status shop", cli.ExitOK, "enforce\n")
	expect("where handoff is on", "status -n shop", cli.ExitOK, "shop        enforce\n", "note: only the current namespace is shown")
	expect("where handoff is on", "audit -n shop", cli.ExitOK, "enforce 1 (shop)")
	if err := runs("create", "-n", "shop", "deployment", "team", "--image=team:1", "--replicas=2")(); err != nil {
		t.Fatal(err)
	}
	expect("with the configuration of the webhook, which it states", "explain deployment/team .spec.replicas -n shop", cli.ExitOK, "is 2")
	expect("with the configuration of the webhook, which it states", "strip -n shop -f testdata/misspelled.yaml", cli.ExitError, "namespaces")
	expect("without a record of the manifest", "release deployment/team .spec.replicas -n shop", cli.ExitError, "nothing to release")
	if err := runs("delete", "-n", "shop", "deployment", "team")(); err != nil {
		t.Fatal(err)
	}
	expect("without permission to write namespaces", "enable shop --warn", cli.ExitError, "kubectl label TYPE NAME "+mode+"=warn")
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
			"no answer from handoff to a dry run in namespace shop", "enforce (not called)\n",
		},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		expect(step.sentence, "doctor -n shop", cli.ExitNegative, step.problem)
		expect(step.sentence, "status shop", cli.ExitNegative, step.status)
	}
	if err := all(reinstall, optIn)(); err != nil {
		t.Fatal(err)
	}
	waitHealthy(t)
}

// TestRestartsAreForgotten verifies that restarts long ago are no problem.
func TestRestartsAreForgotten(t *testing.T) {
	waitHealthy(t)
	if err := setPodStatus("handoff-webhook-1", "True", 7); err != nil {
		t.Fatal(err)
	}
	if code, report := diagnose(t); code != cli.ExitNegative {
		t.Errorf("of an unknown time: exit code %d:\n%s", code, shown(report))
	}
	if _, err := kubectl("", "patch", "-n", namespace, "pod", "handoff-webhook-1", "--subresource=status", "--type=merge", "-p",
		`{"status": {"containerStatuses": [{"name": "webhook", "image": "", "imageID": "", "ready": true, "restartCount": 7,
			"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-02T03:04:05Z"}}}]}}`); err != nil {
		t.Fatal(err)
	}
	waitHealthy(t)
	if err := runPods(); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutTimeTheRemainingChecksAreSkipped(t *testing.T) {
	waitHealthy(t)
	code, output, errors := run(t, cluster.Kubeconfig, "doctor", "--deadline=1ns")
	if code != cli.ExitPartial || !strings.Contains(errors, "no time was left") {
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
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	before := list()
	if code, _, errors := run(t, cluster.Kubeconfig, "doctor"); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errors)
	}
	if after := list(); before != after {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
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
		runs("annotate", "namespace", "default", "ownership-handoff.io/mod=enforce"),
	}
	if err := all(steps...)(); err != nil {
		t.Fatal(err)
	}
	record("doctor")
	if err := all(reinstall, runs("annotate", "namespace", "default", "ownership-handoff.io/mod-"))(); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(transcript.String(), cluster.version, "v0.1.0")
	text = regexp.MustCompile(`(?m)^(api-server +ok +)v\S+`).ReplaceAllString(text, "${1}v1.36.3")
	golden.Check(t, "doctor", text)
}

// TestTheWebhookStatesTheMode gives a user no permission to read the namespace.
func TestTheWebhookStatesTheMode(t *testing.T) {
	waitHealthy(t)
	blind, err := cluster.AddUser("blind")
	if err != nil {
		t.Fatal(err)
	}
	if err := all(
		runs("create", "role", "blind", "-n", "shop", "--verb=create,list", "--resource=deployments.apps"),
		runs("create", "rolebinding", "blind", "-n", "shop", "--role=blind", "--user=blind"),
	)(); err != nil {
		t.Fatal(err)
	}
	audited := func() string {
		_, output, errors := run(t, blind, "audit", "deployments", "-n", "shop")
		return output + errors
	}
	said := audited()
	for end := time.Now().Add(patience); !strings.Contains(said, "enforce 1 (shop)") && time.Now().Before(end); said = audited() {
		time.Sleep(200 * time.Millisecond)
	}
	if !strings.Contains(said, "enforce 1 (shop)") || strings.Contains(said, "unknown mode") {
		t.Errorf("want the mode of the namespace:\n%s", said)
	}
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
	if _, err := kubectl(policy, "create", "-f-"); err != nil {
		t.Fatal(err)
	}
	enabled := func() string {
		_, output, errors := run(t, cluster.Kubeconfig, "enable", "default", "--dry-run=server")
		return output + errors
	}
	said := enabled()
	for end := time.Now().Add(patience); !strings.Contains(said, "labels are fixed") && time.Now().Before(end); said = enabled() {
		time.Sleep(200 * time.Millisecond)
	}
	if _, err := kubectl(policy, "delete", "-f-"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"labels are fixed", "it also refuses the annotation", "namespaceLabels.enabled=false"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in:\n%s", want, said)
		}
	}
}
