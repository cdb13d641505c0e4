package installation_test

import (
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

func TestModeOfObjects(t *testing.T) {
	deployments, nodes := schema.GroupResource{Group: "apps", Resource: "deployments"}, "kubernetes.io/os"
	roles := schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}
	for sentence, c := range map[string]struct {
		namespace string
		label     string // of the object
		resource  schema.GroupResource
		change    func(*installation.Installation)
		want      optin.Mode
		reason    installation.Reason
	}{
		"the mode of the namespace":                    {namespace: "enforce", want: "enforce"},
		"a namespace that the files do not contain":    {namespace: "other", want: "unknown", reason: "unknown"},
		"an object that opts out in such a namespace":  {namespace: "other", label: "off", want: "off"},
		"the namespace of the system":                  {namespace: "kube-system", want: "off", reason: "excluded"},
		"an object that opts in there":                 {namespace: "kube-system", label: "enforce", want: "off", reason: "excluded"},
		"a namespace without the label":                {namespace: "unlabeled", want: "off", reason: "label missing"},
		"an object that opts in there, without it":     {namespace: "unlabeled", label: "enforce", want: "enforce"},
		"an object outside namespaces":                 {resource: roles, want: "off"},
		"one of another kind":                          {label: "enforce", want: "off", reason: "excluded"},
		"one, without the entry for them":              {resource: roles, label: "enforce", change: keepNamespaces, want: "off", reason: "not installed"},
		"one, without a webhook":                       {resource: roles, label: "enforce", change: remove, want: "off", reason: "not installed"},
		"a namespace, whose label is that of its mode": {resource: schema.GroupResource{Resource: "namespaces"}, label: "enforce", want: "off"},
		"no webhook":                                   {namespace: "enforce", change: remove, want: "off", reason: "not installed"},
		"rules for other kinds":                        {namespace: "enforce", change: explicitRules, want: "off", reason: "excluded"},
		"an objectSelector of the user":                {namespace: "enforce", change: selectObjects(nodes), want: "off", reason: "excluded"},
		"an entry for namespaces, and none for others": {namespace: "enforce", change: keepNamespaces, want: "off", reason: "not installed"},
	} {
		in, err := installation.InFiles()
		expect.NoError(t, err)
		in.AddNamespace(enforced("enforce"))
		in.AddNamespace(enforced("kube-system"))
		in.SetNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "unlabeled", Annotations: map[string]string{optin.Annotation: "enforce"},
		}})
		if c.change != nil {
			c.change(in)
		}
		o := installation.Object{Resource: c.resource, Namespace: c.namespace}
		if o.Resource.Empty() {
			o.Resource = deployments
		}
		if c.label != "" {
			o.Labels = map[string]string{optin.Label: c.label}
		}
		got := in.Mode(t.Context(), o)
		if got.Mode != c.want || got.Reason != c.reason || (got.Reason == "") != (got.Why == "") {
			t.Errorf("%s: want %s (%s), got %+v", sentence, c.want, c.reason, got)
		}
	}
}

func enforced(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": namespace, "annotations": map[string]any{optin.Annotation: "enforce"},
	}}}
}

func remove(in *installation.Installation) { in.Configurations = nil }

func explicitRules(in *installation.Installation) {
	for _, entry := range in.Entries() {
		entry.Rules[0].Resources = []string{"statefulsets"}
	}
}

func selectObjects(label string) func(*installation.Installation) {
	return func(in *installation.Installation) {
		for _, entry := range in.Entries()[:2] {
			entry.ObjectSelector.MatchLabels = map[string]string{label: "linux"}
		}
	}
}

func keepNamespaces(in *installation.Installation) {
	all := in.Configurations[0].Webhooks
	in.Configurations[0].Webhooks = []registration.MutatingWebhook{all[2]}
}

func TestFlagsAreReadAsTheWebhookReadsThem(t *testing.T) {
	for sentence, c := range map[string]struct {
		args []string
		want string
	}{
		"in one argument":         {[]string{"--config=/a", "--webhook-port=1"}, "/a"},
		"in two arguments":        {[]string{"--config", "/a"}, "/a"},
		"without a value":         {[]string{"--config", "--webhook-port=1"}, "true"},
		"the last one counts":     {[]string{"--config=/a", "--config", "/b"}, "/b"},
		"another flag":            {[]string{"--configuration=/a"}, "default"},
		"in the command":          {nil, "default"},
		"in an argument, as text": {[]string{"x --config=/a"}, "default"},
	} {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "other", Args: []string{"--config=/no"}}, {Name: "webhook", Args: c.args}}
		expect.Equal(t, sentence, c.want, installation.Flag(d, "config", "default"))
	}
}
