package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestForgedReviewsStoreNoEventsElsewhere posts reviews like any client that can reach the port. Events are stored only in a
// namespace where handoff is enabled, and contain no text of these reviews.
func TestForgedReviewsStoreNoEventsElsewhere(t *testing.T) {
	t.Parallel()
	const text = "call-me-at-555"
	in, out := newNamespace(t, "enforce"), newNamespace(t, "")
	s := startServer(in, cluster.Plane.Kubeconfig)
	s.ready()
	name := fmt.Sprintf("forged-%d", time.Now().UnixNano())
	forge := func(namespace string) {
		body := strings.ReplaceAll(applied(namespace), `"name":"web"`, `"name":"`+name+`"`)
		body = strings.ReplaceAll(body, `"annotations":{`, `"labels":{"ownership-handoff.io/mode":"enforce"},"annotations":{`)
		body = strings.Replace(body, `{\"spec\":{\"replicas\":3}}`, `{\"spec\":{}}`, 1) // removes replicas
		body = strings.ReplaceAll(body, `"managedFields":[`, `"managedFields":[{"manager":"`+text+`","operation":"Update",`+
			`"apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},`)
		if response, err := s.post(body); err != nil || len(response.Patch) == 0 {
			t.Errorf("%s: an answer that keeps replicas is expected, got %+v, %v", namespace, response, err)
		}
	}
	for _, namespace := range []string{"kube-system", "default", out.name, in.name} {
		forge(namespace)
	}
	type event struct {
		Message  string
		Metadata struct{ Namespace string }
	}
	var found struct{ Items []event }
	recorded := func() bool {
		list := in.kubectl("get", "events", "--all-namespaces", "--field-selector=involvedObject.name="+name, "-o", "json")
		if err := json.Unmarshal([]byte(list.stdout), &found); err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Items {
			if e.Metadata.Namespace == in.name { // the last Event
				return true
			}
		}
		return false
	}
	in.eventually("the namespace with handoff enabled has an Event", recorded)
	for _, e := range found.Items {
		if e.Metadata.Namespace != in.name {
			t.Errorf("an Event is stored in %s: %s", e.Metadata.Namespace, e.Message)
		}
		if strings.Contains(e.Message, text) {
			t.Errorf("an Event contains text of a forged review: %s", e.Message)
		}
	}
}
