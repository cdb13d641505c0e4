package manifests_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestHelmLint(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(cluster.root, "manifests", "chart")
	r := helm(t, "lint", "--strict", folder, "--kube-version", kubernetes(), "--set", "guard.enabled=true,monitoring.enabled=true")
	if r.Err != nil || strings.Contains(r.Stdout, "[WARNING]") {
		t.Errorf("helm lint: %v\n%s%s", r.Err, r.Stdout, r.Stderr)
	}
}

func TestTheSchemaRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct{ value, named string }{
		"an unknown source of certificates":     {`certificates="vault"`, "certificates"},
		"an unknown value":                      {`replicaCount=3`, "replicaCount"},
		"an unknown nested value":               {`webhook.failPolicy="Fail"`, "failPolicy"},
		"no pods":                               {`replicas=0`, "replicas"},
		"a number as text":                      {`replicas="2"`, "replicas"},
		"an unknown failure policy":             {`webhook.failurePolicy="Open"`, "failurePolicy"},
		"a timeout that the API server rejects": {`webhook.timeoutSeconds=31`, "timeoutSeconds"},
		"a boolean as text":                     {`guard.enabled="false"`, "enabled"},
		"a field manager with a quote":          {`config.appliers=["it's"]`, "appliers"},
		"an unknown list of managers":           {`config.imperatives=["k9s"]`, "imperatives"},
		"a null list of managers":               {`config.appliers=null`, "appliers"},
		"an unknown change of a list":           {`config.appliers={"append":["ci"]}`, "append"},
		"an addition with a quote":              {`config.appliers={"add":["it's"]}`, "appliers"},
		"a rule's writer that is empty":         {`config.rules=[{"name":"a","fields":[".spec.x"],"writers":[""]}]`, "writers"},
		"a pack that has no name":               {`config.packs=[""]`, "packs"},
		"a rule without fields":                 {`config.rules=[{"name":"a"}]`, "rules"},
		"a rule without a name":                 {`config.rules=[{"fields":[".spec.x"]}]`, "rules"},
		"an edit that is neither":               {`config.rules=[{"name":"a","fields":[".spec.x"],"edit":"never"}]`, "edit"},
		"a scaler without a path":               {`config.scalers={"add":[{"group":"a.b","kind":"C"}]}`, "scalers"},
		"a rule without resources":              {`webhook.rules=[{"apiGroups":["apps"],"apiVersions":["v1"]}]`, "resources"},
		"a port that does not exist":            {`ports.webhook=70000`, "ports"},
		"an invalid digest":                     {`image.digest="latest"`, "digest"},
		"an invalid flag":                       {`extraArgs=["v=1"]`, "extraArgs"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := template(t, c.value)
			if r.Err == nil || !strings.Contains(r.Stderr, "schema") || !strings.Contains(r.Stderr, c.named) {
				t.Errorf("want the schema to reject %s, got %v\n%s", c.value, r.Err, r.Stderr)
			}
		})
	}
}

func TestTheChartRejectsInconsistentValues(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		`podLabels={"app.kubernetes.io/name":"x"}`:           "podLabels: app.kubernetes.io/name is a label of handoff itself",
		`podLabels={"app.kubernetes.io/component":"x"}`:      "podLabels: app.kubernetes.io/component is a label of handoff itself",
		`podLabels={"a":"b","app.kubernetes.io/part-of":""}`: "podLabels: app.kubernetes.io/part-of is a label of handoff itself",
		`ports={"webhook":8080}`:                             "ports: webhook, metrics and health are [8080 8080 8081]; they must be different",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			if r := template(t, value, `guard.enabled=true`); r.Err == nil || !strings.Contains(r.Stderr, says) {
				t.Errorf("want an error that says %q, got %v\n%s", says, r.Err, r.Stderr)
			}
		})
	}
	labels, _, _ := unstructured.NestedStringMap(chart(t, `podLabels={"team":"a"}`)["Deployment/handoff-webhook"].Object, "spec", "template", "metadata", "labels")
	if labels["team"] != "a" || labels["app.kubernetes.io/name"] != "handoff" {
		t.Errorf("the labels of the pods are %v", labels)
	}
}

// pod returns the pod spec of the chart's Deployment with the given values.
func pod(t *testing.T, values ...string) map[string]any {
	t.Helper()
	spec, found, err := unstructured.NestedMap(chart(t, values...)["Deployment/handoff-webhook"].Object, "spec", "template", "spec")
	if err != nil || !found {
		t.Fatalf("no pod in the Deployment: %v", err)
	}
	return spec
}

