package doctor

import (
	"fmt"
	"strings"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

func TestFieldsThatOthersHaveWrittenAreFound(t *testing.T) {
	const installed, policy, bundle = `"f:name":{},"f:failurePolicy":{},"f:rules":{}`, `"f:failurePolicy":{}`, `"f:clientConfig":{"f:caBundle":{}}`
	for sentence, c := range map[string]struct {
		managers map[string]string // and the fields of the entry that each manages
		want     string
	}{
		"as applied":                          {map[string]string{"kubectl-client-side-apply": installed}, ""},
		"as created":                          {map[string]string{"kubectl-create": installed}, ""},
		"installed by an unknown program":     {map[string]string{"terraform": installed, "helm": policy}, ""},
		"edited":                              {map[string]string{"helm": `"f:name":{}`, "kubectl-edit": policy}, "kubectl-edit has written failurePolicy"},
		"edited, and applied with that value": {map[string]string{"helm": installed, "kubectl-edit": policy}, ""},
		"the caBundle":                        {map[string]string{"helm": installed, "cainjector": bundle}, ""},
		"the caBundle, and another field": {
			map[string]string{"helm": installed, "enforcer": bundle + `,"f:objectSelector":{}`}, "enforcer has written objectSelector",
		},
	} {
		d := &diagnosis{check: &Check{}, in: &installation.Installation{}, configuration: registration.MutatingWebhookConfiguration{}}
		for manager, fields := range c.managers {
			d.configuration.ManagedFields = append(d.configuration.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:webhooks":{"k:{\"name\":\"%s\"}":{%s}}}`, installation.MainEntry, fields)),
			})
		}
		d.checkChanges(t.Context())
		var got []string
		for _, f := range d.check.Findings {
			got = append(got, strings.ReplaceAll(f.Problem, `.webhooks[name="`+installation.MainEntry+`"].`, ""))
		}
		expect.Equal(t, sentence, c.want, strings.Join(got, "; "))
	}
}
