package optin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

const followsAnnotation = "the label " + mode + " follows the annotation of that name; write the annotation instead"

// TestTheLabelFollowsTheAnnotationInTheSameWrite reads the label from the response to each write.
func TestTheLabelFollowsTheAnnotationInTheSameWrite(t *testing.T) {
	name := newNamespace(t, "")
	annotate := func(value string) []string {
		return []string{"annotate", "--overwrite", "namespace", name, "-o", "json", value}
	}
	huge := strings.Repeat("x", 200<<10)
	for _, step := range []struct{ sentence, annotation, want string }{
		{"warn", mode + "=warn", "warn"},
		{"enforce", mode + "=enforce", "enforce"},
		{"another annotation", "team=web", "enforce"},
		{"off", mode + "=off", "none"},
		{"an unknown value", mode + "=Enforce", "warn"},
		{"an empty value", mode + "=", "warn"},
		{"a value that no label can have", mode + "= ä\n/", "warn"},
		{"enforce and a space", mode + "=enforce ", "warn"},
		{"a large value", "", "warn"},
		{"a removed annotation", mode + "-", "none"},
	} {
		var r process.Result
		if step.annotation == "" { // too long for a command line
			patch := `{"metadata":{"annotations":{"` + mode + `":"` + huge + `"}}}`
			r = kubectl(t, patch, "patch", "namespace", name, "--type=merge", "--patch-file=/dev/stdin", "-o", "json")
		} else {
			r = kubectl(t, "", annotate(step.annotation)...)
		}
		expect.Equal(t, step.sentence+": label", step.want, label(namespaceIn(t, r)))
		expect.Equal(t, step.sentence+": warnings", "", r.Stderr)
		expect.Equal(t, step.sentence+": managers of the label", []string(nil), objects.FieldManagers(get(t, name), labelPath))
	}
}

// TestToolsThatApplyNamespacesKeepTheLabel applies the manifest of a namespace as GitOps tools do, which must neither lose the label
// nor write the namespace again and again.
func TestToolsThatApplyNamespacesKeepTheLabel(t *testing.T) {
	for sentence, command := range map[string][]string{
		"client-side apply":                 {"apply"},
		"server-side apply":                 {"apply", "--server-side"},
		"server-side apply of another tool": {"apply", "--server-side", "--field-manager=gitops"},
		"forced server-side apply":          {"apply", "--server-side", "--force-conflicts"},
		"replace":                           {"replace"},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := strings.ToLower(strings.ReplaceAll(sentence, " ", "-"))
			manifest := func(mode string) string {
				return `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "` + name + `", "labels": {"team": "web"},
					"annotations": {"ownership-handoff.io/mode": "` + mode + `"}}}`
			}
			write := func(mode string) process.Result {
				t.Helper()
				r := kubectl(t, manifest(mode), append(slices.Clone(command), "-f-", "-o", "json", "--show-managed-fields")...)
				if r.Stderr != "" && !strings.Contains(r.Stderr, "missing the kubectl.kubernetes.io/last-applied") {
					t.Errorf("want no warning, got %s", r.Stderr)
				}
				return r
			}
			if command[0] == "replace" {
				kubectl(t, manifest("enforce"), "create", "-f-")
			}
			write("enforce")
			first := get(t, name)
			again := namespaceIn(t, write("enforce"))
			if label(again) != "enforce" || again.ResourceVersion != first.ResourceVersion {
				t.Errorf("an unchanged write: label %s, resourceVersion %s, before %s", label(again), again.ResourceVersion, first.ResourceVersion)
			}
			expect.Equal(t, "mode off: label", "none", label(namespaceIn(t, write("off"))))
			changed := namespaceIn(t, write("warn"))
			if label(changed) != "warn" || objects.FieldManagers(changed, labelPath) != nil {
				t.Errorf("a changed mode: label %s, managed by %s", label(changed), objects.FieldManagers(changed, labelPath))
			}
			if text := changed.Annotations["kubectl.kubernetes.io/last-applied-configuration"]; strings.Contains(text, `"labels":{"ownership`) {
				t.Errorf("last-applied contains the label: %s", text)
			}
		})
	}
}

// TestAManifestThatContainsTheLabel applies a manifest that was exported with the label. It is no conflict, regardless of the
// other managers of the label.
func TestAManifestThatContainsTheLabel(t *testing.T) {
	name := newNamespace(t, "warn")
	kubectl(t, "", "label", "--overwrite", "namespace", name, mode+"=enforce") // corrected
	exported := `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "` + name + `", "labels": {"` + mode + `": "enforce"}}}`
	for _, args := range [][]string{
		{"apply", "--server-side", "--field-manager=gitops"}, {"apply", "--server-side", "--field-manager=other"}, {"apply"}, {"apply"},
	} {
		r := kubectl(t, exported, append(args, "-f-", "-o", "json", "--show-managed-fields")...)
		if o := namespaceIn(t, r); label(o) != "warn" || objects.FieldManagers(o, labelPath) != nil {
			t.Errorf("%v: label %s, managed by %s", args, label(o), objects.FieldManagers(o, labelPath))
		}
		expect.Equal(t, strings.Join(args, " ")+": warnings", []string{followsAnnotation}, r.Warnings())
	}
}

// TestTheLabelCannotBeWritten writes only the label, as a tenant could with a permission to edit the labels of a namespace.
func TestTheLabelCannotBeWritten(t *testing.T) {
	for sentence, c := range map[string]struct{ annotation, label, want string }{
		"a label without the annotation":     {"", "=enforce", "none"},
		"an odd label":                       {"", "=" + strings.Repeat("x", 63), "none"},
		"an empty label":                     {"", "=", "none"},
		"another mode than the annotation's": {"enforce", "=warn", "enforce"},
		"a removed label":                    {"enforce", "-", "enforce"},
		"a label, in mode off":               {"off", "=enforce", "none"},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := newNamespace(t, c.annotation)
			r := kubectl(t, "", "label", "--overwrite", "namespace", name, mode+c.label)
			expect.Equal(t, "warnings", []string{followsAnnotation}, r.Warnings())
			o := get(t, name)
			if label(o) != c.want || objects.FieldManagers(o, labelPath) != nil {
				t.Errorf("want label %s without a manager, got %s, managed by %s", c.want, label(o), objects.FieldManagers(o, labelPath))
			}
		})
	}
	created := `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "created", "labels": {"` + mode + `": "enforce"}}}`
	r := kubectl(t, created, "create", "-f-")
	if got := label(get(t, "created")); got != "none" || !slices.Equal(r.Warnings(), []string{followsAnnotation}) {
		t.Errorf("a namespace created with the label: got %s, %s", got, r.Warnings())
	}
}
