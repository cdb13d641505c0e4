package accepted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byKubectl runs kubectl apply, and returns how the result differs from a dry run of this package's request.
func (s *stage) byKubectl(ctx context.Context, r request, declared map[string]any) (a answer, difference string) {
	expected := s.send(ctx, r, client.DryRunAll)
	manifest, err := json.Marshal(declared)
	if err != nil {
		return answer{err: err}, ""
	}
	args := []string{"apply", "-f", "-", "-o", "json", "--show-managed-fields"}
	if s.server {
		args = append(args, "--server-side", "--force-conflicts")
	}
	cmd := exec.CommandContext(ctx, cluster.controlPlane.Kubectl, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(manifest), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		a.err = fmt.Errorf("kubectl apply: %w: %s", err, stderr.String())
		if expected.err == nil {
			return a, "only kubectl is rejected: " + stderr.String()
		}
		return answer{err: expected.err, warnings: expected.warnings}, ""
	}
	a.object = &unstructured.Unstructured{}
	if a.err = a.object.UnmarshalJSON(stdout.Bytes()); a.err != nil {
		return a, ""
	}
	for line := range strings.Lines(stderr.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "Warning: "); ok && strings.HasPrefix(text, "handoff: ") {
			a.warnings = append(a.warnings, text)
		}
	}
	if expected.err != nil {
		return a, "only this package is rejected: " + expected.err.Error()
	}
	ours := slices.DeleteFunc(expected.warnings, func(w string) bool { return !strings.HasPrefix(w, "handoff: ") })
	return a, cmp.Diff(ours, a.warnings, cmpopts.EquateEmpty()) + cmp.Diff(timeless(expected.object), timeless(a.object))
}

// timeless returns an object without the fields that differ between a dry run and a write.
func timeless(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetResourceVersion("")
	entries := o.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	// The entries are sorted by time.
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { return strings.Compare(entryName(a), entryName(b)) })
	o.SetManagedFields(entries)
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, port := range ports {
		if members, ok := port.(map[string]any); ok {
			delete(members, "nodePort") // the API server chooses one at random
		}
	}
	if ports != nil {
		_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
	}
	return o.Object
}

// metrics returns the API server's metrics.
func metrics(ctx context.Context) (string, error) {
	c, err := rest.HTTPClientFor(cluster.controlPlane.Config)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(cluster.controlPlane.Config.Host, "/")+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
