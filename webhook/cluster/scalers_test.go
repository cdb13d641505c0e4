package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// following is a state that follows scalers, with what it logs and records.
type following struct {
	state *cluster.State

	mutex  sync.Mutex
	lines  []string
	events []string
}

// Eventf implements cluster.EventRecorder.
func (f *following) Eventf(regarding, _ runtime.Object, eventtype, reason, _, note string, args ...any) {
	reference, _ := regarding.(*corev1.ObjectReference)
	text, _ := args[0].(string)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.events = append(f.events, eventtype+" "+reason+" "+reference.Kind+"/"+reference.Name+strings.ReplaceAll(note, "%s", ": "+text))
}

func (f *following) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.lines = append(f.lines, line)
	}, funcr.Options{})
}

// logged returns the number of log lines that contain all of the texts.
func (f *following) logged(texts ...string) (count int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, line := range f.lines {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			count++
		}
	}
	return count
}

func (f *following) recorded() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return strings.Join(f.events, "\n")
}

// follow starts state that follows kinds of scalers with a user's permissions, without waiting until it is ready.
func follow(t *testing.T, config *rest.Config, kinds ...scale.Kind) *following {
	t.Helper()
	return followChanging(t, config, func() []scale.Kind { return kinds })
}

// followChanging is follow for kinds that change.
func followChanging(t *testing.T, config *rest.Config, kinds func() []scale.Kind) *following {
	t.Helper()
	c, state, err := stateOf(t.Context(), config)
	expect.NoError(t, err)
	objects, err := dynamic.NewForConfig(config)
	expect.NoError(t, err)
	f := &following{state: state}
	run := state.FollowScalers(cluster.ScalerOptions{Kinds: kinds, Client: objects, Events: f, Log: f.logger()})
	expect.Equal(t, "ready before the scalers are listed", false, state.Ready())
	go func() { _ = c.Start(t.Context()) }()
	go func() { _ = run(t.Context()) }()
	return f
}

// kindOf returns a kind of scaler in a group of its own.
func kindOf(group string) scale.Kind {
	return scale.Kind{
		GroupKind: schema.GroupKind{Group: group, Kind: "Scaler"}, Path: []string{"spec", "ref"}, Managers: []string{group},
	}
}

// followed defines a kind of scaler in a group of its own, and starts state that follows it.
func followed(t *testing.T, group string) (scale.Kind, *following) {
	t.Helper()
	kind := kindOf(group)
	create(t, defineScaler(kind.GroupKind, "scalers", "v1"))
	return kind, follow(t, suite.plane.Config, kind)
}

// defineScaler returns a CustomResourceDefinition for a kind of scaler, whose served versions are given; the first is stored.
func defineScaler(kind schema.GroupKind, plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind.Kind},
		},
	}
	for i, version := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
			},
		})
	}
	return crd
}

