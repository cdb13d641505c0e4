package optin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestThePolicyLimitsThePermissionToTheLabel impersonates the ServiceAccount, as someone could who controls a pod of handoff. No
// webhook corrects what it writes.
func TestThePolicyLimitsThePermissionToTheLabel(t *testing.T) {
	unregister(t)
	warned, plain := "policy-warned", "policy-plain"
	kubectl(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "policy-warned", "labels": {"team": "web"},
		"annotations": {"`+mode+`": "warn"}, "finalizers": ["example.com/mine"]}}`, "create", "-f-")
	kubectl(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "policy-plain"}}`, "create", "-f-")
	const (
		except       = "handoff may change nothing of a namespace except its label ownership-handoff.io/mode"
		toAnnotation = "handoff may set the label ownership-handoff.io/mode of a namespace only to the mode in its annotation"
		managed      = "handoff may change no managedFields of a namespace except those of its label ownership-handoff.io/mode"
		label        = `{"metadata":{"labels":{"` + mode + `":`
	)
	handoff, administrator := clientOf(t, serviceAccount), clientOf(t, "")
	// kubectl patch would read the namespace first, which handoff may not.
	patch := func(user client.Client, namespace, patch string) error {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		return user.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	eventually(t, "the policy is in effect", func() bool {
		err := patch(handoff, plain, `{"metadata":{"labels":{"a":"b"}}}`)
		return err != nil && strings.Contains(err.Error(), except)
	})
	renamed := clientOf(t, strings.Replace(serviceAccount, ":handoff-webhook", ":acme-handoff-webhook-2", 1), "system:masters")
	expect.Error(t, "an installation with a namePrefix and a nameSuffix", except, patch(renamed, plain, `{"metadata":{"labels":{"a":"b"}}}`))
	for sentence, c := range map[string]struct{ namespace, patch, refused string }{
		"no change":                              {warned, `{}`, ""},
		"the label of the annotation, by itself": {warned, label + `"warn"}}}`, managed}, // only the response to a review sets it
		"another mode":                           {warned, label + `"enforce"}}}`, toAnnotation},
		"an unknown mode":                        {warned, label + `"x"}}}`, toAnnotation},
		"a label without an annotation":          {plain, label + `"enforce"}}}`, toAnnotation},
		"another label":                          {warned, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`, except},
		"another label and its own":              {warned, label + `"warn","a":"b"}}}`, except},
		"a changed label":                        {warned, `{"metadata":{"labels":{"team":"ours"}}}`, except},
		"a removed label":                        {warned, `{"metadata":{"labels":{"team":null}}}`, except},
		"all labels removed":                     {warned, `{"metadata":{"labels":null}}`, except},
		"the mode annotation":                    {warned, `{"metadata":{"annotations":{"` + mode + `":"enforce"}}}`, except},
		"the first annotation":                   {plain, `{"metadata":{"annotations":{"a":"b"}}}`, except},
		"all annotations removed":                {warned, `{"metadata":{"annotations":null}}`, except},
		"a removed finalizer":                    {warned, `{"metadata":{"finalizers":null}}`, except},
		"a new finalizer":                        {plain, `{"metadata":{"finalizers":["example.com/ours"]}}`, except},
		"an owner":                               {plain, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]}}`, except},
		"managedFields reset":                    {warned, `{"metadata":{"managedFields":[{}]}}`, managed},
		"managedFields of another manager":       {warned, forgedEntry, managed},
		"the label and managedFields of all":     {warned, `{"metadata":{"managedFields":[{}],"labels":{"` + mode + `":"warn"}}}`, managed},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := patch(handoff, c.namespace, c.patch)
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("want it refused with %q, got %v", c.refused, err)
			}
			if err := patch(administrator, c.namespace, c.patch); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	}
}

// clientOf returns a client that impersonates a user, or the administrator's if it is empty.
func clientOf(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(cluster.plane.Config)
	config.Impersonate.UserName, config.Impersonate.Groups = user, groups
	c, err := client.New(config, client.Options{})
	expect.NoError(t, err)
	return c
}

// forgedEntry is an entry of another manager.
const forgedEntry = `{"metadata":{"managedFields":[{"manager":"kubectl-create","operation":"Update","apiVersion":"v1",
	"time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:team":{}}}}}]}}`
