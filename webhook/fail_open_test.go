package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/webhook"
)

// broken is a review that handoff cannot work on.
type broken struct {
	body    string
	cluster *fakeCluster // enforced() if nil
	uid     string
	reason  string
	warning string // between "skipped, " and ": the write was not modified"
}

func deep(open, closing string) string {
	return strings.Repeat(open, 100_000) + strings.Repeat(closing, 100_000)
}

func brokenReviews() map[string]broken {
	const (
		unreadable    = "the review cannot be parsed"
		noReview      = "the body is not an AdmissionReview"
		noRequest     = "the review has no request"
		noObject      = "an object of the review is not a JSON object"
		managedFields = "metadata.managedFields is malformed"
		noNumber      = "replicas is not an integer"
	)
	good := update(csa, scaledBy7(), applied3())
	reviews := map[string]broken{
		"an empty body":                 {body: "", reason: "bad_review", warning: unreadable},
		"white space":                   {body: " \n", reason: "bad_review", warning: unreadable},
		"no JSON":                       {body: "<" + secret + "/>", reason: "bad_review", warning: unreadable},
		"half a review":                 {body: good.body()[:len(good.body())/2], uid: "review-uid", reason: "bad_review", warning: unreadable},
		"two reviews":                   {body: good.body() + good.body(), uid: "review-uid", reason: "bad_review", warning: unreadable},
		"a list":                        {body: "[]", reason: "bad_review", warning: noReview},
		"a string":                      {body: `"` + secret + `"`, reason: "bad_review", warning: noReview},
		"null":                          {body: "null", reason: "bad_review", warning: noReview},
		"an object of another kind":     {body: `{"kind":"List","apiVersion":"v1"}`, reason: "bad_review", warning: noReview},
		"an empty object":               {body: `{}`, reason: "bad_review", warning: noReview},
		"a review of v1beta1":           {body: changed(good, func(r *request) { r.version = "v1beta1" }).body(), uid: "review-uid", reason: "bad_review", warning: noReview},
		"a review without a request":    {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, reason: "bad_review", warning: noRequest},
		"a request without a uid":       {body: changed(good, func(r *request) { r.uid = "" }).body(), reason: "bad_review", warning: noRequest},
		"a request that is null":        {body: reviewOf("null"), reason: "bad_review", warning: noRequest},
		"a request that is a string":    {body: reviewOf(`"request"`), reason: "bad_review", warning: noRequest},
		"a request that is a list":      {body: reviewOf(`[{"uid":"review-uid"}]`), reason: "bad_review", warning: noRequest},
		"a uid that is a number":        {body: reviewOf(`{"uid":1}`), reason: "bad_review", warning: noRequest},
		"a repeated uid":                {body: reviewOf(`{"uid":"review-uid","uid":"another"}`), uid: "review-uid", reason: "bad_review", warning: unreadable},
		"a body that is too large":      {body: strings.Replace(good.body(), "app:1", strings.Repeat(secret, webhook.MaxBody/len(secret)), 1), uid: "review-uid", reason: "body_too_large", warning: "review too large"},
		"a body that is large and deep": {body: good.body()[:200] + strings.Repeat("[", webhook.MaxBody), uid: "review-uid", reason: "body_too_large", warning: "review too large"},
		"a cluster that panics with a text": {
			body: good.body(), cluster: &fakeCluster{panics: secret}, uid: "review-uid", reason: "panic", warning: "internal error",
		},
		"a cluster that panics with an error": {
			body: good.body(), cluster: &fakeCluster{panics: errors.New(secret)}, uid: "review-uid", reason: "panic", warning: "internal error",
		},
		"a cluster that is not ready": {
			body: good.body(), cluster: &fakeCluster{notReady: true}, uid: "review-uid", reason: "not_ready", warning: "still starting",
		},
	}
	for sentence, text := range map[string]string{"a string": `"` + secret + `"`, "a number": "12", "a list": `["` + secret + `"]`, "true": "true"} {
		reviews["an object that is "+sentence] = broken{
			body: changed(good, func(r *request) { r.object = text }).body(), uid: "review-uid", reason: "bad_review", warning: noObject,
		}
		reviews["an oldObject that is "+sentence] = broken{
			body: changed(good, func(r *request) { r.oldObject = text }).body(), uid: "review-uid", reason: "bad_review", warning: noObject,
		}
	}
	unreadableObjects := map[string]string{
		"a repeated name":             `{"` + secret + `":3,"` + secret + `":4}`,
		"a repeated annotation":       `{"metadata":{"annotations":{"a":"1","\u0061":"2"}}}`,
		"invalid UTF-8":               "{\"" + secret + "\":{\"a\":\"" + secret + "\xff\"}}",
		"half a character":            `{"` + secret + `":"` + secret + `\ud800"}`,
		"100,000 lists in each other": `{"spec":` + deep("[", "]") + `}`,
		"100,000 objects":             deep(`{"`+secret+`":`, "}"),
		"deep managedFields":          `{"metadata":{"managedFields":[{"manager":"a","fieldsV1":` + strings.Repeat(`{"f:a":`, 100_000) + "{}" + strings.Repeat("}", 100_000) + `}]}}`,
	}
	for sentence, text := range unreadableObjects {
		reviews["an object with "+sentence] = broken{
			body: changed(good, func(r *request) { r.object = text }).body(), uid: "review-uid", reason: "bad_review", warning: unreadable,
		}
		reviews["an oldObject with "+sentence] = broken{
			body: changed(good, func(r *request) { r.oldObject = text }).body(), uid: "review-uid", reason: "bad_review", warning: unreadable,
		}
	}
	for sentence, text := range map[string]string{
		"are an object": `{"manager":"a"}`, "are a string": `"` + secret + `"`, "are a number": "1", "are null": "null",
		"hold a string": `["` + secret + `"]`, "hold null": "[null]", "have a manager that is a number": `[{"manager":1}]`,
		"have a time that is a number": `[{"manager":"a","time":1}]`, "have fields that are a string": `[{"manager":"a","` + secret + `":1,"fieldsV1":"` + secret + `"}]`,
		"have fields that are a list": `[{"manager":"a","fieldsV1":[]}]`,
	} {
		live, incoming := scaledBy7(), applied3()
		live.managedFields, incoming.managedFields = text, text
		reviews["managedFields in live that "+sentence] = broken{
			body: update(csa, live, applied3()).body(), uid: "review-uid", reason: "managed_fields", warning: managedFields,
		}
		reviews["managedFields in incoming that "+sentence] = broken{
			body: update(csa, scaledBy7(), incoming).body(), uid: "review-uid", reason: "managed_fields", warning: managedFields,
		}
	}
	for sentence, text := range map[string]string{"an object": "{}", "a list of a number": "[1]"} {
		reviews["managedFields of a namespace that are "+sentence] = broken{
			body: namespaceReview("", "", `"labels":{"ownership-handoff.io/mode":"x"},"managedFields":`+text), uid: "u", reason: "managed_fields", warning: managedFields,
		}
	}
	wrongSet := applied3()
	wrongSet.entries = []string{entry(csa, "Update", late, `{"k:`+secret+`":{},"f:`+secret+`":"`+secret+`","f:spec":{"f:replicas":{}}}`, "")}
	reviews["managedFields whose set cannot be read"] = broken{
		body: update(csa, scaledBy7(), wrongSet).body(), uid: "review-uid", reason: "managed_fields", warning: managedFields,
	}
	for sentence, value := range map[string]string{
		"a string": `"3"`, "a word": `"` + secret + `"`, "a float": "3.5", "a power": "1e1", "huge": "99999999999999999999", "more than 32 bits": "2147483648",
		"negative": "-3", "negative zero": "-0", "a list": "[3]", "an object": `{"` + secret + `":3}`, "true": "true",
	} {
		for writer, incoming := range map[string]deployment{csa: applied3(), "kubectl-patch": patched1()} {
			live := scaledBy7()
			incoming.replicas = value
			reviews["replicas that "+writer+" makes "+sentence] = broken{
				body: update(writer, live, incoming).body(), uid: "review-uid", reason: "not_an_integer", warning: noNumber,
			}
			incoming.replicas, live.replicas = "3", value
			reviews["replicas that are "+sentence+" before "+writer] = broken{
				body: update(writer, live, incoming).body(), uid: "review-uid", reason: "not_an_integer", warning: noNumber,
			}
		}
	}
	return reviews
}