func TestValuesAreRendered(t *testing.T) {
	t.Parallel()
	container := func(spec map[string]any, field string) any {
		containers, _, _ := unstructured.NestedSlice(spec, "containers")
		first, _ := containers[0].(map[string]any)
		return first[field]
	}
	const image = "ghcr.io/ownership-handoff/handoff-webhook"
	expect.Equal(t, "the image of a tag", image+":v9", container(pod(t, `image.tag="v9"`), "image"))
	digest := "sha256:" + strings.Repeat("0a", 32)
	expect.Equal(t, "the image of a digest", image+"@"+digest, container(pod(t, `image.digest="`+digest+`"`), "image"))
	grace := pod(t, `shutdownDelaySeconds=20`, `drainTimeoutSeconds=40`)["terminationGracePeriodSeconds"]
	expect.Equal(t, "terminationGracePeriodSeconds, from the shutdown delay and the drain timeout", float64(70), grace)
	ca := pod(t, `extraArgs=["--client-ca=/ca/ca.crt"]`, `extraVolumes=[{"name":"ca","secret":{"secretName":"ca"}}]`,
		`extraVolumeMounts=[{"name":"ca","mountPath":"/ca"}]`)
	if volumes := fmt.Sprint(ca["volumes"], container(ca, "volumeMounts"), container(ca, "args")); !strings.Contains(volumes, "secretName:ca") ||
		!strings.Contains(volumes, "mountPath:/ca") || !strings.Contains(volumes, "--client-ca=/ca/ca.crt") {
		t.Errorf("a file of --client-ca: got %s", volumes)
	}
	hooks, _, _ := unstructured.NestedSlice(
		chart(t, `webhook.matchConditions=[{"name":"mine","expression":"true"}]`)["MutatingWebhookConfiguration/handoff"].Object, "webhooks")
	if conditions := fmt.Sprint(hooks); !strings.Contains(conditions, "name:mine") || !strings.Contains(conditions, "name:kind-can-be-applied") {
		t.Errorf("an additional match condition: got %s", conditions)
	}
	if _, found := pod(t, `priorityClassName=""`)["priorityClassName"]; found {
		t.Error("an empty priorityClassName is rendered")
	}
	if _, found := chart(t, `priorityClassName=""`)["ResourceQuota/handoff-webhook"]; found {
		t.Error("a ResourceQuota is rendered without a priority class")
	}
	budget, found := chart(t, `replicas=1`)["PodDisruptionBudget/handoff-webhook"]
	if spec := budget.Object["spec"]; !found || !strings.Contains(fmt.Sprint(spec), "maxUnavailable:1") {
		t.Errorf("the PodDisruptionBudget of one pod blocks node drains: %v", spec)
	}
	if env := fmt.Sprint(pod(t, `extraEnv=[{"name":"GODEBUG","value":"x"}]`)["containers"]); !strings.Contains(env, "GODEBUG") {
		t.Errorf("an additional environment variable: got %s", env)
	}
	tested := helm(t, "template", filepath.Join(cluster.root, "manifests", "chart"), "--show-only", "templates/tests/version.yaml", "--kube-version", kubernetes(),
		"--set-json", `tolerations=[{"operator":"Exists"}]`, "--set-json", `nodeSelector={"role":"system"}`, "--set-json", withoutUser)
	for text, want := range map[string]bool{"operator: Exists": true, "role: system": true, "runAsUser": false} {
		if strings.Contains(tested.Stdout, text) != want {
			t.Errorf("helm test: want %q: %t, got %s%s", text, want, tested.Stdout, tested.Stderr)
		}
	}
}

// TestTheGuardHasTheVersionThatKubernetesServes is about versions that the control plane does not have.
func TestTheGuardHasTheVersionThatKubernetesServes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(cluster.root, "manifests", "chart")
	for version, want := range map[string]string{
		"1.34.0": "v1beta1", "1.35.4": "v1beta1", "1.35.1-gke.100": "v1beta1", "1.36.0": "v1", "1.36.0-alpha.1": "v1", "1.37.2+k3s1": "v1",
	} {
		policies := 0
		for key, object := range rendered(t, "handoff", folder, "--kube-version", version, "--set", "guard.enabled=true") {
			if !strings.HasPrefix(key, "MutatingAdmissionPolicy") {
				continue
			}
			policies++
			expect.Equal(t, "Kubernetes "+version+": "+key, "admissionregistration.k8s.io/"+want, object.GetAPIVersion())
		}
		expect.Equal(t, "Kubernetes "+version+": policies and bindings", 4, policies)
	}
}

func TestTheGuardUsesTheConfiguredFieldManagers(t *testing.T) {
	t.Parallel()
	values := []string{`guard.enabled=true`, `config.appliers=["ours","team-*"]`, `config.autoscalers=[]`}
	for _, name := range []string{"handoff-guard-autoscaled", "handoff-guard-dropped-fields"} {
		policy, err := chart(t, values...)["MutatingAdmissionPolicy/"+name].MarshalJSON()
		expect.NoError(t, err)
		if want := `e.manager in ['ours'] || e.manager.startsWith('team-')`; !strings.Contains(string(policy), want) {
			t.Errorf("%s does not contain %s:\n%s", name, want, policy)
		}
	}
	policy, err := chart(t, `guard.enabled=true`, `config.appliers={"add":["ci"],"remove":["kapp"]}`,
		`config.autoscalers={"remove":["keda"]}`)["MutatingAdmissionPolicy/handoff-guard-autoscaled"].MarshalJSON()
	expect.NoError(t, err)
	for _, want := range []string{
		`'fleetagent', 'HashiCorp', 'ci'] || e.manager.startsWith('pulumi-')`, `e.manager in ['keda-operator', 'cluster-proportional-autoscaler']`,
	} {
		if !strings.Contains(string(policy), want) {
			t.Errorf("a changed list: the guard does not contain %s:\n%s", want, policy)
		}
	}
	if r := template(t, `guard.enabled=true`, `config.appliers=["a*b"]`); r.Err == nil || !strings.Contains(r.Stderr, "a*b") {
		t.Errorf("a pattern that the guard cannot match: want an error that names it, got %v\n%s", r.Err, r.Stderr)
	}
}
