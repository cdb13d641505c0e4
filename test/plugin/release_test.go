package plugin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/objects"
)

// inYard creates the namespace yard, which the golden files contain.
func inYard(t *testing.T, lines ...string) {
	t.Helper()
	play(t, "create namespace yard")
	t.Cleanup(func() {
		play(t, "delete hpa --all -n yard", "delete namespace yard") // waits, so that the next test can create it again
	})
	play(t, lines...)
}

func TestRelease(t *testing.T) {
	inYard(t,
		"apply -n yard -f testdata/yard.yaml",
		"apply -n yard -f testdata/dock.yaml --server-side",
		"autoscale deployment store -n yard --min=7 --max=20",
		"autoscale deployment dock -n yard --min=1 --max=20",
		"wait -n yard --for=jsonpath={.spec.replicas}=7 deployment store",
		"wait -n yard --for=jsonpath={.status.lastScaleTime} hpa store",
	)
	checkGolden(t, "release", transcript(t, cluster.controlPlane.Kubeconfig,
		"release deployment/store .spec.replicas -n yard --dry-run=server",
		"release deployment/store .spec.replicas -n yard --dry-run=client",
		"release deployment/store .spec.replicas -n yard",
		"explain deployment/store .spec.replicas -n yard",
		"release deployment/store .spec.replicas -n yard",
		"release deployment/store .spec.replicas -n yard -o name",
		"release deployment/store spec.template.spec.containers[*].resources .spec.strategy -n yard",
		"release deployment/store .metadata.annotations.* -n yard",
		"release secret/store .data.token -n yard",
		"release gadget/store .spec.pool.size -n yard",
	))
	checkGolden(t, "releaseserverside", transcript(t, cluster.controlPlane.Kubeconfig,
		"release deployment/dock .spec.replicas -n yard",
		"explain deployment/dock .spec.replicas -n yard",
		"release deployment/dock .spec.template.spec.containers[0].imagePullPolicy -n yard",
	))
	// The field has no manager: the autoscaler still scales, and once it is gone, a manifest sets the field without a conflict.
	play(t, "patch hpa dock -n yard -p {\"spec\":{\"minReplicas\":4}}", "wait -n yard --for=jsonpath={.spec.replicas}=4 deployment dock")
	expect.Equal(t, "managers of the replicas", "", managersOf(t, stored(t, "deployment/dock", "yard"), ".spec.replicas"))
	play(t, "delete hpa dock -n yard", "apply --server-side -n yard -f testdata/dock.yaml")
}

// TestReleaseChecksTheManifestOfAServerSideApplier verifies that a required field is found although the live object has ports that the
// API server has allocated, for which it would refuse to create another object before it looks at anything else.
func TestReleaseChecksTheManifestOfAServerSideApplier(t *testing.T) {
	inYard(t)
	text := "kind: Service\napiVersion: v1\nmetadata: {name: gate}\nspec: {type: LoadBalancer, ports: [{port: 80}], externalTrafficPolicy: Local}\n"
	play(t, "apply -n yard --server-side -f "+objects.Write(t, text, t.TempDir(), "gate.yaml"))
	if port := must(t, "get", "service", "gate", "-n", "yard", "-o", "jsonpath={.spec.healthCheckNodePort}"); port == "" {
		t.Fatal("the API server has not set healthCheckNodePort, which requires externalTrafficPolicy")
	}
	seen := transcript(t, cluster.controlPlane.Kubeconfig,
		"release service/gate .spec.externalTrafficPolicy -n yard --dry-run=server",
		"release service/gate .spec.ports -n yard --dry-run=server")
	if !strings.Contains(seen, "service/gate released .spec.externalTrafficPolicy (server dry run)") || !strings.Contains(seen, "without .spec.ports: spec.ports: required value; keep it in the manifest") {
		t.Errorf("want the first field to be released, and the second to be required, got:\n%s", seen)
	}
}

