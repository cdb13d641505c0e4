package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"

	"github.com/ownership-handoff/handoff/manifests"
)

// checkGuard checks that the guard is whole, in effect and of this version, if it is installed. It is optional.
func (d *diagnosis) checkGuard(ctx context.Context) {
	resource, _ := resourceOf[registration.MutatingAdmissionPolicy](d)
	if len(d.versionsOf(resource.GroupResource())) == 0 {
		d.check.skip("the API server has no MutatingAdmissionPolicies")
		return
	}
	install := "kubectl apply -k manifests/" + manifests.Guard
	if resource.Version != registration.SchemeGroupVersion.Version {
		install += "-" + resource.Version
	}
	install += ", or helm upgrade with guard.enabled"
	shipped, err := manifests.Objects[registration.MutatingAdmissionPolicy](manifests.Guard, "MutatingAdmissionPolicy")
	if err != nil {
		d.check.gap("%v", err)
		return
	}
	var missing []string
	for _, of := range shipped { // the bindings have the same names
		policy, absent := get[registration.MutatingAdmissionPolicy](ctx, d, "", of.Name)
		if absent {
			missing = append(missing, "mutatingadmissionpolicy/"+of.Name)
		} else if policy != nil {
			d.checkPolicy(policy.Spec, of, install)
		}
		binding, absent := get[registration.MutatingAdmissionPolicyBinding](ctx, d, "", of.Name)
		if absent {
			missing = append(missing, "mutatingadmissionpolicybinding/"+of.Name)
		} else if binding != nil {
			d.checkBinding(binding, install)
		}
	}
	switch {
	case len(d.check.Gaps) > 0:
		return
	case len(missing) == 2*len(shipped):
		d.check.skip("not installed, which is optional")
		return
	case len(missing) == 0:
		d.check.Detail = fmt.Sprintf("%d policies", len(shipped))
	}
	for _, object := range missing {
		d.check.found(object, "not found: this part of the guard has no effect", install)
	}
}

func (d *diagnosis) checkBinding(binding *registration.MutatingAdmissionPolicyBinding, install string) {
	object := named("mutatingadmissionpolicybinding", binding.Name, "")
	if binding.Spec.PolicyName != binding.Name {
		d.check.found(object, "binds "+binding.Spec.PolicyName+", which is another policy", install)
	}
	if !isEverywhere(binding.Spec.MatchResources) {
		d.check.found(object, "is disabled, or limited to some namespaces, by matchResources",
			"kubectl patch "+object+` --type=merge -p '{"spec":{"matchResources":null}}'`)
	}
}

// checkPolicy compares what a policy does with the manifest of the same version. Its conditions contain the lists of field
// managers, which an installation configures.
func (d *diagnosis) checkPolicy(
	is registration.MutatingAdmissionPolicySpec, shipped registration.MutatingAdmissionPolicy, install string,
) {
	object := named("mutatingadmissionpolicy", shipped.Name, "")
	if is.FailurePolicy != nil && *is.FailurePolicy == registration.Fail {
		d.check.found(object, "failurePolicy is Fail: an error of the guard refuses writes", install)
	}
	if d.sameRelease() && !slices.Equal(actions(shipped.Spec), actions(is)) {
		d.check.found(object, "does not do what it does in "+d.options.Version+": it is of another version, or was changed", install)
	}
}

// actions returns what a policy does.
func actions(of registration.MutatingAdmissionPolicySpec) (texts []string) {
	for _, variable := range of.Variables {
		texts = append(texts, variable.Name, oneLine(variable.Expression))
	}
	for _, condition := range of.MatchConditions {
		texts = append(texts, condition.Name)
	}
	for _, mutation := range of.Mutations {
		if mutation.JSONPatch != nil {
			texts = append(texts, oneLine(mutation.JSONPatch.Expression))
		}
	}
	return texts
}

// limitingPolicy is the policy that restricts what the ServiceAccount may change of namespaces (manifests/base/namespaces.yaml). It
// is recognized by the end of its name, to which kustomize and Helm can add.
const limitingPolicy = "handoff-webhook-namespaces"

// checkLimits checks that the policy is in effect, without which the permission to patch namespaces has no limit.
func (d *diagnosis) checkLimits(ctx context.Context, unlimited string) {
	policies, ok := list[registration.ValidatingAdmissionPolicy](ctx, d, "", "")
	if !ok {
		return
	}
	bindings, ok := list[registration.ValidatingAdmissionPolicyBinding](ctx, d, "", "")
	if !ok {
		return
	}
	limits := func(p registration.ValidatingAdmissionPolicy) bool { return strings.HasSuffix(p.Name, limitingPolicy) }
	at := slices.IndexFunc(policies, limits)
	denies := func(b registration.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == policies[at].Name && isEverywhere(b.Spec.MatchResources) &&
			slices.Contains(b.Spec.ValidationActions, registration.Deny)
	}
	switch {
	case at < 0:
		d.check.found("validatingadmissionpolicy/"+limitingPolicy, "not found"+unlimited, d.reinstall())
	case !slices.ContainsFunc(bindings, denies):
		d.check.found("validatingadmissionpolicy/"+policies[at].Name,
			"no binding with validationActions Deny applies it everywhere"+unlimited, d.reinstall())
	}
}

// isEverywhere reports whether a binding selects all namespaces.
func isEverywhere(match *registration.MatchResources) bool {
	return match == nil || match.NamespaceSelector == nil ||
		len(match.NamespaceSelector.MatchLabels)+len(match.NamespaceSelector.MatchExpressions) == 0
}
