package audit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/audit"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
	"github.com/ownership-handoff/handoff/test/objects"
)

// object is a test object, by default the Deployment web in namespace shop.
type object struct {
	kind, apiVersion string // default to apps/v1 Deployment
	mode             string // its own label
	annotated        string // the mode annotation, which has no effect
	manifest         string // last-applied configuration, or ""
	spec             string
	entries          []string
}

func (o object) text() string {
	annotations := map[string]string{}
	if o.manifest != "" {
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = o.manifest
	}
	if o.annotated != "" {
		annotations["ownership-handoff.io/mode"] = o.annotated
	}
	encoded, err := json.Marshal(annotations)
	if err != nil {
		panic(err)
	}
	labels := "{}"
	if o.mode != "" {
		labels = fmt.Sprintf(`{"ownership-handoff.io/mode":%q}`, o.mode)
	}
	kind, apiVersion := "Deployment", "apps/v1"
	if o.kind != "" {
		kind, apiVersion = o.kind, o.apiVersion
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"web","namespace":"shop","labels":%s,"annotations":%s,"managedFields":[%s]},"spec":%s}`,
		apiVersion, kind, labels, encoded, strings.Join(o.entries, ","), o.spec)
}

// entry returns a managedFields entry of fields in spec, given as fieldsV1 such as "f:replicas":{}.
func entry(manager, operation, subresource, fields string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"subresource":%q,"apiVersion":"apps/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",
		"fieldsV1":{"f:spec":{%s}}}`, manager, operation, subresource, fields)
}

// kubectl returns the managedFields entry of client-side apply, which includes the annotation.
func kubectl(fields string) string {
	return fmt.Sprintf(`{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",
		"fieldsV1":{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{%s}}}`, fields)
}

const (
	scaled   = `{"manager":"kube-controller-manager","operation":"Update","subresource":"scale","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	replicas = `"f:replicas":{}`
)

func hpa(name, apiVersion, kind, target, conditions string) string {
	return fmt.Sprintf(`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":%q,"namespace":"shop","managedFields":[{"manager":"x"}]},
		"spec":{"minReplicas":2,"maxReplicas":9,"scaleTargetRef":{"apiVersion":%q,"kind":%q,"name":%q}},"status":{"conditions":[%s]}}`,
		name, apiVersion, kind, target, conditions)
}

func ofWeb(name string) string { return hpa(name, "apps/v1", "Deployment", "web", "") }

// shop returns the namespace in a mode; without an annotation if the mode is empty.
func shop(mode string) string {
	annotations := "{}"
	if mode != "" {
		annotations = fmt.Sprintf(`{"ownership-handoff.io/mode":%q}`, mode)
	}
	return `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","annotations":` + annotations + `,"managedFields":[{"manager":"x"}]}}`
}

func reportOf(t *testing.T, items ...string) *audit.Report {
	t.Helper()
	list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
	file := objects.Write(t, list, t.TempDir(), "objects.json")
	reader, err := source.Reader{
		Cluster: genericclioptions.NewConfigFlags(false), Configuration: config.Default(), Files: resource.FilenameOptions{Filenames: []string{file}},
	}.Open()
	expect.NoError(t, err)
	survey, err := reader.Survey(t.Context())
	expect.NoError(t, err)
	in, err := installation.InFiles()
	expect.NoError(t, err)
	report, err := audit.Run(t.Context(), survey, in)
	expect.NoError(t, err)
	return report
}

// risks returns the risks of a report, one line each.
func risks(r *audit.Report) string {
	lines := make([]string, len(r.Risks))
	for i, risk := range r.Risks {
		lines[i] = strings.Join([]string{
			string(risk.Kind), risk.Field, risk.Now, risk.NextApply, risk.Handoff, strings.Join(risk.Managers, "+"),
		}, " | ")
	}
	return strings.Join(lines, "\n")
}

// notes returns the notes of a kind.
func notes(r *audit.Report, kind audit.Kind) []audit.Note {
	return slices.DeleteFunc(slices.Clone(r.Notes), func(n audit.Note) bool { return n.Kind != kind })
}

func check(t *testing.T, want string, r *audit.Report) {
	t.Helper()
	expect.Equal(t, "risks", want, risks(r))
}

// TestTheModeAnnotationOfAnObjectHasNoEffect verifies that an audit uses the mode of the label or of the namespace, and lists the object.
func TestTheModeAnnotationOfAnObjectHasNoEffect(t *testing.T) {
	o := object{annotated: "enforce", manifest: `{"spec":{"replicas":3}}`, spec: `{"replicas":7}`, entries: []string{kubectl(``), scaled}}
	report := reportOf(t, o.text(), ofWeb("web"), shop("warn"))
	if len(report.Risks) != 1 || report.Risks[0].Mode != "warn" {
		t.Errorf("risks: %v", report.Risks)
	}
	var table strings.Builder
	expect.NoError(t, report.Table(&table, false))
	const note = "Annotation ownership-handoff.io/mode has no effect on objects; set the label of that name instead: deployment.apps/web -n shop.\n"
	if !strings.Contains(table.String(), note) {
		t.Errorf("want the note in:\n%s", table.String())
	}
}
