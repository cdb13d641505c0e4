package doctor

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// guard is the check of the guard.
type guard struct {
	d *diagnosis
	c *Check
	// version is that of admissionregistration.k8s.io in which the policies are read. All have the same fields.
	version schema.GroupVersion
	// missing are the policies and bindings that do not exist.
	missing []string
}

// checkGuard checks that the guard is whole, in effect and of this version, if it is installed. It is optional.
func (d *diagnosis) checkGuard(ctx context.Context, c *Check) {
	g := guard{d: d, c: c, version: admissionregistrationv1.SchemeGroupVersion}
	served := d.served.versions[g.version.WithResource("mutatingadmissionpolicies").GroupResource()]
	if len(served) == 0 {
		c.skip("the API server has no MutatingAdmissionPolicies")
		return
	}
	if !slices.Contains(served, g.version.Version) {
		g.version.Version = served[0]
	}
	shipped, err := manifests.Objects[admissionregistrationv1.MutatingAdmissionPolicy](manifests.Guard, "MutatingAdmissionPolicy")
	if err != nil {
		c.gap("%s: %v", c.Name, err)
		return
	}
	present := 0
	for i := range shipped { // the bindings have the same names
		policy := readPart[admissionregistrationv1.MutatingAdmissionPolicy](ctx, &g, "MutatingAdmissionPolicy", shipped[i].Name)
		binding := readPart[admissionregistrationv1.MutatingAdmissionPolicyBinding](
			ctx, &g, "MutatingAdmissionPolicyBinding", shipped[i].Name)
		if policy != nil {
			present++
			g.checkPolicy(policy, &shipped[i])
		}
		if binding != nil {
			present++
			g.checkBinding(binding)
		}
	}
	switch {
	case len(c.Gaps) > 0:
	case present == 0:
		c.skip("not installed, which is optional")
	case len(g.missing) > 0:
		c.found(g.missing[0], "not found: this part of the guard has no effect", g.install())
		for _, object := range g.missing[1:] {
			c.found(object, "not found", g.install())
		}
	default:
		c.Detail = fmt.Sprintf("%d policies", len(shipped))
	}
}

// install is the remedy that installs the guard of this version.
func (g *guard) install() string {
	folder := "manifests/" + manifests.Guard
	if g.version != admissionregistrationv1.SchemeGroupVersion {
		folder += "-" + g.version.Version
	}
	return "kubectl apply -k " + folder + ", or helm upgrade with guard.enabled"
}

// readPart reads a policy or a binding. If there is none, it adds it to the missing ones and returns nil.
func readPart[T any](ctx context.Context, g *guard, kind, name string) *T {
	resource, singular := meta.UnsafeGuessKindToResource(g.version.WithKind(kind))
	part, err := installation.Get[T](ctx, g.d.objects, resource, "", name)
	switch {
	case isAbsent(err):
		g.missing = append(g.missing, named(singular.Resource, name, ""))
		return nil
	case err != nil:
		g.c.unread("get "+resource.GroupResource().String(), err)
		return nil
	}
	return part
}

func (g *guard) checkBinding(binding *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	object := named("mutatingadmissionpolicybinding", binding.Name, "")
	if binding.Spec.PolicyName != binding.Name {
		g.c.found(object, "binds "+binding.Spec.PolicyName+", which is another policy", g.install())
	}
	if match := binding.Spec.MatchResources; match != nil && match.NamespaceSelector != nil &&
		len(match.NamespaceSelector.MatchLabels)+len(match.NamespaceSelector.MatchExpressions) > 0 {
		g.c.found(object, "is disabled, or limited to some namespaces, by matchResources",
			"kubectl patch "+object+` --type=merge -p '{"spec":{"matchResources":null}}'`)
	}
}

// checkPolicy compares what a policy does with the manifest of the same version. Its conditions contain the lists of field
// managers, which an installation configures.
func (g *guard) checkPolicy(policy, shipped *admissionregistrationv1.MutatingAdmissionPolicy) {
	object := named("mutatingadmissionpolicy", policy.Name, "")
	if fail := policy.Spec.FailurePolicy; fail != nil && *fail == admissionregistrationv1.Fail {
		g.c.found(object, "failurePolicy is Fail: an error of the guard refuses writes", g.install())
	}
	if g.d.sameRelease() && !slices.Equal(actions(shipped), actions(policy)) {
		g.c.found(object, "does not do what it does in "+g.d.options.Version+": it is of another version, or was changed", g.install())
	}
}

// actions returns what a policy does.
func actions(policy *admissionregistrationv1.MutatingAdmissionPolicy) (texts []string) {
	for _, variable := range policy.Spec.Variables {
		texts = append(texts, variable.Name, oneLine(variable.Expression))
	}
	for _, condition := range policy.Spec.MatchConditions {
		texts = append(texts, condition.Name)
	}
	for _, mutation := range policy.Spec.Mutations {
		if mutation.JSONPatch != nil {
			texts = append(texts, oneLine(mutation.JSONPatch.Expression))
		}
	}
	return texts
}
