package manifests_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// foreign reports whether cert-manager or the Prometheus operator define an object's kind. This API server does not have their
// CRDs, and CRDs without a schema would prove nothing.
func foreign(o *unstructured.Unstructured) bool {
	group := o.GroupVersionKind().Group
	return group == "cert-manager.io" || group == "monitoring.coreos.com"
}

// unserved reports whether this API server does not have an object's kind.
func unserved(o *unstructured.Unstructured) bool {
	return foreign(o) || (strings.HasPrefix(o.GetKind(), "MutatingAdmissionPolicy") && !cluster.controlPlane.HasMutatingPolicies())
}

func TestTheAPIServerAcceptsAllManifestsWithoutWarnings(t *testing.T) {
	t.Parallel()
	for sentence, all := range map[string]objects{
		"base":                 kustomize(t, "base"),
		"overlays/default":     kustomize(t, "overlays/default"),
		"overlays/self-signed": kustomize(t, "overlays/self-signed"),
		"overlays/cert-manager, without the kinds of cert-manager": kustomize(t, "overlays/cert-manager"),
		"components/all-namespaces":                                kustomize(t, "overlays/default", "components/all-namespaces"),
		"guard":                                                    kustomize(t, guardFolder()),
		"policies":                                                 kustomize(t, "policies"),
		"monitoring, without the kinds of the Prometheus operator": kustomize(t, "overlays/default", "components/monitoring"),
		"for managed clusters": kustomize(t, "overlays/default", "components/explicit-rules", "components/port-10250", "components/openshift"),
		"the chart":            chart(t, `guard.enabled=true`),
		"the chart with all values": chart(t, `certificates="cert-manager"`, `guard.enabled=true`, `monitoring.enabled=true`,
			`monitoring.labels={"release":"prometheus"}`, `webhook.namespaceSelector=[{"key":"team","operator":"Exists"}]`,
			`webhook.excludedNamespaces=["ci"]`, `imagePullSecrets=[{"name":"registry"}]`, `nodeSelector={"kubernetes.io/os":"linux"}`,
			`tolerations=[{"operator":"Exists"}]`, `podAnnotations={"a":"b"}`, `podLabels={"a":"b"}`, `extraArgs=["--zap-log-level=debug"]`,
			`affinity={"nodeAffinity":{}}`, `image.pullPolicy="Always"`, `webhook.labels={"a":"b"}`, `webhook.annotations={"a":"b"}`, explicitRules,
			`ports={"webhook":10260,"metrics":10261,"health":10262}`, withoutUser),
		"the pod of helm test": helmTest(t),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			served := all.without(unserved)
			if len(served) == 0 {
				cluster.controlPlane.NeedMutatingPolicies(t)
			}
			r := kubectl(t, served.text(t), "apply", "--dry-run=server", "--validate=strict", "-f-")
			expect.Equal(t, "warnings of kubectl apply", "", r.Stderr)
			if got, want := strings.Count(r.Stdout, "(server dry run)"), len(served); got != want || want == 0 {
				t.Errorf("accepted %d of %d objects:\n%s", got, want, r.Stdout)
			}
		})
	}
}

// helmTest returns the chart's objects for helm test.
func helmTest(t *testing.T) objects {
	t.Helper()
	r := helm(t, "template", "handoff", cluster.root+"/manifests/chart", "--namespace", system, "--kube-version", kubernetes(),
		"--show-only", "templates/tests/version.yaml")
	expect.NoError(t, r.Err)
	return decode(t, r.Stdout)
}
