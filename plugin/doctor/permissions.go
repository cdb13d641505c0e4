package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/manifests"
)

// checkPermissions asks the API server whether the webhook's ServiceAccount has the permissions in the manifests.
func (d *diagnosis) checkPermissions(ctx context.Context, c *Check) {
	if d.install.deployment == nil {
		c.skip("the Deployment, which names the ServiceAccount, is unknown")
		return
	}
	account := d.install.deployment.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	wanted, err := d.wanted()
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
	evaluated, err := converted[authorizationv1.SubjectAccessReview](answer)
	return err == nil && evaluated.Status.Allowed, err
}

// wanted returns the permissions in the manifests that this installation uses.
func (d *diagnosis) wanted() (all []authorizationv1.ResourceAttributes, err error) {
	folders := []string{manifests.Base}
	if d.install.selfSigned() {
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
	return all, nil
}

// permissions returns the permissions of rules that name one group and one resource, as in the manifests.
func (d *diagnosis) permissions(namespace string, rules []rbacv1.PolicyRule) (all []authorizationv1.ResourceAttributes) {
	for _, rule := range rules {
		group, resource, name := rule.APIGroups[0], rule.Resources[0], ""
		if d.served.known && !d.served.serves(schema.GroupResource{Group: group, Resource: resource}) {
			continue // a kind of scaler that is not installed
		}
		if len(rule.ResourceNames) > 0 {
			name = d.installedName(resource, rule.ResourceNames[0])
		}
		for _, verb := range rule.Verbs {
			// The webhook writes namespaces only for the label by which the API server selects them.
			if resource == "namespaces" && !slices.Contains([]string{"list", "watch"}, verb) && !d.install.followsLabel() {
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
		return d.install.configuration.Name
	case "secrets":
		return d.secretName()
	default:
		return name
	}
}
