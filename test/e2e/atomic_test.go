package e2e_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/objects"
)

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
	return map[string]applier{
		"kubectl apply":               {},
		"kubectl apply --server-side": {manager: "kustomize-controller", args: serverSide()},
		"Argo CD with Replace=true":   {manager: "argocd-application-controller", by: replace, replaces: true},
	}
}

// splits changes the spec as Argo Rollouts does, which uses an older API version of VirtualServices than manifests do.
func splits(kind, spec string) step {
	kind = strings.Replace(kind, "virtualservice", "virtualservices.v1alpha3.networking.istio.io", 1)
	return runs("patch", kind, "web", "--type=merge", "--field-manager=rollouts-controller", "-p", `{"spec":`+spec+`}`)
}

// routesManagedByTheRollout checks that the rollout manages the routes, alone or beside the applier.
func (p step) routesManagedByTheRollout(alone bool) step {
	return p.check(func(s stage, _ result) {
		s.Helper()
		managers := objects.FieldManagers(s.object(), fieldpath.MakePathOrDie("spec", "http"))
		if len(managers) != map[bool]int{true: 1, false: 2}[alone] || managers[len(managers)-1] != "rollouts-controller/Update" {
			s.Errorf("managers of the routes: %q, want the rollout, alone: %t", managers, alone)
		}
	})
}

// TestFieldsInsideAtomicFieldsAreKept verifies that what a canary rollout has set stays, and that everything else is the manifest's.
func TestFieldsInsideAtomicFieldsAreKept(t *testing.T) {
	t.Parallel()
	withVirtualServices(t)
	routed := func(timeout, want string) step {
		return applies(virtualService(routing("100", "0", timeout))).value(weights, want).value(".spec.http[1].timeout", timeout).twice()
	}
	tcp := func(stable, canary string) string {
		return `{"tcp":[{"route":[{"destination":{"host":"stable"},"weight":` + stable + `},{"destination":{"host":"canary"},"weight":` + canary + `}]}]}`
	}
	weighted := func(stable, want string) step {
		return applies(strings.Replace(virtualService(tcp(stable, "0")), "name: web", "name: web, labels: {weights: edited}", 1)).
			value(".spec.tcp[0].route[*].weight", want).twice()
	}
	service := func(app, hash string) step {
		return applies("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {app: "+app+"}}\n").
			value(".spec.selector.rollouts-pod-template-hash", hash).value(".spec.selector.app", app).twice()
	}
	hashed := func(hash string) step {
		return splits("service", `{"selector":{"rollouts-pod-template-hash":"`+hash+`"}}`)
	}
	canary := func(stable, canary, timeout string) step {
		return splits("virtualservice", routing(stable, canary, timeout))
	}
	without := strings.Replace(routing("100", "0", "9s"), `,{"destination":{"host":"canary"},"weight":0}`, "", 1)
	playBy(t, objectAppliers(), map[string]scenario{
		"weights in a list": {kind: "virtualservice", ruled: true, steps: []step{
			routed("5s", "100 0"), canary("80", "20", "5s"), routed("5s", "80 20").routesManagedByTheRollout(true),
			routed("9s", "80 20").routesManagedByTheRollout(false), canary("50", "50", "9s"), routed("9s", "50 50"),
			applies(virtualService(without)).value(weights, "50"),
			applies(virtualService(strings.Replace(routing("100", "0", "9s"), `"name":"static"`, `"name":"primary"`, 1))).value(weights, "100 0"), // two of a name
		}},
		"weights in a list, with edit: apply": {kind: "virtualservice", ruled: true, steps: []step{
			weighted("100", "100 0"), splits("virtualservice", tcp("80", "20")), weighted("100", "80 20"), weighted("90", "90 20"),
		}},
		"a key of a map": {kind: "service", ruled: true, steps: []step{
			service("web", ""), hashed("a1"), service("web", "a1"), service("site", "a1"), hashed("b2"), service("site", "b2"),
		}},
	})
}
