package cli_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/objects"
)

// hostile returns texts that control a terminal or forge a line.
func hostile() map[string]string {
	return map[string]string{
		"line break": "a\n.spec.replicas   3   Manifest", "escape": "\x1b[2J\x1b]0;x\a", "C1": "\u009b31m", "direction": "\u202egpj", "bell": "\a",
		"carriage return": "a\rb", "tab": "a\tb", "separator": "a\u2028b\u0085c",
	}
}

// hostileObject returns an object with a text in all places that an API server or a file allows.
func hostileObject(t *testing.T, kind, text string) string {
	t.Helper()
	fields := map[string]any{"f:data": map[string]any{"f:" + text: map[string]any{}, "f:gone " + text: map[string]any{}}}
	manifest := jsontest.Encode(t, map[string]any{"apiVersion": "v1", "kind": kind, "data": map[string]any{text: "other " + text}})
	return string(jsontest.Encode(t, map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{
			"name": "web" + text, "namespace": "shop", "labels": map[string]any{text: text}, "finalizers": []any{text},
			"annotations": map[string]any{
				ownership.LastAppliedAnnotation: string(manifest), optin.Annotation: text, ownership.ControllerFieldsAnnotation: ".data[" + text, text: text,
			},
			"managedFields": []any{
				map[string]any{"manager": "me" + text, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsV1": fields},
				map[string]any{"manager": "you" + text, "operation": "Apply" + text, "apiVersion": "v1" + text, "subresource": text, "fieldsV1": map[string]any{
					"f:metadata": map[string]any{"f:finalizers": map[string]any{"v:" + strconv.Quote("x"): map[string]any{}}},
				}},
			},
		},
		"data": map[string]any{text: text, "plain": text},
	}))
}

func TestUnprintableCharactersAreQuoted(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			file := objects.Write(t, hostileObject(t, "ConfigMap", text), t.TempDir(), "live.json")
			broken := objects.Write(t, "a: *x"+text+"\n"+text+": [\n", t.TempDir(), "broken.yaml")
			named := "configmap/web" + text
			for _, args := range [][]string{
				{"explain", "-f", file}, {"explain", "-f", file, ".data"}, {"explain", "-f", file, ".data" + text},
				{"explain", "-f", file, "-o", "json"}, {"explain", "-f", file, "-o", "yaml"}, {"explain", "-f", file, "-o", "kyaml"},
				{"explain", "-f", file, "-o", "jsonpath={.items[*].fields[*].path}"}, {"explain", "-f", file, "-o", "go-template={{.}}"},
				{"explain", "-f", file, named + "x"}, {"explain", "-f", broken}, {"explain", "-f", text}, {"explain", text}, {text}, {"explain", "--" + text},
				{"audit", "-f", file}, {"audit", "-f", file, "-o", "wide"}, {"audit", "-f", file, "-o", "yaml"},
				{"audit", "-f", broken}, {"audit", "-f", file, text},
				{"preview", "-f", broken}, {"preview", "-f", file}, {"status", text}, {"enable", text},
			} {
				_, output := run(t, nil, args...)
				template := strings.Contains(strings.Join(args, " "), "template=") // the user's template contains the line breaks
				if template {
					output = strings.ReplaceAll(output, "\t", "")
				}
				if !printable.Is(output) {
					t.Errorf("kubectl handoff %q: not printable:\n%q", args, output)
				}
				for line := range strings.Lines(output) {
					if !template && strings.HasPrefix(line, ".spec.replicas ") {
						t.Errorf("kubectl handoff %q: forged line: %s", args, line)
					}
				}
			}
			_, output := run(t, nil, "explain", "-f", file, ".data["+printable.Quote(text)+"]")
			if !strings.HasPrefix(output, "`.data["+printable.Quote(text)+"]` is ") {
				t.Errorf("a field is not found by its printed name:\n%s", output)
			}
		})
	}
}

func TestQuotedOutputDecodesToTheSameValues(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for name, text := range hostile() {
		file := objects.Write(t, hostileObject(t, "ConfigMap", text), t.TempDir(), "live.json")
		for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal, "kyaml": yaml.Unmarshal} {
			_, output := run(t, nil, "explain", "-f", file, ".data.plain", "-o", format)
			output, _, _ = strings.Cut(output, "\npartial:")
			var list struct {
				Items []struct {
					Object struct{ Name string }
					Fields []struct{ Value string }
				}
			}
			if err := decode([]byte(output), &list); err != nil || len(list.Items) != 1 || len(list.Items[0].Fields) != 1 {
				t.Errorf("%s, %s: %v\n%s", name, format, err, output)
				continue
			}
			got := list.Items[0]
			expect.Equal(t, name+", "+format, []string{"web" + text, text}, []string{got.Object.Name, got.Fields[0].Value})
		}
	}
}
