package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/webhook"
)

// opened is what a review says, taken out of it by name.
type opened struct {
	uid, operation    string
	kind              string
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
	request.operation, _ = read.Member("operation").String()
	request.kind, _ = read.At("kind", "kind").String()
	request.uid, ok = read.Member("uid").String()
	return request, ok
}

// hold posts a body and holds what is true of every answer: the write is allowed, the uid is the review's, and a patch
// only brings back what live has, beside the last-applied annotation and managedFields: see unexplained.
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
		holdPatch(tb, request, response)
	}
	return response
}

func failedOpen(response *admissionv1.AdmissionResponse) bool {
	return len(response.Warnings) == 1 && strings.HasPrefix(response.Warnings[0], "handoff: skipped, ")
}

func holdPatch(tb testing.TB, request opened, response *admissionv1.AdmissionResponse) {
	tb.Helper()
	before, live := decode(tb, string(request.object)), map[string]any{}
	if request.operation != "CREATE" {
		live = decode(tb, string(request.oldObject))
	}
	text := patchedBy(tb, string(request.object), response.Patch)
	after := decode(tb, text)
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
	for _, document := range []map[string]any{before, after, live} {
		remove(document, []string{"metadata", "annotations", lastApplied})
		remove(document, []string{"metadata", "managedFields"})
	}
	if _, started := response.AuditAnnotations["start-autoscaled"]; started {
		scale := []string{"spec", "replicas"}
		if request.kind == "Gadget" {
			scale = []string{"spec", "pool", "size"}
		}
		if got := at(after, scale); got != json.Number("7") {
			tb.Errorf("the autoscaler wants 7, got %v", got)
		}
		removeWithContainers(before, scale)
		removeWithContainers(after, scale)
	}
	_, cleared := response.AuditAnnotations["clear-stale-default"]
	if changes := unexplained("", before, after, live, cleared); len(changes) > 0 {
		tb.Errorf("the patch changes what it has no reason to:\n%s\n(-incoming +patched):\n%s",
			strings.Join(changes, "\n"), cmp.Diff(before, after))
	}
}

// absent stands for a member that an object does not have.
type absent struct{}

// unexplained lists where a patched document differs from the incoming one without being as live is. What row 7 clears is
// absent afterwards. An object on the way to what comes back comes with it.
func unexplained(path string, before, after, live any, cleared bool) []string {
	if cmp.Equal(before, after) || cmp.Equal(after, live) || cleared && after == (absent{}) {
		return nil
	}
	was, isObject := before.(map[string]any)
	is, stays := after.(map[string]any)
	if stays && (isObject || before == (absent{})) {
		lives, _ := live.(map[string]any)
		var changes []string
		for name := range allNames(was, is) {
			changes = append(changes, unexplained(path+"/"+name, member(was, name), member(is, name), member(lives, name), cleared)...)
		}
		return changes
	}
	wasList, _ := before.([]any)
	isList, _ := after.([]any)
	if len(wasList) == 0 || len(wasList) != len(isList) {
		return []string{path}
	}
	var changes []string
	for i := range isList {
		changes = append(changes, unexplainedElement(path+"/"+strconv.Itoa(i), wasList[i], isList[i], live, cleared)...)
	}
	return changes
}

// unexplainedElement compares an element with all those of live: which one it is there is known by its key.
func unexplainedElement(path string, before, after, live any, cleared bool) []string {
	changes := unexplained(path, before, after, absent{}, cleared)
	elements, _ := live.([]any)
	for _, element := range elements {
		if len(changes) == 0 {
			break
		}
		changes = unexplained(path, before, after, element, cleared)
	}
	return changes
}

func allNames(objects ...map[string]any) map[string]bool {
	names := map[string]bool{}
	for _, object := range objects {
		for name := range object {
			names[name] = true
		}
	}
	return names
}

func member(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
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

// removeWithContainers removes a field, and the objects on the way to it that hold nothing else.
func removeWithContainers(v any, path []string) {
	for ; len(path) > 0; path = path[:len(path)-1] {
		remove(v, path)
		if container, ok := at(v, path[:len(path)-1]).(map[string]any); !ok || len(container) > 0 {
			return
		}
	}
}

// valid says what the API server says to managedFields that a webhook returns.
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
