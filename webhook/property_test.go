package webhook_test

import (
	"bytes"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/webhook"
)

// opened is a review, read by name.
type opened struct {
	uid, kind         string
	object, oldObject json.RawMessage
}

// openReview returns what a body says; ok is false where it is no review that the API server could have sent.
func openReview(body []byte) (request opened, ok bool) {
	root, err := jsontree.Parse(body)
	if err != nil {
		return opened{}, false
	}
	read := root.Member("request")
	request = opened{object: read.Member("object").Text(), oldObject: read.Member("oldObject").Text()}
	request.kind, _ = read.At("kind", "kind").String()
	request.uid, ok = read.Member("uid").String()
	return request, ok
}

// checkResponse posts a body and checks what is true of every response: the write is allowed, the uid is the review's, and a patch
// only restores what live has: see checkPatch.
func checkResponse(tb testing.TB, handler http.Handler, body []byte) *admissionv1.AdmissionResponse {
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
		checkPatch(tb, request, response)
	}
	return response
}

func failedOpen(response *admissionv1.AdmissionResponse) bool {
	return len(response.Warnings) == 1 && strings.HasPrefix(response.Warnings[0], "handoff: skipped, ")
}

// checkPatch checks that managedFields stay valid, that last-applied stays JSON, and that all other operations restore parts of live,
// start a new object at the autoscaler's count, or clear a stale default.
func checkPatch(tb testing.TB, request opened, response *admissionv1.AdmissionResponse) {
	tb.Helper()
	text := patchedBy(tb, string(request.object), response.Patch)
	before, after, live := unmarshal(tb, string(request.object)), unmarshal(tb, text), unmarshalOrNil(string(request.oldObject))
	if manifest := lastAppliedIn(after); manifest != lastAppliedIn(before) && !json.Valid([]byte(manifest)) {
		tb.Errorf("last-applied is no JSON any more: %q", manifest)
	}
	managedFields := pathOf("metadata", "managedFields")
	was, _ := document.Get(before, managedFields)
	lives, _ := document.Get(live, managedFields)
	if is, _ := document.Get(after, managedFields); valid(was) == nil && valid(lives) == nil && valid(is) != nil {
		tb.Errorf("managedFields that the API server rejects: %v: %s", valid(is), text)
	}
	operations, err := jsonpatchv4.DecodePatch(response.Patch)
	expect.NoError(tb, err)
	_, started := response.AuditAnnotations["start-autoscaled"]
	_, cleared := response.AuditAnnotations["clear-stale-default"]
	for _, operation := range operations {
		path, _ := operation.Path()
		value, err := operation.ValueInterface()
		isOther := !strings.HasPrefix(path, "/metadata/managedFields") && path != lastAppliedPointer
		switch isRemoval := operation.Kind() == "remove"; {
		case !isOther, isRemoval && cleared, started && (sameJSON(value, 7) || sameJSON(value, map[string]any{"replicas": 7})):
		case isRemoval && request.kind == "Namespace" && path == "/metadata/labels/"+jsontree.EscapePointer(optin.Label): // it follows the annotation
		case isRemoval || err != nil || !isSomewhereIn(live, value):
			tb.Errorf("%s of %s restores nothing of live: %s", operation.Kind(), path, response.Patch)
		}
	}
}

const lastAppliedPointer = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"

// isSomewhereIn reports whether a decoded value has the part, at any depth.
func isSomewhereIn(v, part any) bool {
	if isPartOf(v, part) {
		return true
	}
	for inner := range children(v) {
		if isSomewhereIn(inner, part) {
			return true
		}
	}
	return false
}

// isPartOf reports whether a value is the part, or an object that has all members of the part, and maybe others.
func isPartOf(v, part any) bool {
	object, isObject := v.(map[string]any)
	members, ok := part.(map[string]any)
	if !isObject || !ok {
		return sameJSON(v, part)
	}
	for name, member := range members {
		if inner, found := object[name]; !found || !isPartOf(inner, member) {
			return false
		}
	}
	return true
}

// children yields the members of an object or the elements of a list.
func children(v any) iter.Seq[any] {
	switch in := v.(type) {
	case map[string]any:
		return maps.Values(in)
	case []any:
		return slices.Values(in)
	default:
		return func(func(any) bool) {}
	}
}

// valid returns the error of the API server about managedFields that a webhook returns.
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
	expect.NoError(tb, json.Unmarshal(body, &review))
	expect.NoError(tb, json.Unmarshal(review["request"], &request))
	request["object"] = json.RawMessage(patchedBy(tb, string(request["object"]), response.Patch))
	review["request"] = json.RawMessage(encode(request))
	return []byte(encode(review))
}

// everywhere is a cluster in which an autoscaler targets everything, and every namespace has opted in.
type everywhere struct{ fakeCluster }

func (everywhere) NamespaceMode(string) (mode string, ok bool) { return "enforce", true }

func enforcedEverywhere() webhook.Cluster {
	return &everywhere{fakeCluster{autoscaler: "HorizontalPodAutoscaler/web"}}
}

// TestRecordedReviewsSatisfyTheProperty is about what a real API server has sent: see test/record.
func TestRecordedReviewsSatisfyTheProperty(t *testing.T) {
	for name, body := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			for _, cluster := range []webhook.Cluster{enforcedEverywhere(), &everywhere{}} {
				response := checkResponse(t, newServer(t, cluster), body)
				if failedOpen(response) {
					t.Errorf("it is a valid review, got %q", response.Warnings)
				}
				if response.Patch == nil {
					continue
				}
				if again := checkResponse(t, newServer(t, cluster), resend(t, body, response)); again.Patch != nil {
					t.Errorf("sent again, it is patched again:\n%s\nafter\n%s", again.Patch, response.Patch)
				}
			}
		})
	}
}
