package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkPermissions asks the API server whether the webhook's ServiceAccount has the permissions that this installation uses. An
// access review is evaluated and not stored.
func (d *diagnosis) checkPermissions(ctx context.Context) {
	if d.deployment == nil {
		d.check.skip("the Deployment, which names the ServiceAccount, is unknown")
		return
	}
	account := cmp.Or(d.deployment.Spec.Template.Spec.ServiceAccountName, "default")
	object, user := d.named("serviceaccount", account), "system:serviceaccount:"+d.namespace+":"+account
	client, err := authorizationclient.NewForConfig(d.config)
	if err != nil {
		d.check.gap("%v", err)
		return
	}
	var denied []string
	for _, wanted := range slices.Concat(d.ofManifests(), d.ofScalers(ctx)) {
		answer, err := client.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &wanted, User: user, Groups: []string{
				"system:serviceaccounts", "system:serviceaccounts:" + d.namespace, "system:authenticated",
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			d.check.gap("%v", err)
			return
		}
		if !answer.Status.Allowed {
			denied = append(denied, wanted.Verb+" "+schema.GroupResource{Group: wanted.Group, Resource: wanted.Resource}.String())
		}
	}
	d.check.Detail = object
	if len(denied) > 0 {
		d.check.found(object, "lacks permission to "+strings.Join(denied, ", "), reinstall, "kubectl auth can-i --list --as="+user)
	}
	if d.in.FollowsLabel() {
		d.checkLimits(ctx, object)
	}
}

// ofManifests returns the permissions in the manifests that this installation uses, without those for scalers.
func (d *diagnosis) ofManifests() (all []authorizationv1.ResourceAttributes) {
	folders := []string{manifests.Base, manifests.SelfSigned}
	if !d.selfSigned() {
		folders = folders[:1]
	}
	for _, folder := range folders {
		for _, kind := range []string{"ClusterRole", "Role"} { // with rules of the same form
			roles, err := manifests.Objects[rbacv1.ClusterRole](folder, kind)
			if err != nil {
				d.check.gap("%v", err)
			}
			namespace := map[string]string{"Role": d.namespace}[kind]
			for _, role := range roles {
				for _, rule := range role.Rules {
					all = append(all, d.used(namespace, rule)...)
				}
			}
		}
	}
	return all
}

// used returns the permissions of a rule that this installation uses. In the manifests, a rule names one group and one resource.
func (d *diagnosis) used(namespace string, rule rbacv1.PolicyRule) (all []authorizationv1.ResourceAttributes) {
	names := map[string]string{"mutatingwebhookconfigurations": d.configuration.Name, "secrets": d.secretName()} // of this installation
	of := authorizationv1.ResourceAttributes{Namespace: namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0]}
	if len(rule.ResourceNames) > 0 {
		of.Name = cmp.Or(names[of.Resource], rule.ResourceNames[0])
	}
	isScaler := slices.ContainsFunc(scale.Kinds(), func(k scale.Kind) bool { return k.GroupKind.Group == of.Group })
	for _, of.Verb = range rule.Verbs {
		// The webhook writes namespaces only for the label by which the API server selects them.
		isRead := of.Verb == "list" || of.Verb == "watch"
		if !isScaler && (of.Resource != "namespaces" || isRead || d.in.FollowsLabel()) {
			all = append(all, of)
		}
	}
	return all
}

// ofScalers returns the permissions for the scalers in the configuration of this installation.
func (d *diagnosis) ofScalers(ctx context.Context) (all []authorizationv1.ResourceAttributes) {
	configured, err := d.in.Configuration(ctx)
	if errors.Is(err, installation.ErrInvalid) {
		d.check.found(d.named("deployment.apps", d.deployment.Name), "the pods use the last valid configuration or the default: "+
			err.Error(), "correct the field; the pods follow the ConfigMap without a restart")
	} else if err != nil {
		d.check.gap("reading the configuration of the webhook, which names the kinds of scalers: %v", err)
	}
	for _, scaler := range configured.Scalers {
		if r := d.served.Of(schema.GroupKind{Group: scaler.Group, Kind: scaler.Kind}); r != nil {
			for _, verb := range []string{"list", "watch"} {
				all = append(all, authorizationv1.ResourceAttributes{Group: r.Name.Group, Resource: r.Name.Resource, Verb: verb})
			}
		}
	}
	return all
}

// checkLimits checks that a policy restricts what the ServiceAccount may change of namespaces (manifests/base/namespaces.yaml). The policy
// is recognized by the end of its name, to which kustomize and Helm can add.
func (d *diagnosis) checkLimits(ctx context.Context, account string) {
	bindings, ok := list[registration.ValidatingAdmissionPolicyBinding](ctx, d, "", "")
	for _, b := range bindings {
		if strings.HasSuffix(b.Spec.PolicyName, "handoff-webhook-namespaces") && isEverywhere(b.Spec.MatchResources) &&
			slices.Contains(b.Spec.ValidationActions, registration.Deny) {
			_, absent := get[registration.ValidatingAdmissionPolicy](ctx, d, "", b.Spec.PolicyName)
			ok = ok && absent
		}
	}
	if ok {
		d.check.found("validatingadmissionpolicy/handoff-webhook-namespaces", "not found, or no binding with validationActions Deny applies it "+
			"everywhere: "+account+" may change everything of namespaces", reinstall)
	}
}

// isEverywhere reports whether a binding selects all namespaces.
func isEverywhere(match *registration.MatchResources) bool {
	return match == nil || match.NamespaceSelector == nil ||
		len(match.NamespaceSelector.MatchLabels)+len(match.NamespaceSelector.MatchExpressions) == 0
}
