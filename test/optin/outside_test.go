package optin_test

import (
	_ "embed"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/plugin/installation"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

const outside = "cluster.ownership-handoff.io"

//go:embed testdata/outside.yaml
var objectsOutside string

// TestObjectsOutsideNamespacesAreCalledForOnlyWithTheLabel also verifies that the API server evaluates no match condition for others,
// and that the plugin says the same.
func TestObjectsOutsideNamespacesAreCalledForOnlyWithTheLabel(t *testing.T) {
	kinds := []schema.GroupResource{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, {Group: "apiregistration.k8s.io", Resource: "apiservices"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, {Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
		{Group: "scheduling.k8s.io", Resource: "priorityclasses"},
	}
	in, err := installation.Of(t.Context(), cluster.plane.Config)
	expect.NoError(t, err)
	for label, called := range map[string]string{"": "", "off": "", "enforce": outside, "enfroce": outside} {
		t.Run(label, func(t *testing.T) {
			object, labels := installation.Object{}, ""
			if label != "" {
				object.Labels, labels = map[string]string{optin.Label: label}, optin.Label+`: "`+label+`"`
			}
			var want []string
			for _, verb := range []string{"create ", "patch "} {
				for i, kind := range kinds {
					line := verb + kind.Resource + ": "
					if i < 3 && verb == "patch " {
						line += called
					}
					want = append(want, line)
					object.Resource = kind
					if said := in.Effect(t.Context(), object); said.On() != (i < 3 && called != "") {
						t.Errorf("%s: the plugin says %+v", kind, said)
					}
				}
			}
			offset, conditions := auditOffset(t), excluded(t, outside)
			for _, generation := range []string{"1", "2"} {
				applyOutside(t, generation, labels)
			}
			got := audited(t, offset, "")
			expect.Equal(t, "evaluations of match conditions of which one is false", conditions, excluded(t, outside))
			kubectl(t, objectsOutside, "delete", "-f-")
			expect.Equal(t, "the API server's calls", want, got)
		})
	}
}

func applyOutside(t *testing.T, generation, labels string) {
	t.Helper()
	kubectl(t, strings.NewReplacer("GENERATION", generation, "LABELS", labels).Replace(objectsOutside), "apply", "-f-")
}

// TestNothingOutsideNamespacesIsBlockedWithoutPods stops the webhook.
func TestNothingOutsideNamespacesIsBlockedWithoutPods(t *testing.T) {
	expect.NoError(t, cluster.webhook.Stop())
	defer install(t, handofftest.Options{})
	before := apiServerMetric(t, "apiserver_admission_webhook_fail_open_count", outside)
	applyOutside(t, "1", optin.Label+": enforce")
	applyOutside(t, "2", optin.Label+": enforce")
	kubectl(t, objectsOutside, "delete", "-f-")
	expect.Equal(t, "failed calls", 3, apiServerMetric(t, "apiserver_admission_webhook_fail_open_count", outside)-before)
}
