package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/test/objects"
)

// withVirtualServices installs the CRD.
func withVirtualServices(t *testing.T) {
	t.Helper()
	cluster.virtualServices.Do(func() {
		n := &namespace{T: t, name: "default"}
		n.apply(objects.VirtualServices())
		n.kubectl("wait", "--for=condition=Established", "crd/virtualservices.networking.istio.io", "--timeout=60s")
	})
}

// routing is the spec of a VirtualService with two routes: one that a canary rollout splits, and another one.
func routing(stable, canary, timeout string) string {
	return `{"http":[{"name":"primary","route":[{"destination":{"host":"stable"},"weight":` + stable + `},{"destination":{"host":"canary"},"weight":` + canary +
		`}]},{"name":"static","timeout":"` + timeout + `","route":[{"destination":{"host":"files"}}]}]}`
}

func virtualService(spec string) string {
	return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: web}\nspec: " + spec + "\n"
}

// weights is the JSONPath of the weights of the first route.
const weights = ".spec.http[0].route[*].weight"

// objectAppliers apply objects of any kind.
func objectAppliers() map[string]applier {
	run := func(args ...string) func(n *namespace, manager, before, manifest string) int64 {
		return func(n *namespace, manager, _, manifest string) int64 {
			n.Helper()
			n.must(n.run(manifest, append(args, "-f", "-", "--field-manager="+manager)...))
			return 0
		}
	}
	return map[string]applier{
		"kubectl apply":               {manager: "kubectl-client-side-apply", apply: run("apply")},
		"kubectl apply --server-side": {manager: "kustomize-controller", apply: run("apply", "--server-side", "--force-conflicts"), serverSide: true},
		"Argo CD with Replace=true":   {manager: "argocd-application-controller", replaces: true, apply: byReplacing},
	}
}

// byReplacing is byReplace for any kind.
func byReplacing(n *namespace, manager, before, manifest string) int64 {
	n.Helper()
	verb := "replace"
	if before == "" {
		verb = "create"
	}
	n.must(n.run(manifest, verb, "-f", "-", "--field-manager="+manager))
	return 0
}

// eachInside runs a test with the rules, and an object of a kind, for each applier.
func eachInside(t *testing.T, kind string, test func(n *edited)) {
	t.Helper()
	withVirtualServices(t)
	eachEdited(t, objectAppliers(), func(n *edited) {
		n.withRules()
		n.kind = kind
		test(n)
	})
}

// splits changes the spec as Argo Rollouts does, which uses an older API version of VirtualServices than manifests do.
func (n *edited) splits(spec string) {
	kind := n.kind
	if kind == "virtualservice" {
		kind = "virtualservices.v1alpha3.networking.istio.io"
	}
	n.kubectl("patch", kind, "web", "--type=merge", "--field-manager=rollouts-controller", "-p", `{"spec":`+spec+`}`)
}

// wantManagersOf checks the managers of a field, in any order.
func (n *edited) wantManagersOf(what, field string, want ...string) {
	n.Helper()
	var got []string
	for _, e := range n.object().GetManagedFields() {
		if e.FieldsV1 != nil && strings.Contains(e.FieldsV1.GetRawString(), `"f:`+field+`"`) {
			got = append(got, e.Manager)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		n.Errorf("%s: managers of %s (-want +got):\n%s", what, field, diff)
	}
}

// TestWeightsInAnAtomicListAreKept verifies that the weights of a canary rollout stay, and that everything else is the manifest's.
func TestWeightsInAnAtomicListAreKept(t *testing.T) {
	eachInside(t, "virtualservice", func(n *edited) {
		manifest := virtualService(routing("100", "0", "5s"))
		n.applies(manifest)
		n.splits(routing("80", "20", "5s"))
		n.keeps("an unchanged manifest", manifest, weights, "80 20")
		n.wantManagersOf("an unchanged manifest", "http", "rollouts-controller")
		edited := virtualService(routing("100", "0", "9s"))
		n.keeps("an edit of the other route", edited, weights, "80 20")
		n.want("an edit of the other route", ".spec.http[1].timeout", "9s")
		n.wantManagersOf("an edit of the other route", "http", n.applier.manager, "rollouts-controller")
		n.splits(routing("50", "50", "9s"))
		n.keeps("the edited manifest while the rollout goes on", edited, weights, "50 50")
		n.applies(virtualService(strings.Replace(routing("100", "0", "9s"), `,{"destination":{"host":"canary"},"weight":0}`, "", 1)))
		n.want("a manifest without the canary", weights, "50")
		n.applies(virtualService(strings.Replace(routing("100", "0", "9s"), `"name":"static"`, `"name":"primary"`, 1)))
		n.want("a manifest with two routes of the same name", weights, "100 0")
	})
}

// TestAHashInAnAtomicMapIsKept verifies that the key that a blue-green rollout adds to a Service's selector stays.
func TestAHashInAnAtomicMapIsKept(t *testing.T) {
	eachInside(t, "service", func(n *edited) {
		manifest := func(selector string) string {
			return "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {" + selector + "}}\n"
		}
		const hash = ".spec.selector.rollouts-pod-template-hash"
		n.applies(manifest("app: web"))
		n.splits(`{"selector":{"rollouts-pod-template-hash":"a1"}}`)
		n.keeps("an unchanged manifest", manifest("app: web"), hash, "a1")
		n.keeps("a changed selector", manifest("app: site"), hash, "a1")
		n.want("a changed selector", ".spec.selector.app", "site")
		n.splits(`{"selector":{"rollouts-pod-template-hash":"b2"}}`)
		n.keeps("the same manifest after a promotion", manifest("app: site"), hash, "b2")
	})
}

// TestEditApplyInsideAnAtomicList verifies that a new weight in the manifest wins under a rule with edit: apply, and no other one.
func TestEditApplyInsideAnAtomicList(t *testing.T) {
	eachInside(t, "virtualservice", func(n *edited) {
		manifest := func(stable, canary string) string {
			spec := `{"tcp":[{"route":[{"destination":{"host":"stable"},"weight":` + stable + `},{"destination":{"host":"canary"},"weight":` + canary + `}]}]}`
			return strings.Replace(virtualService(spec), "name: web", "name: web, labels: {weights: edited}", 1)
		}
		const weights = ".spec.tcp[0].route[*].weight"
		n.applies(manifest("100", "0"))
		n.splits(`{"tcp":[{"route":[{"destination":{"host":"stable"},"weight":80},{"destination":{"host":"canary"},"weight":20}]}]}`)
		n.keeps("an unchanged manifest", manifest("100", "0"), weights, "80 20")
		n.keeps("an edit of one of the weights", manifest("90", "0"), weights, "90 20")
	})
}
