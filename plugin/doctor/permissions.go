package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/manifests"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// checkPermissions asks the API server whether the webhook's ServiceAccount has the permissions that this
// installation uses.
func (d *diagnosis) checkPermissions(ctx context.Context, c *Check) {
	if d.deployment == nil {
		c.skip("the Deployment, which names the ServiceAccount, is unknown")
		return
	}
	account := d.deployment.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	wanted, err := d.wanted(ctx, c)
	if err != nil {
		c.gap("%s: %v", c.Name, err)
		return
	}
	var denied []string
	for i := range wanted {
		allowed, err := d.allows(ctx, account, &wanted[i])
		if err != nil {
			c.unread("create subjectaccessreviews.authorization.k8s.io", err)
			return
		}
		if !allowed {
			denied = append(denied, wanted[i].Verb+" "+schema.GroupResource{Group: wanted[i].Group, Resource: wanted[i].Resource}.String())
		}
	}
	object := named("serviceaccount", account, d.namespace())
	c.Detail = object + " has all permissions"
	if len(denied) > 0 {
		c.Detail = fmt.Sprintf("%s has %d of %d permissions", object, len(wanted)-len(denied), len(wanted))
		c.found(object, "lacks permission to "+strings.Join(denied, ", "), append(d.reinstall(),
			"kubectl auth can-i --list --as=system:serviceaccount:"+d.namespace()+":"+account)...)
	}
	if d.in.FollowsLabel() {
		d.checkLimits(ctx, c, account)
	}
}

// allows asks whether the ServiceAccount has a permission. An access review is evaluated and not stored.
func (d *diagnosis) allows(ctx context.Context, account string, wanted *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: wanted,
			User:               "system:serviceaccount:" + d.namespace() + ":" + account,
			Groups: []string{
				"system:serviceaccounts", "system:serviceaccounts:" + d.namespace(), "system:authenticated",
			},
		},
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	reviews := d.objects.Resource(authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"))
	answer, err := reviews.Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}

// wanted returns the permissions that this installation uses: those of the manifests, with the scalers of its configuration.
func (d *diagnosis) wanted(ctx context.Context, c *Check) (all []authorizationv1.ResourceAttributes, err error) {
	configured, err := d.in.Configuration(ctx)
	if err != nil {
		c.gap("%s: reading the configuration of the webhook, which names the kinds of scalers: %v", c.Name, err)
	}
	folders := []string{manifests.Base}
	if d.selfSigned() {
		folders = append(folders, manifests.SelfSigned)
	}
	for _, folder := range folders {
		clusterRoles, err := manifests.Objects[rbacv1.ClusterRole](folder, "ClusterRole")
		if err != nil {
			return nil, err
		}
		for i := range clusterRoles {
			all = append(all, d.permissions("", clusterRoles[i].Rules)...)
		}
		roles, err := manifests.Objects[rbacv1.Role](folder, "Role")
		if err != nil {
			return nil, err
		}
		for i := range roles {
			all = append(all, d.permissions(d.namespace(), roles[i].Rules)...)
		}
	}
	for _, scaler := range configured.Scalers {
		kind := schema.GroupKind{Group: scaler.Group, Kind: scaler.Kind}
		for _, verb := range []string{"list", "watch"} {
			if resource, served := d.served.resources[kind]; served {
				all = append(all, authorizationv1.ResourceAttributes{Group: kind.Group, Resource: resource, Verb: verb})
			}
		}
	}
	return all, nil
}

// permissions returns the permissions of rules that name one group and one resource, as in the manifests. Those for scalers
// depend on the configuration.
func (d *diagnosis) permissions(namespace string, rules []rbacv1.PolicyRule) (all []authorizationv1.ResourceAttributes) {
	for _, rule := range rules {
		group, resource, name := rule.APIGroups[0], rule.Resources[0], ""
		isScaler := func(k scale.Kind) bool { return k.GroupKind.Group == group }
		serves := len(d.served.versions[schema.GroupResource{Group: group, Resource: resource}]) > 0
		if slices.ContainsFunc(scale.Kinds(), isScaler) || d.served.known && !serves {
			continue
		}
		if len(rule.ResourceNames) > 0 {
			name = d.installedName(resource, rule.ResourceNames[0])
		}
		for _, verb := range rule.Verbs {
			// The webhook writes namespaces only for the label by which the API server selects them.
			if resource == "namespaces" && verb != "list" && verb != "watch" && !d.in.FollowsLabel() {
				continue
			}
			all = append(all, authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: group, Resource: resource, Verb: verb, Name: name,
			})
		}
	}
	return all
}

// installedName returns the name in this installation of an object that a rule names.
func (d *diagnosis) installedName(resource, name string) string {
	switch resource {
	case "mutatingwebhookconfigurations":
		return d.configuration().Name
	case "secrets":
		return d.secretName()
	default:
		return name
	}
}

// limitingPolicy is the policy that restricts what the ServiceAccount may change of namespaces (manifests/base/namespaces.yaml). It
// is recognized by the end of its name, to which kustomize and Helm can add.
const limitingPolicy = "handoff-webhook-namespaces"

// checkLimits checks that the policy is in effect, without which the permission to patch namespaces has no limit.
func (d *diagnosis) checkLimits(ctx context.Context, c *Check, account string) {
	const kind = "validatingadmissionpolicies.admissionregistration.k8s.io"
	policies := admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
	bindings := admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicybindings")
	all, err := installation.List[admissionregistrationv1.ValidatingAdmissionPolicy](
		ctx, d.objects, policies, "", metav1.ListOptions{})
	if err != nil {
		c.unread("list "+kind, err)
		return
	}
	bound, err := installation.List[admissionregistrationv1.ValidatingAdmissionPolicyBinding](
		ctx, d.objects, bindings, "", metav1.ListOptions{})
	if err != nil {
		c.unread("list validatingadmissionpolicybindings.admissionregistration.k8s.io", err)
		return
	}
	at := slices.IndexFunc(all, func(p admissionregistrationv1.ValidatingAdmissionPolicy) bool {
		return strings.HasSuffix(p.Name, limitingPolicy)
	})
	unlimited := ", so " + named("serviceaccount", account, d.namespace()) + " may change everything of namespaces"
	if at < 0 {
		c.found("validatingadmissionpolicy/"+limitingPolicy, "not found"+unlimited, d.reinstall()...)
		return
	}
	policy := &all[at]
	denies := func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
		whole := b.Spec.MatchResources == nil || b.Spec.MatchResources.NamespaceSelector == nil ||
			len(b.Spec.MatchResources.NamespaceSelector.MatchLabels)+len(b.Spec.MatchResources.NamespaceSelector.MatchExpressions) == 0
		return b.Spec.PolicyName == policy.Name && whole && slices.Contains(b.Spec.ValidationActions, admissionregistrationv1.Deny)
	}
	if !slices.ContainsFunc(bound, denies) {
		c.found("validatingadmissionpolicy/"+policy.Name, "no binding with validationActions Deny applies it everywhere"+unlimited,
			d.reinstall()...)
	}
}
