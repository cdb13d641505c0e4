package webhook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
	"github.com/ownership-handoff/handoff/webhook"
)

// fakeCluster is a cluster in memory.
type fakeCluster struct {
	notReady bool
	// panics is the value with which NamespaceMode panics, if not nil.
	panics any
	// modes are the mode annotations of namespaces.
	modes map[string]string
	// autoscaler targets every object, if there is one.
	autoscaler string
}

func (f *fakeCluster) Ready() bool { return !f.notReady }

func (f *fakeCluster) Stale() (since time.Time, stale bool) { return time.Time{}, false }

func (f *fakeCluster) NamespaceMode(namespace string) (mode string, ok bool) {
	if f.panics != nil {
		panic(f.panics)
	}
	mode, ok = f.modes[namespace]
	return mode, ok
}

// ScalePath returns the paths of built-in kinds, and of a custom resource with another path.
func (f *fakeCluster) ScalePath(_, _, kind string) fieldpath.Path {
	switch kind {
	case "Deployment", "StatefulSet":
		return fieldpath.MakePathOrDie("spec", "replicas")
	case "Gadget":
		return fieldpath.MakePathOrDie("spec", "pool", "size")
	default:
		return nil
	}
}

func (f *fakeCluster) Scaler(string, string, string, string) ownership.Scaler {
	return ownership.Scaler{Name: f.autoscaler, Desired: 7}
}

// enforced returns a cluster in which namespace shop has mode enforce, and an autoscaler targets every object.
func enforced() *fakeCluster {
	return &fakeCluster{modes: map[string]string{"shop": "enforce"}, autoscaler: "HorizontalPodAutoscaler/web"}
}

// event is a recorded Event.
type event struct {
	Type, Reason, Action, Note string
	Regarding                  corev1.ObjectReference
}

// server is a handler with everything that it logs, records and counts.
type server struct {
	*webhook.Handler
	webhook.Settings

	// rules are those of Settings, which change between reviews.
	rules    []ownership.Rule
	registry *prometheus.Registry
	mutex    sync.Mutex
	log      strings.Builder
	events   []event
}

func newServer(tb testing.TB, cluster webhook.Cluster) *server {
	tb.Helper()
	s := &server{registry: prometheus.NewRegistry(), Settings: webhook.Settings{Managers: config.Default().Managers()}}
	metrics := webhook.NewMetrics(s.registry)
	write := func(prefix, args string) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.log.WriteString(prefix + args + "\n")
	}
	log := funcr.New(write, funcr.Options{Verbosity: 10})
	s.Handler = &webhook.Handler{
		Cluster: cluster, Settings: s.settings, Metrics: metrics, Log: log, Events: webhook.LimitEvents(s, log),
	}
	return s
}

func (s *server) settings() webhook.Settings {
	settings := s.Settings
	if len(s.rules) > 0 {
		settings.Rules = ownership.NewRules(s.rules...)
	}
	return settings
}

// ServeHTTP reads a review, and answers it.
func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text := bytes.NewBuffer(make([]byte, 0, max(0, req.ContentLength)+bytes.MinRead)) // as large as that of package serving
	_, err := text.ReadFrom(req.Body)
	s.Answer(w, req, text.Bytes(), err) //nolint:contextcheck // it is in the request
}

func (s *server) Eventf(regarding, _ runtime.Object, eventtype, reason, action, note string, args ...any) {
	e := event{Type: eventtype, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)}
	if reference, ok := regarding.(*corev1.ObjectReference); ok {
		e.Regarding = *reference
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.events = append(s.events, e)
}

// answer posts a body and returns the response, which must allow the write. The secret must be in none of the texts about it.
func (s *server) answer(tb testing.TB, body string) *admissionv1.AdmissionResponse {
	tb.Helper()
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/mutate", strings.NewReader(body)))
	response := allowed(tb, recorder.Code, recorder.Body.Bytes())
	for where, text := range map[string]string{
		"the log": s.logged(), "the Events": fmt.Sprint(s.events), "the warnings": fmt.Sprint(response.Warnings), "the audit log": fmt.Sprint(response.AuditAnnotations),
	} {
		if strings.Contains(text, secret) {
			tb.Errorf("%s: the secret is in %.2000s", where, text)
		}
	}
	return response
}

func (s *server) notes() []string {
	notes := make([]string, len(s.events))
	for i, e := range s.events {
		notes[i] = e.Note
	}
	return notes
}

// allowed verifies the properties of every response: status 200, an AdmissionReview of v1, allowed, valid warnings.
func allowed(tb testing.TB, status int, body []byte) *admissionv1.AdmissionResponse {
	tb.Helper()
	if status != http.StatusOK {
		tb.Fatalf("status %d: %s", status, body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		tb.Fatalf("%v: %s", err, body)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response == nil {
		tb.Fatalf("no AdmissionReview with a response: %s", body)
	}
	response := review.Response
	if !response.Allowed || response.Result != nil {
		tb.Fatalf("it is not simply allowed: %s", body)
	}
	if (response.Patch != nil) != (response.PatchType != nil && *response.PatchType == admissionv1.PatchTypeJSONPatch) {
		tb.Fatalf("a patch and its type go together: %s", body)
	}
	for _, warning := range response.Warnings {
		if len(warning) > 120 || !utf8.ValidString(warning) || !strings.HasPrefix(warning, "handoff: ") {
			tb.Errorf("a warning of handoff has at most 120 bytes, this has %d: %q", len(warning), warning)
		}
		// The API server drops a warning that it cannot make a header of.
		if _, err := utilnet.NewWarningHeader(299, "-", warning); err != nil {
			tb.Errorf("%v: %q", err, warning)
		}
	}
	return response
}

// counted returns the sum of a counter's series with some labels.
func (s *server) counted(tb testing.TB, name string, labels map[string]string) (sum float64) {
	tb.Helper()
	families, err := s.registry.Gather()
	expect.NoError(tb, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			matching := 0
			for _, label := range metric.GetLabel() {
				if labels[label.GetName()] == label.GetValue() {
					matching++
				}
			}
			if matching == len(labels) {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func (s *server) logged() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.log.String()
}

func pathOf(elements ...any) fieldpath.Path { return fieldpath.MakePathOrDie(elements...) }

// lastAppliedIn returns the last-applied annotation of an object, "" for none.
func lastAppliedIn(object map[string]any) string {
	text, _ := document.Get(object, pathOf("metadata", "annotations", lastApplied))
	value, _ := text.(string)
	return value
}

func sameJSON(a, b any) bool { return encode(a) == encode(b) }

func unmarshal(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return object
}

// unmarshalOrNil returns nil for what is not the JSON of an object.
func unmarshalOrNil(text string) map[string]any {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil
	}
	return object
}

func applyPatch(object string, patch []byte) (string, error) {
	operations, err := jsonpatchv4.DecodePatch(patch)
	if err != nil {
		return "", err
	}
	patched, err := operations.Apply([]byte(object))
	return string(patched), err
}
