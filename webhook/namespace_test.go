package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// namespaceReview returns a review of a namespace. The objects are the contents of metadata; without live, the namespace is created.
func namespaceReview(manager, live, incoming string) string {
	operation, oldObject := "UPDATE", `{"kind":"Namespace","metadata":{`+live+`}}`
	if live == "" {
		operation, oldObject = "CREATE", "null"
	}
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":%q,"name":"shop",
		"namespace":"shop","kind":{"group":"","version":"v1","kind":"Namespace"},"options":{"fieldManager":%q},
		"object":{"kind":"Namespace","metadata":{%s}},"oldObject":%s}}`, operation, manager, incoming, oldObject)
}

// TestTheLabelOfANamespaceFollowsItsAnnotation has the objects and managedFields that the tools of test/optin do not send.
func TestTheLabelOfANamespaceFollowsItsAnnotation(t *testing.T) {
	const (
		plain  = `"labels":{"a":"b"}`
		follow = "handoff: the label ownership-handoff.io/mode follows the annotation of that name; write the annotation instead"
		entry  = `{"manager":"kubectl-label","operation":"Update","fieldsType":"FieldsV1","fieldsV1":`
		owned  = `{"f:metadata":{"f:labels":{"f:ownership-handoff.io/mode":{}}}}`
		both   = `{"f:metadata":{"f:labels":{"f:a":{},"f:ownership-handoff.io/mode":{}}}}`
		other  = `{"f:metadata":{"f:annotations":{"f:ownership-handoff.io/mode":{}}}}`
	)
	annotated := func(mode string) string { return `"annotations":{"ownership-handoff.io/mode":"` + mode + `"}` }
	labeled := func(mode string) string { return `"labels":{"a":"b","ownership-handoff.io/mode":"` + mode + `"}` }
	managed := func(entries ...string) string { return `,"managedFields":[` + strings.Join(entries, ",") + `]` }
	for sentence, c := range map[string]struct {
		manager, live, incoming, want string
		warned                        bool
	}{
		"an annotation of a new namespace without labels": {
			"kubectl-create", "", annotated("enforce"), `"labels":{"ownership-handoff.io/mode":"enforce"},` + annotated("enforce"), false,
		},
		"labels that are null": {
			"", "", `"labels":null,` + annotated("warn"), `"labels":{"ownership-handoff.io/mode":"warn"},` + annotated("warn"), false,
		},
		"nothing to do":         {"", plain, plain, plain, false},
		"a label in step":       {"", "", labeled("warn") + "," + annotated("warn"), labeled("warn") + "," + annotated("warn"), false},
		"a replaced namespace":  {"kubectl-replace", labeled("warn") + "," + annotated("warn"), plain + "," + annotated("warn"), labeled("warn") + "," + annotated("warn"), false},
		"a label with an entry": {"", plain, labeled("x") + managed(entry+owned+"}"), plain + managed(), true},
		"a label beside the map that contains it": {
			"", plain, labeled("x") + managed(entry+`{"f:metadata":{"f:labels":{".":{},"f:ownership-handoff.io/mode":{}}}}}`),
			plain + managed(entry+`{"f:metadata":{"f:labels":{".":{}}}}}`), true,
		},
		"the only label beside an annotation": {
			"", plain, labeled("x") + managed(entry+`{"f:metadata":{"f:annotations":{"f:a":{}},"f:labels":{"f:ownership-handoff.io/mode":{}}}}}`),
			plain + managed(entry+`{"f:metadata":{"f:annotations":{"f:a":{}}}}}`), true,
		},
		"entries of several managers": {
			"", plain, labeled("x") + managed(entry+other+"}", entry+owned+"}", entry+both+"}", entry+owned+"}"),
			plain + managed(entry+other+"}", entry+`{"f:metadata":{"f:labels":{"f:a":{}}}}}`), true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, &fakeCluster{notReady: true}) // the label needs no state of the cluster
			response := s.answer(t, namespaceReview(c.manager, c.live, c.incoming))
			got := patchedBy(t, `{"metadata":{`+c.incoming+`}}`, response.Patch)
			expect.Equal(t, "the namespace", unmarshal(t, `{"metadata":{`+c.want+`}}`), unmarshal(t, got))
			var warnings []string
			if c.warned {
				warnings = []string{follow}
			}
			expect.Equal(t, "warnings", warnings, response.Warnings)
		})
	}
}