// scaler returns an object of a kind.
func scaler(namespace, name string, kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// createScaler creates an object of a kind that has just been defined, which the API server may not serve yet.
func createScaler(t *testing.T, namespace, name string, kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := scaler(namespace, name, kind)
	o.Object["spec"] = spec
	eventually[error](t, "the scaler is created", nil, func() error { return suite.client.Create(t.Context(), o) })
	return o
}

func (f *following) scalerOf(namespace, name string) func() string {
	return func() string { return f.state.Scaler(namespace, "apps", "Deployment", name).Name }
}

// TestScalersStayKnownWhenTheKindsChange verifies that a scaler of a kind that stays is known at every moment.
func TestScalersStayKnownWhenTheKindsChange(t *testing.T) {
	t.Parallel()
	stays, comes := kindOf("stays.example.com"), kindOf("configured-later.example.com")
	n := namespace(t, nil).Name
	for kind, target := range map[string]string{stays.GroupKind.Group: "web", comes.GroupKind.Group: "api"} {
		group := schema.GroupKind{Group: kind, Kind: "Scaler"}
		create(t, defineScaler(group, "scalers", "v1"))
		createScaler(t, n, "one", group.WithVersion("v1"), map[string]any{"ref": map[string]any{"name": target}})
	}
	var kinds atomic.Pointer[[]scale.Kind]
	kinds.Store(&[]scale.Kind{stays})
	f := followChanging(t, suite.plane.Config, func() []scale.Kind { return *kinds.Load() })
	eventually(t, "the scaler of the first kind", "Scaler/one", f.scalerOf(n, "web"))
	for _, change := range []struct {
		kinds []scale.Kind
		want  string // of the kind that comes and goes
	}{{[]scale.Kind{comes, stays}, "Scaler/one"}, {[]scale.Kind{stays}, ""}, {[]scale.Kind{stays, comes}, "Scaler/one"}} {
		kinds.Store(&change.kinds)
		eventually(t, "the scaler of the other kind", change.want, func() string {
			if f.scalerOf(n, "web")() == "" || !f.state.Ready() {
				t.Error("the scaler of the kind that stays is not known")
			}
			return f.scalerOf(n, "api")()
		})
	}
}

func TestScalersAreWatchedWhileTheirKindExists(t *testing.T) {
	t.Parallel()
	kind := kindOf("comes-and-goes.example.com")
	f := follow(t, suite.plane.Config, kind)
	n := namespace(t, nil).Name
	eventually(t, "a state without the kind is ready", true, f.state.Ready)
	if got := f.state.Scaler(n, "apps", "Deployment", "web"); got.Name != "" || !cmp.Equal(got.Readable, kind.Managers) {
		t.Errorf("without the kind: want no scaler, and its managers to be readable, got %+v", got)
	}
	reference := map[string]any{"ref": map[string]any{"name": "web"}}
	for round := 1; round <= 2; round++ {
		crd := defineScaler(kind.GroupKind, "scalers", "v1", "v2")
		create(t, crd)
		o := createScaler(t, n, "one", kind.GroupKind.WithVersion("v1"), reference)
		eventually(t, "the target", "Scaler/one", f.scalerOf(n, "web"))

		moved := o.DeepCopy()
		_ = unstructured.SetNestedField(moved.Object, "api", "spec", "ref", "name")
		expect.NoError(t, suite.client.Patch(t.Context(), moved, client.MergeFrom(o)))
		eventually(t, "the new target", "Scaler/one", f.scalerOf(n, "api"))
		eventually(t, "the old target", "", f.scalerOf(n, "web"))
		expect.NoError(t, suite.client.Delete(t.Context(), o))
		eventually(t, "after the scaler is deleted", "", f.scalerOf(n, "api"))

		before := crd.DeepCopy()
		crd.Spec.Versions[0].Served = false
		expect.NoError(t, suite.client.Patch(t.Context(), crd, client.MergeFrom(before)))
		createScaler(t, n, "two", kind.GroupKind.WithVersion("v2"), reference)
		eventually(t, "in another version", "Scaler/two", f.scalerOf(n, "web"))
		expect.NoError(t, suite.client.Delete(t.Context(), crd))
		eventually(t, "after the kind is deleted", "", f.scalerOf(n, "web"))
		eventually(t, "the log says it", 2*round, func() int { return f.logged("no longer watching scalers") })
		eventually(t, "the kind is gone", true, func() bool {
			return suite.client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd) != nil
		})
		expect.Equal(t, fmt.Sprintf("round %d: logged starts", round), 2*round, f.logged("\"watching scalers", "scalers.comes-and-goes.example.com"))
	}
	if !f.state.Ready() || f.state.Check() != nil {
		t.Errorf("want the state to stay ready, got %v", f.state.Check())
	}
}

func TestAKindThatCannotBeListedIsLoggedOnceAndDelaysNothing(t *testing.T) {
	t.Parallel()
	kind := kindOf("forbidden.example.com")
	const plural = "scalae" // not the usual one, under which the chart grants the permission
	create(t, defineScaler(kind.GroupKind, plural, "v1"))
	n := namespace(t, nil).Name
	const name = "no-scalers"
	for resource, group := range map[string]string{
		"namespaces": "", "customresourcedefinitions": "apiextensions.k8s.io", "horizontalpodautoscalers": "autoscaling",
	} {
		permit(t, name, group, resource)
	}
	f := follow(t, user(t, name), kind)
	eventually(t, "the state is ready", true, f.state.Ready)
	eventually(t, "the log names the missing permission", 1, func() int {
		return f.logged("scalers cannot be read", plural+".forbidden.example.com", "forbidden", "allow list and watch on "+plural)
	})
	if got := f.state.Scaler(n, "apps", "Deployment", "web"); len(got.Readable) > 0 {
		t.Errorf("want managers to count by their names, got %+v", got)
	}
	expect.NoError(t, f.state.Check())

	permit(t, name, kind.GroupKind.Group, plural)
	createScaler(t, n, "one", kind.GroupKind.WithVersion("v1"), map[string]any{"ref": map[string]any{"name": "web"}})
	eventually(t, "once permitted", "Scaler/one", f.scalerOf(n, "web"))
	eventually(t, "the managers are readable", true, func() bool {
		return cmp.Equal(f.state.Scaler(n, "apps", "Deployment", "other").Readable, kind.Managers)
	})
	eventually(t, "the log says it", 1, func() int { return f.logged("scalers can be read again") })
	expect.Equal(t, "lines of the log with the missing permission", 1, f.logged("scalers cannot be read"))
	expect.NoError(t, suite.client.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + plural}}))
	eventually(t, "a scaler that could have been deleted since", "", f.scalerOf(n, "web"))
}

