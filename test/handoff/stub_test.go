package handofftest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// stubVariable makes this test binary a webhook with the flags of the real one, which annotates every object. With the value
// "broken" it exits immediately.
const stubVariable = "TEST_RUN_STUB_WEBHOOK"

const mark = "stub/seen"

func TestMain(m *testing.M) {
	switch os.Getenv(stubVariable) {
	case "":
		os.Exit(m.Run())
	case "broken":
		fmt.Fprintln(os.Stderr, "stub: broken on purpose")
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, serveStub())
		os.Exit(1)
	}
}

func serveStub() error {
	flags := flag.NewFlagSet("stub", flag.ContinueOnError)
	port := flags.Int("webhook-port", 0, "")
	certificates := flags.String("webhook-cert-dir", "", "")
	metrics := flags.String("metrics-bind-address", "", "")
	health := flags.String("health-probe-bind-address", "", "")
	flags.String("kubeconfig", "", "")
	flags.String("config", "", "")
	flags.String("shutdown-delay", "", "")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "stub: starting")

	serve := func(address, path, text string) {
		mux := http.NewServeMux()
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) })
		fmt.Fprintln(os.Stderr, http.ListenAndServe(address, mux))
	}
	go serve(*health, "/readyz", "ok")
	go serve(*metrics, "/metrics", "stub_metric 1")
	http.HandleFunc("/mutate", answer)
	certificate := filepath.Join(*certificates, "tls.crt")
	key := filepath.Join(*certificates, "tls.key")
	return http.ListenAndServeTLS(fmt.Sprintf("127.0.0.1:%d", *port), certificate, key, nil)
}

func answer(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	patchType := admissionv1.PatchTypeJSONPatch
	review.Response = &admissionv1.AdmissionResponse{
		UID:       review.Request.UID,
		Allowed:   true,
		PatchType: &patchType,
		Patch:     []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"` + mark + `": "yes"}}]`),
	}
	review.Request = nil
	if err := json.NewEncoder(w).Encode(review); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