func changed(r request, change func(*request)) request {
	change(&r)
	return r
}

func reviewOf(request string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":` + request + `}`
}

func TestInvalidReviewsFailOpen(t *testing.T) {
	for sentence, c := range brokenReviews() {
		t.Run(sentence, func(t *testing.T) {
			cluster := c.cluster
			if cluster == nil {
				cluster = enforced()
			}
			s := newServer(t, cluster)
			response := s.answer(t, c.body)
			if response.Patch != nil || response.AuditAnnotations != nil {
				t.Errorf("nothing was to be decided, got %s, %v", response.Patch, response.AuditAnnotations)
			}
			want := []string{"handoff: skipped, " + c.warning + ": the write was not modified"}
			expect.Equal(t, "warnings", want, response.Warnings)
			expect.Equal(t, "uid", c.uid, string(response.UID))
			expect.Equal(t, "handoff_failed_open_total of "+c.reason, 1.0, s.counted(t, "handoff_failed_open_total", map[string]string{"reason": c.reason}))
			expect.Equal(t, "failed reviews", 1.0, s.counted(t, "handoff_reviews_total", map[string]string{"result": "failed_open"}))
			if logged := s.logged(); strings.Count(logged, "failed open") != 1+strings.Count(c.reason, "panic") {
				t.Errorf("it is to be logged, got:\n%s", logged)
			} else if len(logged) > 16<<10 {
				t.Errorf("what is logged is as long as what was sent: %d bytes", len(logged))
			}
			expect.Equal(t, "Events", []event(nil), s.events)
		})
	}
}