func TestMistakesAreReportedOnceOnTheScaler(t *testing.T) {
	t.Parallel()
	kind, f := followed(t, "mistaken.example.com")
	opted := namespace(t, map[string]string{optin.Annotation: "enforce"}).Name
	other := namespace(t, nil).Name
	ref := func(reference any) map[string]any { return map[string]any{"ref": reference} }
	for _, n := range []string{opted, other} {
		for name, spec := range map[string]map[string]any{
			"none": {}, "text": ref("web"), "nameless": ref(map[string]any{"kind": "Deployment"}),
			"version": ref(map[string]any{"apiVersion": "a/b/c", "name": "web"}),
			"a":       ref(map[string]any{"name": "shared"}), "b": ref(map[string]any{"name": "shared"}),
			"good": ref(map[string]any{"name": "good"}),
		} {
			createScaler(t, n, name, kind.GroupKind.WithVersion("v1"), spec)
		}
	}
	want := []string{
		"Warning NoScaleTarget Scaler/nameless: .spec.ref: the reference has no name, so handoff keeps no replicas for it",
		"Warning NoScaleTarget Scaler/none: .spec.ref: the reference is missing, so handoff keeps no replicas for it",
		"Warning NoScaleTarget Scaler/text: .spec.ref: the reference is not an object, so handoff keeps no replicas for it",
		"Warning NoScaleTarget Scaler/version: .spec.ref: the reference has a malformed apiVersion, so handoff keeps no replicas for it",
		"Warning SharedScaleTarget Scaler/a: several scalers scale the same workload: Scaler/a, Scaler/b; delete all but one",
		"Warning SharedScaleTarget Scaler/b: several scalers scale the same workload: Scaler/a, Scaler/b; delete all but one",
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	eventually(t, "all are logged, in both namespaces", 2*len(want), func() int { return f.logged("a scaler needs attention") })
	expect.Equal(t, "Events in the namespace that has opted in", want, strings.Split(f.recorded(), "\n"), sorted)
	eventually(t, "the first by name owns the shared target", "Scaler/a", f.scalerOf(opted, "shared"))

	// A change of what does not matter is not reported again; a HorizontalPodAutoscaler beside a scaler is.
	for _, name := range []string{"none", "a"} {
		labels := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"some":"label"}}}`))
		expect.NoError(t, suite.client.Patch(t.Context(), scaler(opted, name, kind.GroupKind.WithVersion("v1")), labels))
	}
	autoscale(t, opted, "late", "apps/v1", "Deployment", "good")
	const rivals = "Warning SharedScaleTarget Scaler/good: several scalers scale the same workload: Scaler/good, HorizontalPodAutoscaler/late; delete all but one"
	eventually(t, "the HorizontalPodAutoscaler is reported", true, func() bool { return strings.Contains(f.recorded(), rivals) })
	want = slices.Concat(want, []string{rivals})
	expect.Equal(t, "Events", want, strings.Split(f.recorded(), "\n"), sorted)

	// Nothing is remembered of targets that are no longer shared, because users can create and delete any number of scalers:
	// when it begins again, it is reported again.
	expect.NoError(t, suite.client.Delete(t.Context(), scaler(opted, "b", kind.GroupKind.WithVersion("v1"))))
	createScaler(t, opted, "marker", kind.GroupKind.WithVersion("v1"), map[string]any{})
	eventually(t, "what happened before the marker is reported", true, func() bool { return strings.Contains(f.recorded(), "Scaler/marker") })
	createScaler(t, opted, "b", kind.GroupKind.WithVersion("v1"), ref(map[string]any{"name": "shared"}))
	eventually(t, "the rivals are reported again", 4, func() int {
		return strings.Count(f.recorded(), "scale the same workload: Scaler/a, Scaler/b;")
	})
}

func TestAHorizontalPodAutoscalerThatAScalerCreatedIsNotItsRival(t *testing.T) {
	t.Parallel()
	kind, f := followed(t, "creator.example.com")
	n := namespace(t, map[string]string{optin.Annotation: "enforce"}).Name
	o := createScaler(t, n, "web", kind.GroupKind.WithVersion("v1"), map[string]any{"ref": map[string]any{"name": "web"}})
	hpa := autoscaler(n, "made", "apps/v1", "Deployment", "web")
	hpa.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, kind.GroupKind.WithVersion("v1"))}
	create(t, hpa)
	eventually(t, "both are known", true, func() bool { return f.state.Scaler(n, "apps", "Deployment", "web").Desired == 1 })
	createScaler(t, n, "last", kind.GroupKind.WithVersion("v1"), map[string]any{})
	eventually(t, "the last scaler is reported", true, func() bool { return strings.Contains(f.recorded(), "Scaler/last") })
	if strings.Contains(f.recorded(), "SharedScaleTarget") {
		t.Errorf("want no report, got %s", f.recorded())
	}
	eventually(t, "the scaler is the owner", "Scaler/web", f.scalerOf(n, "web"))
}
