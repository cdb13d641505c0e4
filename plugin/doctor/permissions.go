package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	account := d.deployment.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	object, user := named("serviceaccount", account, d.namespace()), "system:serviceaccount:"+d.namespace()+":"+account
	client, err := authorizationclient.NewForConfig(d.config)
	var wanted []authorizationv1.ResourceAttributes
	if err == nil {
		wanted, err = d.wanted(ctx)
	}
	if err != nil {
		d.check.gap("%v", err)
		return
	}
	var denied []string
	for i := range wanted {
		answer, err := client.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &wanted[i], User: user, Groups: []string{
				"system:serviceaccounts", "system:serviceaccounts:" + d.namespace(), "system:authenticated",
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			d.unread("create subjectaccessreviews.authorization.k8s.io", err)
			return
		}
		if !answer.Status.Allowed {
			denied = append(denied, wanted[i].Verb+" "+schema.GroupResource{Group: wanted[i].Group, Resource: wanted[i].Resource}.String())
		}
	}
	d.check.Detail = object + " has all permissions"
	if len(denied) > 0 {
		d.check.Detail = fmt.Sprintf("%s has %d of %d permissions", object, len(wanted)-len(denied), len(wanted))
		d.check.found(object, "lacks permission to "+strings.Join(denied, ", "), d.reinstall(), "kubectl auth can-i --list --as="+user)
	}
	if d.in.FollowsLabel() {
		d.checkLimits(ctx, ", so "+object+" may change everything of namespaces")
	}
}

// wanted returns the permissions that this installation uses: those of the manifests, with the scalers of its configuration.
func (d *diagnosis) wanted(ctx context.Context) (all []authorizationv1.ResourceAttributes, err error) {
	folders := []string{manifests.Base}
	if d.selfSigned() {
		folders = append(folders, manifests.SelfSigned)
	}
	for _, folder := range folders {
		for _, kind := range []string{"ClusterRole", "Role"} { // with rules of the same form
			roles, err := manifests.Objects[rbacv1.ClusterRole](folder, kind)
			if err != nil {
				return nil, err
			}
			namespace := map[string]string{"Role": d.namespace()}[kind]
			for _, role := range roles {
				all = append(all, d.permissions(namespace, role.Rules)...)
			}
		}
	}
	configured, err := d.in.Configuration(ctx)
	var invalid *installation.InvalidConfigurationError
	switch {
	case errors.As(err, &invalid):
		d.check.found(invalid.Object, "the configuration is not valid, and the pods use the last valid one or the default: "+invalid.Err.Error(),
			"correct the field; the pods follow the ConfigMap without a restart")
	case err != nil:
		d.check.gap("reading the configuration of the webhook, which names the kinds of scalers: %v", err)
	}
	for _, scaler := range configured.Scalers {
		served := d.served(func(gv schema.GroupVersion, r metav1.APIResource) bool {
			return gv.Group == scaler.Group && r.Kind == scaler.Kind && !strings.Contains(r.Name, "/")
		})
		for _, resource := range served[:min(len(served), 1)] {
			for _, verb := range []string{"list", "watch"} {
				all = append(all, authorizationv1.ResourceAttributes{Group: resource.Group, Resource: resource.Resource, Verb: verb})
			}
		}
	}
	return all, nil
}

// permissions returns the permissions of rules that name one group and one resource, as in the manifests. Those for scalers
// depend on the configuration.
func (d *diagnosis) permissions(namespace string, rules []rbacv1.PolicyRule) (all []authorizationv1.ResourceAttributes) {
	names := map[string]string{"mutatingwebhookconfigurations": d.configuration().Name, "secrets": d.secretName()} // of this installation
	for _, rule := range rules {
		resource, name := schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}, ""
		isScaler := func(k scale.Kind) bool { return k.GroupKind.Group == resource.Group }
		if slices.ContainsFunc(scale.Kinds(), isScaler) || d.resources != nil && len(d.versionsOf(resource)) == 0 {
			continue
		}
		if len(rule.ResourceNames) > 0 {
			name = cmp.Or(names[resource.Resource], rule.ResourceNames[0])
		}
		for _, verb := range rule.Verbs {
			// The webhook writes namespaces only for the label by which the API server selects them.
			if resource.Resource == "namespaces" && verb != "list" && verb != "watch" && !d.in.FollowsLabel() {
				continue
			}
			all = append(all, authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: resource.Group, Resource: resource.Resource, Verb: verb, Name: name,
			})
		}
	}
	return all
}