// TestObjectContentIsNeverLogged has manifests that no parser accepts. server.answer verifies the same of all reviews of these tests.
func TestObjectContentIsNeverLogged(t *testing.T) {
	for sentence, manifest := range map[string]string{
		"is no JSON": `{"a":"` + secret, "is the secret": secret, "repeats a name": `{"` + secret + `":1,"` + secret + `":2}`,
		"breaks when nested": `{"` + secret + `":{"` + secret + `":[tru]}}`, "breaks in a string": `{"a":"` + secret + `\x"}`, "is a list": `["` + secret + `"]`,
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, enforced())
			response := s.answer(t, update(csa, scaledBy7(), applied3().with(lastApplied, manifest)).body())
			if !slices.Contains(response.Warnings, "handoff: skipped, annotation last-applied-configuration is not valid: only replicas and fields of rules were checked") || response.Patch == nil || s.counted(t, "handoff_skipped_fields_total", map[string]string{"reason": "last_applied"}) != 1 || s.logged() == "" {
				t.Errorf("want replicas kept and the rest skipped, got %s, %s", response.Patch, s.logged())
			}
		})
	}
}

func silent(t *testing.T, s *server, r request) {
	t.Helper()
	response := s.answer(t, r.body())
	if response.Patch != nil || response.Warnings != nil || response.AuditAnnotations != nil || len(s.events) > 0 {
		t.Errorf("not a word and no patch are expected, got %q, %s, %v, %v",
			response.Warnings, response.Patch, response.AuditAnnotations, s.events)
	}
	expect.Equal(t, "uid", "review-uid", string(response.UID))
	expect.Equal(t, "log", "", s.logged())
}

func TestAnIncompleteBodyFailsOpen(t *testing.T) {
	s := newServer(t, enforced())
	whole := strings.NewReader(update(csa, scaledBy7(), applied3()).body())
	body := io.MultiReader(whole, iotest.ErrReader(errors.New("connection reset")))
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", body))
	response := allowed(t, recorder.Code, recorder.Body.Bytes())
	if response.Patch != nil || response.UID != "review-uid" || len(response.Warnings) != 1 {
		t.Errorf("want a warning and no patch, got %q, %s for %s", response.Warnings, response.Patch, response.UID)
	}
}

// TestNamesOfAnyLengthAreDecided has names that are at the limit where fields are looked up, and beyond it where they are decided.
func TestNamesOfAnyLengthAreDecided(t *testing.T) {
	escaped := strings.Repeat("<", 900) // six times as long in a path element of fieldpath
	kept := drops(`"spec":{"items":[{"name":"`+escaped+`","f":"V"}]}`, `"spec":{"items":[{"name":"`+escaped+`"}]}`, "{}")
	kept.annotations = map[string]string{ownership.ControllerFieldsAnnotation: ".spec.items[name=*].f"}
	kept.before = []string{entry("my-operator", "Update", early, `{"f:spec":{"f:items":{"k:{\"name\":\"`+escaped+`\"}":{"f:f":{}}}}}`, "")}
	volume := `{"name":"` + strings.Repeat("x", 1000) + `","emptyDir":{}`
	template := func(volume string) string { return `"spec":{"template":{"spec":{"volumes":[` + volume + `}]}}}` }
	cleared := grown{was: template(volume), is: template(volume + `,"hostPath":{"path":"/"}`)}
	cleared.base, cleared.manifest = `"spec":{}`, template(`{"name":"`+strings.Repeat("x", 1000)+`","hostPath":{"path":"/"}`)
	for sentence, body := range map[string]string{
		"a key with characters that are escaped": kept.body(),
		"a volume with a stale default":          strings.NewReplacer(`"ConfigMap"`, `"Deployment"`, `"group":""`, `"group":"apps"`).Replace(cleared.body()),
	} {
		if r := newServer(t, enforced()).answer(t, body); r.Patch == nil {
			t.Errorf("%s: no patch, and the warnings %.300q", sentence, r.Warnings)
		}
	}
}
