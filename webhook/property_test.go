package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
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

// checkPatch checks that managedFields stay valid, that last-applied stays JSON, and that all other changes restore what live has, start a
// new object at the autoscaler's count, or clear a stale default.
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
	_, started := response.AuditAnnotations["start-autoscaled"]
	_, cleared := response.AuditAnnotations["clear-stale-default"]
	checked := []fieldpath.Path{managedFields, pathOf("metadata", "annotations", ownership.LastAppliedAnnotation)}
	if request.kind == "Namespace" {
		checked = append(checked, pathOf("metadata", "labels", optin.Label)) // it follows the annotation
	}
	if count, _ := document.Get(after, pathOf("spec", "replicas")); started && sameJSON(count, 7) {
		checked = append(checked, pathOf("spec", "replicas"))
	}
	for _, path := range checked {
		document.Remove(before, path)
		document.Remove(after, path)
	}
	if !restores(before, after, live, cleared) {
		tb.Errorf("the patch restores something that is not in live: %s", response.Patch)
	}
}

// restores reports whether what a patch has changed is as in the same place of live, or removed if it may remove something. Elements of a
// list can be anywhere in it.
func restores(before, after, live any, removes bool) bool {
	switch is := after.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		lives, _ := live.(map[string]any)
		for name := range was {
			_, stays := is[name]
			if _, isLive := lives[name]; !stays && isLive && !removes {
				return false
			}
		}
		for name, member := range is {
			if _, had := was[name]; !restores(was[name], member, lives[name], removes) || member == nil && !had {
				return false
			}
		}
		return true
	case []any:
		was, _ := before.([]any)
		lives, _ := live.([]any)
		isOther := func(a, b any) bool {
			one, _ := a.(map[string]any)
			other, _ := b.(map[string]any)
			return a != nil && b != nil && !reflect.DeepEqual(one["name"], other["name"])
		}
		isRestored := func(before, after any) bool {
			return !isOther(before, after) && slices.ContainsFunc(append(lives, nil), func(live any) bool {
				return !isOther(live, after) && restores(before, after, live, removes)
			})
		}
		return reflect.DeepEqual(was, is) || !slices.ContainsFunc(is, func(after any) bool {
			return !slices.ContainsFunc(append(was, nil), func(before any) bool { return isRestored(before, after) })
		}) && !slices.ContainsFunc(was, func(before any) bool {
			return !slices.ContainsFunc(is, func(after any) bool { return isRestored(before, after) })
		})
	default:
		return after == before || after == live
	}
}

// TestThePropertyIsAboutPlaces verifies that a patch that copies a value of live to another place is found, and what a patch removes.
func TestThePropertyIsAboutPlaces(t *testing.T) {
	const live = `{"paused":true,"list":[{"name":"a","x":1},{"name":"b"}]}`
	for sentence, test := range map[string]struct {
		before, after string
		want          bool
	}{
		"a value of live":                  {`{}`, `{"paused":true}`, true},
		"a value of live in another place": {`{}`, `{"privileged":true}`, false},
		"a part of an element":             {`{"list":[{"name":"a"}]}`, `{"list":[{"name":"a","x":1}]}`, true},
		"a part of another element":        {`{"list":[{"name":"b"}]}`, `{"list":[{"name":"b","x":1}]}`, false},
		"an element of live":               {`{"list":[{"name":"c"}]}`, `{"list":[{"name":"b"},{"name":"c"}]}`, true},
		"a member removed":                 {`{"paused":false}`, `{}`, false},
		"an element removed":               {`{"list":[{"name":"c"},{"name":"a"}]}`, `{"list":[{"name":"a"}]}`, false},
	} {
		expect.Equal(t, sentence, test.want, restores(unmarshal(t, test.before), unmarshal(t, test.after), unmarshal(t, live), false))
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
