package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// user returns the configuration of a new user without any RBAC rules.
func user(t *testing.T, name string) *rest.Config {
	t.Helper()
	kubeconfig, err := suite.plane.AddUser(name)
	expect.NoError(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	expect.NoError(t, err)
	return config
}

// watching returns state that watch the cluster with a user's permissions until the test ends.
func watching(t *testing.T, config *rest.Config) *cluster.State {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	c, state, err := stateOf(ctx, config)
	expect.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Start(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return state
}

// permit grants a user permission to list and watch a resource.
func permit(t *testing.T, name, group, resource string) {
	t.Helper()
	role := name + "-" + resource
	grant(t, name, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"list", "watch"}}},
	})
}

// grant creates a role, and binds a user to it.
func grant(t *testing.T, name string, role *rbacv1.ClusterRole) {
	t.Helper()
	create(t, role)
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	})
}

func TestFactsDoNotBlockBeforeTheyAreReady(t *testing.T) {
	t.Parallel()
	n := namespace(t, map[string]string{optin.Annotation: "enforce"})
	_, unstarted, err := stateOf(t.Context(), suite.plane.Config)
	expect.NoError(t, err)
	for sentence, state := range map[string]*cluster.State{
		"before the cache starts": unstarted, "without permission": watching(t, user(t, "waiting")),
	} {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if mode, ok := state.NamespaceMode(n.Name); ok {
				t.Errorf("%s: mode %s", sentence, mode)
			}
			expect.Equal(t, sentence+": autoscaler", "", state.Scaler(n.Name, "apps", "Deployment", "web").Name)
			expect.Equal(t, sentence+": elements of the scale path", 0, len(state.ScalePath("example.com", "v1", "Widget")))
			expect.Equal(t, sentence+": the built-in scale path", ".spec.replicas", state.ScalePath("apps", "v1", "Deployment").String())
		}()
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: a method blocks", sentence)
		}
	}
}

func TestTheCheckNamesTheMissingResource(t *testing.T) {
	t.Parallel()
	const name = "almost"
	permit(t, name, "", "namespaces")
	permit(t, name, "apiextensions.k8s.io", "customresourcedefinitions")
	state := watching(t, user(t, name))
	eventually(t, "only HorizontalPodAutoscalers are missing", true, func() bool {
		err := state.Check()
		return err != nil && strings.HasPrefix(err.Error(), "horizontalpodautoscalers.autoscaling are not listed yet: ") &&
			strings.Count(err.Error(), "are not listed") == 1
	})
	if state.Ready() {
		t.Fatal("the state are ready without HorizontalPodAutoscalers")
	}
	permit(t, name, "autoscaling", "horizontalpodautoscalers")
	eventually(t, "the state are ready", true, state.Ready)
	expect.NoError(t, state.Check())
}

// TestTheCacheStoresOnlyFieldsInUse verifies that schemas, labels and statuses, which are most of these objects, take no memory.
func TestTheCacheStoresOnlyFieldsInUse(t *testing.T) {
	t.Parallel()
	crd := widgets("cached.example.com", map[string]string{"v1": ".spec.size"})
	create(t, crd)
	n := namespace(t, map[string]string{optin.Annotation: "warn", "other": "annotation"})
	get := func(key client.ObjectKey, o client.Object) {
		t.Helper()
		eventually(t, key.String()+" is cached", true, func() bool { return suite.cache.Get(t.Context(), key, o) == nil })
	}
	cachedCRD := &apiextensionsv1.CustomResourceDefinition{}
	get(client.ObjectKeyFromObject(crd), cachedCRD)
	wantCRD := []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{
			Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size"},
		}},
		{Name: "v2", Served: true, Storage: true}, {Name: "v3", Served: true},
	}
	expect.Equal(t, "the versions", wantCRD, cachedCRD.Spec.Versions)
	cachedNamespace := &metav1.PartialObjectMetadata{}
	cachedNamespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	get(client.ObjectKeyFromObject(n), cachedNamespace)
	wantNamespace := metav1.ObjectMeta{
		Name: n.Name, ResourceVersion: cachedNamespace.ResourceVersion, Annotations: map[string]string{optin.Annotation: "warn"},
	}
	expect.Equal(t, "the namespace", wantNamespace, cachedNamespace.ObjectMeta)
}
