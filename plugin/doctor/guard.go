package doctor

import (
	"context"
	"fmt"

	registration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/manifests"
)

// checkGuard checks that the guard is whole, in effect and of this version, if it is installed. It is optional.
func (d *diagnosis) checkGuard(ctx context.Context) {
	served := d.served.Of(schema.GroupKind{Group: registration.GroupName, Kind: "MutatingAdmissionPolicy"})
	if served == nil {
		d.check.skip("the API server has no MutatingAdmissionPolicies")
		return
	}
	shipped, err := manifests.Objects[registration.MutatingAdmissionPolicy](manifests.Guard, "MutatingAdmissionPolicy")
	if err != nil {
		d.check.gap("%v", err)
	}
	install := "kubectl apply -k manifests/guard, or guard-" + served.Name.Version + " if it exists, or helm upgrade with guard.enabled"
	var missing []string
	for _, of := range shipped { // the bindings have the same names
		policy, noPolicy := get[registration.MutatingAdmissionPolicy](ctx, d, "", of.Name)
		binding, noBinding := get[registration.MutatingAdmissionPolicyBinding](ctx, d, "", of.Name)
		object, bound := "mutatingadmissionpolicy/"+of.Name, "mutatingadmissionpolicybinding/"+of.Name
		if noPolicy {
			missing = append(missing, object)
		} else if policy != nil && d.sameRelease() && !doTheSame(of.Spec, policy.Spec) {
			d.check.found(object, "does not do what it does in "+d.options.Version+": it is of another version, or was changed", install)
		}
		if noBinding {
			missing = append(missing, bound)
		} else if binding != nil && !isEverywhere(binding.Spec.MatchResources) {
			d.check.found(bound, "is disabled, or limited to some namespaces, by matchResources",
				"kubectl patch "+bound+` --type=merge -p '{"spec":{"matchResources":null}}'`)
		}
	}
	if len(missing) == 2*len(shipped) {
		d.check.skip("not installed, which is optional")
		return
	}
	if len(d.check.Gaps) == 0 {
		d.check.Detail = fmt.Sprintf("%d policies", len(shipped))
	}
	for _, object := range missing {
		d.check.found(object, "not found: this part of the guard has no effect", install)
	}
}

// doTheSame reports whether two policies do the same. Their conditions contain the lists of field managers, which an installation
// configures.
func doTheSame(a, b registration.MutatingAdmissionPolicySpec) bool {
	return equality.Semantic.DeepEqual([]any{a.FailurePolicy, a.Variables, a.Mutations, len(a.MatchConditions)},
		[]any{b.FailurePolicy, b.Variables, b.Mutations, len(b.MatchConditions)})
}
