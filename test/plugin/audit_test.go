package plugin_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/objects"
)

// createRisks creates objects with risks, and waits for their autoscalers. It deletes them after the test, because other tests read all
// namespaces.
func createRisks(t *testing.T) {
	t.Helper()
	const patch = `{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"250m","memory":"128Mi"}}}]}}}}`
	for _, step := range [][]string{
		{"apply", "-f", "testdata/audit-namespaces.yaml"},
		{"apply", "-f", "testdata/audit-applied.yaml"},
		{"apply", "-f", "testdata/audit-server.yaml", "--server-side", "--field-manager=first"},
		{"apply", "-f", "testdata/audit-second.yaml", "--server-side", "--field-manager=second"},
		{"create", "-f", "testdata/audit-helm.yaml", "--field-manager=helm"},
		{"patch", "-n", "market", "gadget", "pool", "--subresource=status", "--type=merge", "-p", `{"status":{"selector":"app=pool"}}`},
		{"patch", "-n", "market", "deployment", "sized", "--field-manager=resizer", "-p", patch},
		{"patch", "-n", "pay", "deployment", "sized", "--field-manager=resizer", "-p", patch},
		// A user changes a field once.
		{"patch", "-n", "market", "deployment", "even", "-p", `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"registry.invalid/hotfix"}]}}}}`},
		{"apply", "-f", "testdata/audit-kinds.yaml"},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd/scaledobjects.keda.sh"},
		{"apply", "-f", "testdata/audit-hpas.yaml"},
	} {
		must(t, step...)
	}
	t.Cleanup(func() {
		for _, file := range []string{"hpas", "kinds", "helm", "server", "applied", "namespaces"} {
			play(t, "delete -f testdata/audit-"+file+".yaml")
		}
	})
	for _, scaled := range []string{"market web", "market free", "market api", "market bare", "market pool", "pay web", "lab web"} {
		namespace, hpa, _ := strings.Cut(scaled, " ")
		must(t, "wait", "-n", namespace, "hpa", hpa, "--for=jsonpath={.status.lastScaleTime}", "--timeout=60s")
	}
	for _, what := range []string{
		"market deployment/web .spec.replicas 7", "pay deployment/web .spec.replicas 7", "lab deployment/web .spec.replicas 7",
		"market deployment/free .spec.replicas 7", "market deployment/api .spec.replicas 7", "market replicaset/bare .spec.replicas 7",
		"market gadget/pool .spec.pool.size 7",
		`market hpa/gone .status.conditions[?(@.type=="AbleToScale")].reason FailedGetScale`,
		`market hpa/unscalable .status.conditions[?(@.type=="AbleToScale")].reason FailedGetScale`,
		`market hpa/unserved .status.conditions[?(@.type=="AbleToScale")].reason FailedGetScale`,
		`market hpa/double-b .status.conditions[?(@.type=="ScalingActive")].reason AmbiguousSelector`,
		`market hpa/even .status.conditions[?(@.type=="AbleToScale")].status True`,
	} {
		words := strings.Fields(what)
		must(t, "wait", "-n", words[0], words[1], "--for=jsonpath={"+words[2]+"}="+words[3], "--timeout=60s")
	}
}

func TestAudit(t *testing.T) {
	createRisks(t)
	webhook := startWebhook(t)
	reader, err := cluster.controlPlane.AddUser("reader")
	expect.NoError(t, err)
	for name, lines := range map[string][]string{
		"audit": {
			"audit -n market",
			"audit -n pay",
			"audit -n lab --fail-on-risk",
			"audit -n office --fail-on-risk",
			"audit -n market -l tier=front",
			"audit deployments.apps,cronjobs -n pay",
			"audit hpa -n market",
			"audit scaledobjects -n market -o wide",
			"audit -n market -o wide",
			"audit -n pay -o json",
			"audit nosuch -n market",
			"audit deployment/web -n market",
			"audit -n nosuch",
		},
		"rules": {
			"rules -A --config testdata/sizes.yaml",
			"rules -n pay --config testdata/sizes.yaml -o yaml",
			"rules gadgets -n pay --config testdata/sizes.yaml",
			"rules -n pay",
			`explain deployment/sized -n pay --config testdata/sizes.yaml .spec.template.spec.containers[name="app"].resources.requests.cpu`,
			`explain deployment/sized -n pay --config testdata/sizes.yaml --owner controller -o jsonpath={.fields[*].rule}`,
		},
	} {
		t.Run(name, func(t *testing.T) { checkGolden(t, name, transcript(t, cluster.controlPlane.Kubeconfig, lines...)) })
	}
	t.Run("auditoff", func(t *testing.T) {
		expect.NoError(t, webhook.Stop())
		said := transcript(t, cluster.controlPlane.Kubeconfig, "enable kube-system nosuch", "status kube-system", "disable kube-system",
			"audit -n pay", "status pay", "enable pay")
		play(t, "annotate namespace lab ownership-handoff.io/mode=enforce --overwrite", "label namespace lab ownership-handoff.io/mode-")
		said += transcript(t, cluster.controlPlane.Kubeconfig, "audit -n lab", "status lab")
		play(t, "label namespace lab ownership-handoff.io/system=true")
		said += transcript(t, cluster.controlPlane.Kubeconfig, "audit -n lab", "status lab")
		play(t, "delete -f ../../manifests/base/webhook.yaml")
		checkGolden(t, "auditoff", said+transcript(t, cluster.controlPlane.Kubeconfig, "audit -n pay", "status pay"))
	})
	t.Run("with few permissions", func(t *testing.T) {
		checkGolden(t, "auditlimited", transcript(t, reader, "audit -n market -l tier=front", "audit -A", "audit -n pay")+
			transcript(t, cluster.limited, "audit -n market -l tier=front", "audit -A --fail-on-risk"))
	})
	t.Run("files", func(t *testing.T) {
		var texts []string
		for _, what := range []string{
			"deployments,statefulsets,replicasets,gadgets,cronjobs,hpa,scaledobjects -n market", "namespace/market", "crd/gadgets.shop.example.com",
			"crd/scaledobjects.keda.sh",
		} {
			texts = append(texts, must(t, strings.Fields("get "+what+" -o yaml --show-managed-fields")...))
		}
		file := objects.Write(t, strings.Join(texts, "---\n"), t.TempDir(), "market.yaml")
		_, online, _ := strings.Cut(handoff(t, cluster.controlPlane.Kubeconfig, "audit -n market"), "\n")
		_, offline, _ := strings.Cut(handoff(t, "/no/such/file", "audit -f "+file), "\n")
		online, _, _ = strings.Cut(online, "\nRemedies for")
		offline, _, _ = strings.Cut(offline, "\nRemedies for")
		expect.Equal(t, "the audit of the cluster and of the file", online, offline)
	})
}
