package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/plugin/doctor"
	"github.com/ownership-handoff/handoff/test/objects"
)

// sabotage is a way to break an installation.
type sabotage struct {
	do func() error
	// check, problem and remedy are parts of the expected finding.
	check, problem, remedy string
	// undo repairs it. If it is nil, the test runs the remedy in a shell.
	undo func() error
}

// patches returns a function that patches an object in the name of a field manager.
func patches(manager, object, patch string) func() error {
	return func() error { return change(manager, object, patch) }
}

// runs returns a function that runs a kubectl command.
func runs(args ...string) func() error { return func() error { return feed("", args...) } }

// all returns a function that calls others in turn.
func all(steps ...func() error) func() error {
	return func() error {
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// reinstall runs the command that installed handoff, and sets the caBundle, which is not in the manifests.
func reinstall() error { return all(apply, trustCA)() }

func storeOther(name string, validity time.Duration) func() error {
	return func() error {
		other, err := newCertificate(name, validity)
		if err != nil {
			return err
		}
		return store(other)
	}
}

const (
	configuration = "mutatingwebhookconfiguration/handoff"
	binding       = "mutatingadmissionpolicybinding/handoff-guard-autoscaled"
	host          = service + "." + namespace + ".svc"
)

func TestDoctorFindsEachSabotage(t *testing.T) {
	for sentence, c := range map[string]sabotage{
		"the configuration is deleted": {
			do:    runs("delete", configuration),
			check: "configuration", problem: "not found: the API server does not call handoff", remedy: "kubectl apply -k", undo: reinstall,
		},
		"the caBundle is empty": {
			do:    patches("argocd-controller", configuration, `[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`),
			check: "certificate", problem: "the caBundle of webhook.ownership-handoff.io does not contain", remedy: "kubectl patch " + strings.Replace(configuration, "/", " ", 1),
		},
		"the caBundle is that of another CA": {
			do: func() error {
				other, err := newCertificate(host, time.Hour)
				if err != nil {
					return err
				}
				return change("argocd-controller", configuration, fmt.Sprintf(
					`[{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": %q}]`, base64Of(other.ca)))
			},
			check: "certificate", problem: "does not contain the CA of the certificate", remedy: "kubectl patch mutatingwebhookconfiguration handoff",
		},
		"the certificate has expired": {
			do:    storeOther(host, -time.Hour),
			check: "certificate", problem: "certificate has expired", remedy: "issue a certificate for " + host, undo: storeCertificate,
		},
		"the certificate expires soon": {
			do:    storeOther(host, 24*time.Hour),
			check: "certificate", problem: "was not renewed", remedy: "issue a certificate for " + host, undo: storeCertificate,
		},
		"the certificate has another name": {
			do:    storeOther("handoff.example.com", 90*24*time.Hour),
			check: "certificate", problem: "certificate is valid for handoff.example.com, not " + host, remedy: "issue a certificate for " + host, undo: storeCertificate,
		},
		"an admission enforcer changes the rules": {
			do: patches("admissionsenforcer", configuration, `[{"op": "replace", "path": "/webhooks/0/rules", "value": [
				{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}]}]`),
			check: "changes", problem: `admissionsenforcer has written .webhooks[name="webhook.ownership-handoff.io"].rules`, remedy: "admissions.enforcer/disabled=true", undo: reinstall,
		},
		"the rules match no Deployments": {
			do:    patches("kubectl-edit", configuration, `[{"op": "replace", "path": "/webhooks/0/rules/0/apiGroups", "value": ["", "batch"]}]`),
			check: "configuration", problem: "do not match updates of deployments.apps", remedy: "kubectl apply -k", undo: reinstall,
		},
		"an admission enforcer excludes namespaces": {
			do: all(runs("label", "namespace", "shop", "control-plane=true"), patches("admissionsenforcer", configuration, `[{"op": "add",
				"path": "/webhooks/0/namespaceSelector/matchExpressions/-", "value": {"key": "control-plane", "operator": "NotIn", "values": ["true"]}}]`)),
			check: "namespaces", problem: "the namespaceSelector of webhook.ownership-handoff.io excludes namespace shop (control-plane notin (true))", remedy: "remove the requirement",
			undo: all(reinstall, runs("label", "namespace", "shop", "control-plane-")),
		},
		"a person excludes a namespace": {
			do: patches("kubectl-edit", configuration, `[{"op": "add", "path": "/webhooks/0/namespaceSelector/matchExpressions/-", "value":
				{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["web"]}}]`),
			check: "changes", problem: `kubectl-edit has written .webhooks[name="webhook.ownership-handoff.io"].namespaceSelector`, remedy: "kubectl apply -k", undo: reinstall,
		},
		"a person sets failurePolicy Fail": {
			do:    patches("kubectl-edit", configuration, `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]`),
			check: "changes", problem: `kubectl-edit has written .webhooks[name="webhook.ownership-handoff.io"].failurePolicy`, remedy: "kubectl apply -k", undo: reinstall,
		},
		"a person sets the timeout": {
			do:    patches("kubectl-patch", configuration, `[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 30}]`),
			check: "changes", problem: `kubectl-patch has written .webhooks[name="webhook.ownership-handoff.io"].timeoutSeconds`, remedy: "kubectl apply -k", undo: reinstall,
		},
		"a match condition is removed": {
			do:    patches("kubectl-edit", configuration, `[{"op": "remove", "path": "/webhooks/0/matchConditions/0"}]`),
			check: "changes", problem: "matchCondition kind-can-be-applied of webhook.ownership-handoff.io is missing", remedy: "kubectl apply -k", undo: reinstall,
		},
		"the webhook of namespaces is removed": {
			do:    patches("kubectl-edit", configuration, `[{"op": "remove", "path": "/webhooks/2"}]`),
			check: "changes", problem: "webhook namespaces.ownership-handoff.io is missing", remedy: "kubectl apply -k", undo: reinstall,
		},
		"a match condition excludes everything": {
			do: patches("kubectl-edit", configuration, `[{"op": "add", "path": "/webhooks/0/matchConditions/-",
				"value": {"name": "never", "expression": "request.name == 'never'"}}]`),
			check: "changes", problem: `.matchConditions[name="never"].expression`, remedy: "delete " + configuration + " first",
			undo: all(runs("delete", configuration), reinstall),
		},
		"the API server is refused": {
			do:    stopWebhook,
			check: "network", problem: "connection refused", remedy: "-o wide", undo: restartWebhook,
		},
		"the API server is refused, and a dry run is not answered": {
			do:    stopWebhook,
			check: "dry-run", problem: "no answer from handoff", remedy: "failing open", undo: restartWebhook,
		},
		"writes are refused": {
			do: all(patches("kubectl-edit", configuration, `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]`),
				stopWebhook),
			check: "dry-run", problem: "the API server refuses writes, because failurePolicy is Fail", remedy: "kubectl delete mutatingwebhookconfiguration handoff",
			undo: all(restartWebhook, reinstall),
		},
		"no endpoint is ready": {
			do:    func() error { return expose(cluster.port, false) },
			check: "network", problem: "no endpoints available", remedy: "get pods", undo: exposePods,
		},
		"the Service has another port": {
			do:    patches("kubectl-edit", "service/"+service, `[{"op": "replace", "path": "/spec/ports/0/port", "value": 8443}]`),
			check: "network", problem: "no service port 443", remedy: "delete the Service",
			undo: all(runs("delete", "-n", namespace, "service", service), apply, exposePods),
		},
		"the Service is deleted": { // and its Endpoints with it
			do:    runs("delete", "-n", namespace, "service", service),
			check: "network", problem: `services "handoff-webhook" not found`, remedy: "kubectl apply -k", undo: all(apply, exposePods),
		},
		"the Deployment is scaled to 0": {
			do:    runs("scale", "-n", namespace, "deployment", "handoff-webhook", "--replicas=0"),
			check: "pods", problem: "is scaled to 0", remedy: "kubectl -n handoff-system scale",
		},
		"a pod is not ready": {
			do:    func() error { return setPodStatus("handoff-webhook-1", "Running", "False") },
			check: "pods", problem: "is not ready: containers with unready status: [webhook]", remedy: "kubectl -n handoff-system describe pod handoff-webhook-1", undo: runPods,
		},
		"a permission is missing": {
			do:    patches("kubectl-edit", "clusterrole/handoff-webhook", `[{"op": "replace", "path": "/rules/1/verbs", "value": ["watch"]}]`),
			check: "permissions", problem: "lacks permission to list horizontalpodautoscalers.autoscaling", remedy: "kubectl auth can-i --list --as=" + account, undo: apply,
		},
		"the policy that limits the ServiceAccount is deleted": {
			do:    runs("delete", "validatingadmissionpolicy/handoff-webhook-namespaces"),
			check: "permissions", problem: "may change everything of namespaces", remedy: "kubectl apply -k", undo: apply,
		},
		"the policy that limits the ServiceAccount only audits": {
			do: runs("patch", "validatingadmissionpolicybinding/handoff-webhook-namespaces", "--type=merge", "-p",
				`{"spec": {"validationActions": ["Audit"]}}`),
			check: "permissions", problem: "no binding with validationActions Deny", remedy: "kubectl apply -k", undo: apply,
		},
		"a configured scaler is missing from the ClusterRole": {
			do:    configure("scalers: {add: [{group: batch, kind: CronJob, path: .spec.scaleTargetRef}]}"),
			check: "permissions", problem: "lacks permission to list cronjobs.batch, watch cronjobs.batch", remedy: "kubectl apply -k", undo: apply,
		},
		"the configuration is not valid": {
			do:    configure("applyers: []"),
			check: "permissions", problem: `the configuration is not valid: line 3: applyers: unknown field`, remedy: "correct the field", undo: apply,
		},
		"a permission for self-signed certificates is missing": {
			do: patches("kubectl-edit", "deployment/handoff-webhook",
				`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--self-signed"}]`),
			check: "permissions", problem: "patch mutatingwebhookconfigurations.admissionregistration.k8s.io, get secrets", remedy: "kubectl apply -k", undo: apply,
		},
		"a mode is misspelled": {
			do:    runs("annotate", "namespace", "shop", "ownership-handoff.io/mode=enforced", "--overwrite"),
			check: "namespaces", problem: "mode enforced is unknown and counts as warn", remedy: "kubectl handoff enable shop", undo: optIn,
		},
		"the label of a namespace does not follow its annotation": {
			do:    all(selectByLabel, stopWebhook, runs("label", "namespace", "shop", "ownership-handoff.io/mode-")),
			check: "namespaces", problem: "is in mode enforce, but its label ownership-handoff.io/mode does not follow",
			remedy: "kubectl patch namespace shop --type=merge -p '{}'", undo: all(restartWebhook, reinstall),
		},
		"a namespace is labeled and not annotated": {
			do:    all(selectByLabel, stopWebhook, runs("label", "namespace", "default", "ownership-handoff.io/mode=enforce")),
			check: "namespaces", problem: "is in mode off, but its label ownership-handoff.io/mode does not follow",
			remedy: "kubectl patch namespace default --type=merge -p '{}'", undo: all(restartWebhook, reinstall),
		},
		"a namespace that is excluded opts in": {
			do:    runs("annotate", "namespace", "kube-system", "ownership-handoff.io/mode=enforce"),
			check: "namespaces", problem: "excludes namespace kube-system (kubernetes.io/metadata.name notin (handoff-system,kube-system))", remedy: "kubectl handoff disable kube-system",
			undo: runs("annotate", "namespace", "kube-system", "ownership-handoff.io/mode-"),
		},
		"the guard has no binding": {
			do:    all(guarded, runs("delete", binding)),
			check: "guard", problem: "not found", remedy: "kubectl apply -k manifests/guard", undo: unguarded,
		},
		"the guard is disabled": {
			do: all(guarded, runs("patch", binding, "--type=merge", "-p",
				`{"spec": {"matchResources": {"namespaceSelector": {"matchLabels": {"handoff-guard": "rests"}}}}}`)),
			check: "guard", problem: "is disabled, or limited to some namespaces", remedy: "kubectl patch " + binding,
		},
		"the guard does something else": {
			do: all(guarded, patches("kubectl-edit", "mutatingadmissionpolicy/handoff-guard-autoscaled", `[{"op": "replace",
				"path": "/spec/variables/0/expression", "value": "'off'"}]`)),
			check: "guard", problem: "it is of another version, or was changed", remedy: "kubectl apply -k manifests/guard", undo: unguarded,
		},
	} {
		waitHealthy(t) // outside of the case, so that one that is not undone ends the test
		t.Run(sentence, func(t *testing.T) {
			if c.check == "guard" {
				cluster.NeedMutatingPolicies(t)
			}
			undo := c.undo
			defer func() {
				if undo != nil {
					must(t, undo)
				}
			}()
			must(t, c.do)
			found := waitFound(t, c)
			if undo == nil {
				undo = func() error { return shell(found.Remedies[slices.IndexFunc(found.Remedies, c.isRemedy)]) }
			}
		})
	}
	waitHealthy(t)
}

// configure returns a function that sets the configuration that the Deployment mounts.
func configure(text string) func() error {
	return func() error {
		name, err := kubectl("", "get", "-n", namespace, "deployment/handoff-webhook", "-o",
			`jsonpath={.spec.template.spec.volumes[?(@.name=="config")].configMap.name}`)
		if err != nil {
			return err
		}
		content := "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\n" + text
		return feed("", "patch", "-n", namespace, "configmap", name, "--type=merge", "-p", fmt.Sprintf(`{"data": {"config.yaml": %q}}`, content))
	}
}

func (c sabotage) isRemedy(text string) bool { return strings.Contains(text, c.remedy) }

// waitFound waits until the doctor finds a sabotage, and returns the finding. The API server notices some changes late.
func waitFound(t *testing.T, c sabotage) doctor.Finding {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		code, report := diagnose(t)
		for _, check := range report.Checks {
			for _, f := range check.Findings {
				if code == cli.ExitNegative && check.Name == c.check && strings.Contains(f.Object+" "+f.Problem, c.problem) {
					if !slices.ContainsFunc(f.Remedies, c.isRemedy) {
						t.Fatalf("no remedy contains %q: %q", c.remedy, f.Remedies)
					}
					return f
				}
			}
		}
		if time.Now().After(end) {
			t.Fatalf("not found: %s: %s; exit code %d:\n%s", c.check, c.problem, code, shown(report))
		}
	}
}

// shell runs a remedy as a user does.
func shell(command string) error {
	run := exec.Command("sh", "-c", command)
	run.Env = append(os.Environ(), "PATH="+filepath.Dir(cluster.Kubectl)+":"+os.Getenv("PATH"))
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}

// selectByLabel makes the API server select namespaces by the label that follows their annotation, unless it does already.
func selectByLabel() error {
	selector, err := kubectl("", "get", configuration, "-o", "jsonpath={.webhooks[0].namespaceSelector}")
	if err != nil || strings.Contains(selector, "ownership-handoff.io/mode") {
		return err
	}
	return change("kubectl-client-side-apply", configuration, `[{"op": "add", "path": "/webhooks/0/namespaceSelector/matchExpressions/-",
		"value": {"key": "ownership-handoff.io/mode", "operator": "Exists"}}]`)
}

// stopWebhook stops the process, so that nothing listens on its port.
func stopWebhook() error { return cluster.webhook.Stop() }

// restartWebhook starts the process again, on another port.
func restartWebhook() error { return all(startWebhook, exposePods)() }

func guard(command string) error {
	return feed("", command, "-k", filepath.Join(cluster.root, objects.GuardFolder(cluster.PoliciesVersion())))
}

func guarded() error { return guard("apply") }

// unguarded removes the guard. A part of it can be missing.
func unguarded() error { return all(guarded, func() error { return guard("delete") })() }
