package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/webhook"
)

// opened is what a review says, taken out of it by name.
type opened struct {
	uid, kind         string
	object, oldObject json.RawMessage
}

// openReview returns what a body says; ok is false where it is no review that the API server could have sent.
func openReview(body []byte) (request opened, ok bool) {
	if rawjson.Check(body) != nil {
		return opened{}, false
	}
	find := func(names ...string) []byte {
		return rawjson.Find(body, append([]string{"request"}, names...)...).Of(body)
	}
	request = opened{object: find("object"), oldObject: find("oldObject")}
	request.kind, _ = rawjson.Unquote(find("kind", "kind"))
	request.uid, ok = rawjson.Unquote(find("uid"))
	return request, ok
}

// hold posts a body and holds what is true of every answer: the write is allowed, the uid is the review's, and a patch
// changes nothing but the scale field, the last-applied annotation and managedFields.
func hold(tb testing.TB, handler http.Handler, body []byte) *admissionv1.AdmissionResponse {
	tb.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/mutate", bytes.NewReader(body)))
	response := allowed(tb, recorder.Code, recorder.Body.Bytes())
	request, ok := openReview(body)
	switch {
	case !ok && response.Patch != nil:
		tb.Fatalf("a patch for what is no review: %s", response.Patch)
	case !ok:
		return response
	case !failedOpen(response) && string(response.UID) != request.uid:
		tb.Errorf("uid: want %q, got %q", request.uid, response.UID)
	case failedOpen(response) && response.UID != "" && string(response.UID) != request.uid:
		tb.Errorf("uid: want %q or none, got %q", request.uid, response.UID)
	}
	if response.Patch != nil {
		holdPatch(tb, request, response.Patch)
	}
	return response
}

func failedOpen(response *admissionv1.AdmissionResponse) bool {
	return len(response.Warnings) == 1 && strings.HasPrefix(response.Warnings[0], "handoff: did nothing: ")
}

func holdPatch(tb testing.TB, request opened, patch []byte) {
	tb.Helper()
	before, live := decode(tb, string(request.object)), decode(tb, string(request.oldObject))
	text := patchedBy(tb, string(request.object), patch)
	after := decode(tb, text)

	scale := []string{"spec", "replicas"}
	if request.kind == "Gadget" {
		scale = []string{"spec", "pool", "size"}
	}
	if diff := cmp.Diff(at(live, scale), at(after, scale)); diff != "" {
		tb.Errorf("the scale field (-live +patched):\n%s", diff)
	}
	if was, is := at(before, []string{"metadata", "annotations", lastApplied}), at(after, []string{"metadata", "annotations", lastApplied}); !cmp.Equal(was, is) {
		manifest, _ := is.(string)
		if !json.Valid([]byte(manifest)) {
			tb.Errorf("last-applied is no JSON any more: %q", manifest)
		}
	}
	if valid(at(before, []string{"metadata", "managedFields"})) == nil && valid(at(live, []string{"metadata", "managedFields"})) == nil {
		if err := valid(at(after, []string{"metadata", "managedFields"})); err != nil {
			tb.Errorf("managedFields that the API server refuses: %v: %s", err, text)
		}
	}
	for _, document := range []map[string]any{before, after} {
		removeWithContainers(document, scale) // an object on the way to a kept field is made again
		remove(document, []string{"metadata", "annotations", lastApplied})
		remove(document, []string{"metadata", "managedFields"})
	}
	if diff := cmp.Diff(before, after); diff != "" {
		tb.Errorf("something else has changed (-incoming +patched):\n%s", diff)
	}
}

// at returns what stands at a path of a decoded document, nil where nothing does.
func at(v any, path []string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func remove(v any, path []string) {
	object, _ := at(v, path[:len(path)-1]).(map[string]any)
	delete(object, path[len(path)-1])
}

// valid says what the API server says to managedFields that a webhook returns.
// removeWithContainers removes a field, and the objects on the way to it that hold nothing else.
func removeWithContainers(v any, path []string) {
	for ; len(path) > 0; path = path[:len(path)-1] {
		remove(v, path)
		if container, ok := at(v, path[:len(path)-1]).(map[string]any); !ok || len(container) > 0 {
			return
		}
	}
}

func valid(decoded any) error {
	text, err := json.Marshal(decoded)
	if err != nil {
		return err
	}
	var entries []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	return managedfields.ValidateManagedFields(entries)
}

// resend returns the review that the API server sends when it calls the webhook again: the patched object as incoming.
func resend(tb testing.TB, body []byte, response *admissionv1.AdmissionResponse) []byte {
	tb.Helper()
	var review map[string]json.RawMessage
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &review); err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(review["request"], &request); err != nil {
		tb.Fatal(err)
	}
	request["object"] = json.RawMessage(patchedBy(tb, string(request["object"]), response.Patch))
	review["request"] = json.RawMessage(encode(request))
	return []byte(encode(review))
}

// everywhere is a cluster in which an autoscaler targets everything, and every namespace has opted in.
type everywhere struct{ facts }

func (everywhere) NamespaceMode(string) (mode string, ok bool) { return "enforce", true }

func enforcedEverywhere() webhook.Cluster {
	return &everywhere{facts{autoscaler: "HorizontalPodAutoscaler web"}}
}
