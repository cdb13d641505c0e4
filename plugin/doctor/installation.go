package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ownership-handoff/handoff/ownership"
)

const (
	// webhookSuffix ends the names of the webhook's entries. The name of the configuration can differ.
	webhookSuffix = ".ownership-handoff.io"
	// mainWebhook is the entry that reviews the writes in namespaces that have opted in.
	mainWebhook = "webhook" + webhookSuffix
	// namespacesWebhook is the entry that makes the label of namespaces follow their annotation.
	namespacesWebhook = "namespaces" + webhookSuffix
	// reviewPath is the path of all entries.
	reviewPath = "/mutate"
)

// installation is what is installed. Parts that are missing or could not be read are nil.
type installation struct {
	configuration *admissionregistrationv1.MutatingWebhookConfiguration
	// hooks are the entries of the configuration that call handoff.
	hooks []*admissionregistrationv1.MutatingWebhook
	// service is the Service that the entries name; it is nil if they have a URL.
	service    *admissionregistrationv1.ServiceReference
	port       int32
	deployment *appsv1.Deployment
	pods       []corev1.Pod
	// selector selects the pods.
	selector labels.Set
	// readyEndpoints is the number of ready endpoints of the Service.
	readyEndpoints int
}

func (in *installation) object() string {
	return named("mutatingwebhookconfiguration", in.configuration.Name, "")
}

// main returns the entry that reviews the writes in namespaces that have opted in, or nil.
func (in *installation) main() *admissionregistrationv1.MutatingWebhook {
	for _, hook := range in.hooks {
		if hook.Name == mainWebhook {
			return hook
		}
	}
	return nil
}

// followsLabel reports whether the API server selects namespaces by a label that follows their annotation.
func (in *installation) followsLabel() bool {
	hook := in.main()
	if hook == nil || hook.NamespaceSelector == nil {
		return false
	}
	return slices.ContainsFunc(hook.NamespaceSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == ownership.ModeAnnotation
	})
}

// selfSigned reports whether the webhook issues its own certificates.
func (in *installation) selfSigned() bool {
	arguments := in.arguments()
	return slices.Contains(arguments, "--self-signed") || slices.Contains(arguments, "--self-signed=true")
}

// flag returns the value of a flag of the webhook, or the default.
func (in *installation) flag(name, byDefault string) string {
	for _, arg := range in.arguments() {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return byDefault
}

func (in *installation) arguments() []string {
	if container := in.container(); container != nil {
		return slices.Concat(container.Command, container.Args)
	}
	return nil
}

// container returns the webhook's container: other clients can add containers in any order.
func (in *installation) container() *corev1.Container {
	if in.deployment == nil {
		return nil
	}
	containers := in.deployment.Spec.Template.Spec.Containers
	for i := range containers {
		if containers[i].Name == "webhook" {
			return &containers[i]
		}
	}
	return nil
}

// checkConfiguration finds the MutatingWebhookConfiguration.
func (d *diagnosis) checkConfiguration(ctx context.Context, c *Check) {
	resource := admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	all, err := list[admissionregistrationv1.MutatingWebhookConfiguration](ctx, d.objects, resource, "", metav1.ListOptions{})
	if err != nil {
		c.unread("list mutatingwebhookconfigurations.admissionregistration.k8s.io", err)
		return
	}
	var names []string
	for i := range all {
		hooks := hooksOf(&all[i])
		if len(hooks) == 0 {
			continue
		}
		names = append(names, all[i].Name)
		if d.install.configuration == nil {
			d.install.configuration, d.install.hooks = &all[i], hooks
		}
	}
	switch len(names) {
	case 0:
		c.found("mutatingwebhookconfiguration/handoff", "not found: the API server does not call handoff, in any namespace",
			d.reinstall()...)
		return
	case 1:
	default:
		c.found(d.install.object(), fmt.Sprintf("%d configurations call handoff: %s; a cluster can have one installation",
			len(names), strings.Join(names, ", ")), "delete all but one: kubectl delete mutatingwebhookconfiguration NAME")
	}
	for _, hook := range d.install.hooks {
		if d.install.service == nil && hook.ClientConfig.Service != nil {
			d.install.service = hook.ClientConfig.Service
		}
	}
	if d.install.main() == nil {
		c.found(d.install.object(), "webhook "+mainWebhook+" is missing", d.reinstall()...)
	}
	c.Detail = fmt.Sprintf("%s, failurePolicy %s", d.install.object(), d.policies())
	d.checkEntries(c)
}

// hooksOf returns the entries of a configuration that call handoff.
func hooksOf(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []*admissionregistrationv1.MutatingWebhook {
	var hooks []*admissionregistrationv1.MutatingWebhook
	for i := range configuration.Webhooks {
		if strings.HasSuffix(configuration.Webhooks[i].Name, webhookSuffix) {
			hooks = append(hooks, &configuration.Webhooks[i])
		}
	}
	return hooks
}

// policies returns the failure policies of the entries.
func (d *diagnosis) policies() string {
	var policies []string
	for _, hook := range d.install.hooks {
		if hook.FailurePolicy != nil && !slices.Contains(policies, string(*hook.FailurePolicy)) {
			policies = append(policies, string(*hook.FailurePolicy))
		}
	}
	return strings.Join(policies, " and ")
}