func TestReleaseRefusalsAreOneLine(t *testing.T) {
	inYard(t,
		"apply -n yard -f testdata/yard.yaml",
		"apply -n yard -f testdata/odd.yaml",
		"create -n yard configmap made --from-literal=size=big",
		`patch configmap stripped -n yard --type=json -p [{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`,
		"annotate configmap bare -n yard kubectl.kubernetes.io/last-applied-configuration-",
		"annotate configmap unreadable -n yard kubectl.kubernetes.io/last-applied-configuration={ --overwrite",
	)
	before := annotationsInYard(t)
	seen := transcript(t, cluster.controlPlane.Kubeconfig,
		"release deployment/store .spec.paused -n yard",
		"release deployment/nosuch .spec.replicas -n yard",
		"release deployment/store metadata.name -n yard",
		"release deployment/store .metadata -n yard",
		"release deployment/store .metadata.annotations -n yard",
		"release deployment/store .status.replicas -n yard",
		`release deployment/store .spec.template.spec.containers[name="app"].name -n yard`,
		"release deployment/store .spec.template.spec.containers[0].args[0] -n yard",
		"release deployment/store .spec.template.spec.nodeSelector.disk -n yard",
		"release deployment/store .spec.strategy.rollingUpdate.maxSurge -n yard",
		"release deployment/store .spec.selector -n yard",
		"release deployment/store .spec.template.metadata.labels.app -n yard",
		`release deployment/store .spec.template.spec.containers[name="app"].image -n yard`,
		"release gadget/store .spec.hosts[0].weight -n yard",
		"release configmap/chart .data.size -n yard",
		"release configmap/kapp .data.size -n yard",
		"release configmap/made .data.size -n yard",
		"release configmap/stripped .data.size -n yard",
		"release configmap/bare .data.size -n yard",
		"release configmap/unreadable .data.size -n yard",
		"release hpa/older .spec.maxReplicas -n yard",
		"release deployment/store .spec.replicas -n yard --dry-run=maybe",
		"release deployment/store .spec.replicas -n yard -o nice",
		"release deployment -n yard .spec.replicas",
		"release deployment/store -n yard",
	)
	for block := range strings.SplitSeq(strings.TrimSpace(seen), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "error: ") || lines[2] != "[exit code 2]" {
			t.Errorf("want one line and exit code 2, got:\n%s", block)
		}
	}
	checkGolden(t, "releaserefused", seen+transcript(t, cluster.controlPlane.Kubeconfig,
		"release deployment/store .spec.nosuch .spec.replicas metadata.name -n yard"))
	checkGolden(t, "releaseversion", transcript(t, cluster.controlPlane.Kubeconfig,
		"release horizontalpodautoscaler.v1.autoscaling/older .spec.maxReplicas -n yard",
		"release horizontalpodautoscaler.v1.autoscaling/older .spec.minReplicas -n yard --dry-run=server"))
	checkGolden(t, "releaselimited", transcript(t, cluster.limited, "release deployment/store .spec.replicas -n yard"))
	expect.Equal(t, "the annotations before and after", before, annotationsInYard(t))
}

// annotationsInYard returns the annotations of the objects that the tests create, without those that controllers write.
func annotationsInYard(t *testing.T) string {
	t.Helper()
	text := must(t, "get", "deployment,configmap,secret,gadget", "-n", "yard", "--field-selector=metadata.name!=kube-root-ca.crt",
		"-o", `jsonpath={range .items[*]}{.metadata.annotations}{"\n"}{end}`)
	return strings.ReplaceAll(text, `"deployment.kubernetes.io/revision":"1",`, "")
}

func TestReleaseIsIndependentOfTheWebhook(t *testing.T) {
	startWebhook(t)
	const annotated = `.metadata.annotations["example.com/team"]`
	results := map[string][]string{}
	for _, mode := range []string{"off", "enforce"} {
		yard := newYard(t, mode)
		play(t, "annotate namespace "+yard+" "+optin.Annotation+"="+mode)
		manifest, _ := files(t, workload)
		resources.play(t, yard, manifest, []string{applied, cpuPatch, "scale deployment web --replicas=7"})
		said := handoff(t, cluster.controlPlane.Kubeconfig, "release deployment/web .spec.replicas "+annotated+" "+resources.field+" -n "+yard)
		live := resources.live(t, yard)
		lastApplied, _ := live.Annotation(ownership.LastAppliedAnnotation).String()
		results[mode] = strings.Split(strings.ReplaceAll(said+lastApplied, yard, "YARD"), "\n")
		for _, field := range []string{".spec.replicas", annotated, resources.field} {
			results[mode] = append(results[mode], field+" is managed by "+managersOf(t, live, field))
		}
	}
	expect.Equal(t, "without and with handoff", results["off"], results["enforce"])
	if text := strings.Join(results["off"], "\n"); !strings.Contains(text, "web released .spec.replicas, ") {
		t.Errorf("nothing was released:\n%s", text)
	}
}

// managersOf returns the managers of a field, sorted by name instead of by time as in managedFields.
func managersOf(t *testing.T, o ownership.Object, field string) string {
	t.Helper()
	entries, err := o.Entries()
	expect.NoError(t, err)
	holders := managedfields.For(entries, pathOf(field))
	names := make([]string, 0, len(holders))
	for _, e := range holders {
		names = append(names, e.Manager)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
