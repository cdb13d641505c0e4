package doctor

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/manifests"
)

const applyGuard = "kubectl apply -k manifests/guard, or helm upgrade with guard.enabled"

// checkGuard checks that the guard is whole, in effect and of this version, if it is installed. It is optional.
func (d *diagnosis) checkGuard(ctx context.Context, c *Check) {
	group := admissionregistrationv1.GroupName
	if s := d.served; !s.known || !s.resources[schema.GroupResource{Group: group, Resource: "mutatingadmissionpolicies"}] {
		c.skip("the API server has no MutatingAdmissionPolicies")
		return
	}
	shipped, err := manifests.Objects[admissionregistrationv1.MutatingAdmissionPolicy](manifests.Guard, "MutatingAdmissionPolicy")
	if err != nil {
		c.gap("%s: %v", c.Name, err)
		return
	}
	var missing []string
	present := 0
	for i := range shipped { // the bindings have the same names
		policy := readPart[admissionregistrationv1.MutatingAdmissionPolicy](
			ctx, d, c, "mutatingadmissionpolic", "ies", shipped[i].Name, &missing)
		binding := readPart[admissionregistrationv1.MutatingAdmissionPolicyBinding](
			ctx, d, c, "mutatingadmissionpolicybinding", "s", shipped[i].Name, &missing)
		if policy != nil {
			present++
			d.checkPolicy(c, policy, &shipped[i])
		}
		if binding != nil {
			present++
			checkBinding(c, binding)
		}
	}
	switch {
	case len(c.Gaps) > 0:
	case present == 0:
		c.skip("not installed, which is optional")
	case len(missing) > 0:
		c.found(missing[0], "not found: this part of the guard has no effect", applyGuard)
		for _, object := range missing[1:] {
			c.found(object, "not found", applyGuard)
		}
	default:
		c.Detail = fmt.Sprintf("%d policies", len(shipped))
	}
}

// readPart reads a policy or a binding. If there is none, it adds it to missing and returns nil.
func readPart[T any](ctx context.Context, d *diagnosis, c *Check, singular, plural, name string, missing *[]string) *T {
	resource := admissionregistrationv1.SchemeGroupVersion.WithResource(singular + plural)
	if plural == "ies" {
		singular += "y"
	}
	part, err := get[T](ctx, d.objects, resource, "", name)
	switch {
	case isAbsent(err):
		*missing = append(*missing, named(singular, name, ""))
		return nil
	case err != nil:
		c.unread("get "+resource.GroupResource().String(), err)
		return nil
	}
	return part
}

func checkBinding(c *Check, binding *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	object := named("mutatingadmissionpolicybinding", binding.Name, "")
	if binding.Spec.PolicyName != binding.Name {
		c.found(object, "binds "+binding.Spec.PolicyName+", which is another policy", applyGuard)
	}
	if match := binding.Spec.MatchResources; match != nil && match.NamespaceSelector != nil &&
		len(match.NamespaceSelector.MatchLabels)+len(match.NamespaceSelector.MatchExpressions) > 0 {
		c.found(object, "is disabled, or limited to some namespaces, by matchResources",
			"kubectl patch "+object+` --type=merge -p '{"spec":{"matchResources":null}}'`)
	}
}

// checkPolicy compares what a policy does with the manifest of the same version. Its conditions contain the lists of field
// managers, which an installation configures.
func (d *diagnosis) checkPolicy(c *Check, policy, shipped *admissionregistrationv1.MutatingAdmissionPolicy) {
	object := named("mutatingadmissionpolicy", policy.Name, "")
	if fail := policy.Spec.FailurePolicy; fail != nil && *fail == admissionregistrationv1.Fail {
		c.found(object, "failurePolicy is Fail: an error of the guard refuses writes", applyGuard)
	}
	if d.sameRelease() && !slices.Equal(actions(shipped), actions(policy)) {
		c.found(object, "does not do what it does in "+d.options.Version+": it is of another version, or was changed", applyGuard)
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
