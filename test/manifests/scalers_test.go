package manifests_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
)

// readableScalers returns the resources that the webhook's ClusterRole allows to list and watch, except for those that it always
// reads.
func readableScalers(t *testing.T, all objects) (resources []string) {
	t.Helper()
	var role rbacv1.ClusterRole
	convert(t, all["ClusterRole/handoff-webhook"].Object, &role)
	always := []string{"namespaces.", "horizontalpodautoscalers.autoscaling", "customresourcedefinitions.apiextensions.k8s.io"}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			name := resource + "." + strings.Join(rule.APIGroups, ",")
			if slices.Equal(rule.Verbs, []string{"list", "watch"}) && !slices.Contains(always, name) {
				resources = append(resources, name)
			}
		}
	}
	return resources
}

// resourcesOf returns the resources of a configuration's scalers.
func resourcesOf(t *testing.T, text string) (resources []string) {
	t.Helper()
	c, err := config.Parse([]byte("apiVersion: " + config.APIVersion + "\nkind: " + config.Kind + "\n" + text))
	expect.NoError(t, err)
	kinds, err := c.ScalerKinds()
	expect.NoError(t, err)
	for _, k := range kinds {
		plural, _ := meta.UnsafeGuessKindToResource(k.GroupKind.WithVersion(""))
		resources = append(resources, plural.GroupResource().String())
	}
	return resources
}

func TestThePermissionsAreThoseOfTheConfiguredScalers(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "base", resourcesOf(t, ""), readableScalers(t, kustomize(t, "base")))
	const policy = `{"group":"scaling.example.com","kind":"ScalePolicy","path":".spec.ref"}`
	for _, scalers := range []string{
		`{"add":[],"remove":[]}`,
		`{"add":[` + policy + `]}`,
		`{"remove":[{"group":"keda.sh","kind":"ScaledObject"},{"group":"flagger.app","kind":"Canary"}]}`,
		`{"add":[` + policy + `,{"group":"a.example.com","kind":"Bus","path":".spec.ref"}],"remove":[{"group":"argoproj.io","kind":"Rollout"}]}`,
		`[` + policy + `]`,
		`[]`,
	} {
		t.Run(scalers, func(t *testing.T) {
			t.Parallel()
			got := readableScalers(t, chart(t, "config.scalers="+scalers))
			expect.Equal(t, "readable scalers", resourcesOf(t, "scalers: "+scalers+"\n"), got)
		})
	}
}
