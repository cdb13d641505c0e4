package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// gizmoFields are the paths of a gizmo's fields in v1 and v2.
func gizmoFields() [][2]string {
	return [][2]string{
		{"replicas", "scaling.replicas"}, {"burst", "scaling.burst"}, {"color", "look.color"}, {"font", "look.font"},
		{"shape", "look.shape"}, {"outline", "shape"}, {"note", "note"},
	}
}

// convertGizmo returns a gizmo in another version. A block of v2 without fields is not known in v1.
func convertGizmo(o map[string]any, apiVersion string) (map[string]any, error) {
	gizmo := (&unstructured.Unstructured{Object: o}).DeepCopy()
	if gizmo.GetAPIVersion() == apiVersion {
		return gizmo.Object, nil
	}
	from, to := 0, 1
	if strings.HasSuffix(apiVersion, "/v1") {
		from, to = 1, 0
	}
	spec := map[string]any{}
	for _, names := range gizmoFields() {
		value, found := field(gizmo, strings.Split("spec."+names[from], ".")...)
		if !found {
			continue
		}
		if err := unstructured.SetNestedField(spec, value, strings.Split(names[to], ".")...); err != nil {
			return nil, err
		}
	}
	delete(gizmo.Object, "spec")
	if len(spec) > 0 {
		gizmo.Object["spec"] = spec
	}
	gizmo.SetAPIVersion(apiVersion)
	return gizmo.Object, nil
}

// serveConversion starts a conversion webhook for gizmos that runs until the test ends, and returns its URL and CA bundle.
func serveConversion(t *testing.T) (url, ca string) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(convert))
	t.Cleanup(s.Close)
	return s.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// convert answers a ConversionReview (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1). The API server reports its
// errors.
func convert(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string            `json:"uid"`
			DesiredAPIVersion string            `json:"desiredAPIVersion"`
			Objects           []json.RawMessage `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var converted []map[string]any
	result := map[string]string{"status": "Success"}
	for _, text := range review.Request.Objects {
		o := &unstructured.Unstructured{}
		err := o.UnmarshalJSON(text)
		if err == nil {
			o.Object, err = convertGizmo(o.Object, review.Request.DesiredAPIVersion)
		}
		if err != nil {
			result = map[string]string{"status": "Failure", "message": err.Error()}
			break
		}
		converted = append(converted, o.Object)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ //nolint:errchkjson // it is made of JSON
		"apiVersion": review.APIVersion, "kind": review.Kind,
		"response": map[string]any{"uid": review.Request.UID, "result": result, "convertedObjects": converted},
	})
}
