package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/objects"
)

// planted returns a value that no output may contain in any encoding. It is unique for each place in an input, so that a leak
// shows its source.
func planted(place string) string { return "hunter-" + place + "-hunter" }

// leaks returns the places with values that an output contains, plain or base64-encoded.
func leaks(output string) (found []string) {
	for _, place := range []string{
		"data", "extra", "stringData", "applied", "copied", "original", "claimed", "handover", "immutable", "alias", "tag", "merge",
		"scalar", "list", "nested", "number", "truncated", "directive", "unread",
	} {
		value := planted(place)
		// A long part of a value is also a leak: output can be truncated, or start in the middle of a base64 group.
		for _, part := range []string{value[:len(value)-4], base64.StdEncoding.EncodeToString([]byte(value))[:12]} {
			if strings.Contains(output, part) {
				found = append(found, place)
				break
			}
		}
	}
	return found
}

func encoded(place string) string { return base64.StdEncoding.EncodeToString([]byte(planted(place))) }

// liveSecret returns a Secret with planted values in all places.
func liveSecret(t *testing.T, annotations map[string]string, entries string) string {
	t.Helper()
	return string(jsontest.Encode(t, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": "token", "namespace": "shop", "uid": "1", "resourceVersion": "7", "annotations": annotations,
			"managedFields": json.RawMessage(entries),
		},
		"data": map[string]any{"token": encoded("data"), "extra": encoded("extra")},
	}))
}

// secretInputs returns files with a live Secret, by their special property.
func secretInputs(t *testing.T) map[string]string {
	t.Helper()
	applied := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{},"name":"token","namespace":"shop"},`+
		`"data":{"extra":%q},"stringData":{"token":%q,"gone":%q}}`, encoded("applied"), planted("applied"), planted("stringData"))
	entry := func(manager, operation, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":"v1","fieldsType":"FieldsV1","time":"2026-01-02T03:04:05Z","fieldsV1":%s}`,
			manager, operation, fields)
	}
	all := `{"f:data":{".":{},"f:token":{},"f:extra":{}},"f:type":{},"f:metadata":{"f:annotations":{".":{},"f:` + ownership.LastAppliedAnnotation + `":{}}}}`
	whole := `{"f:data":{},"f:type":{},"f:metadata":{}}`
	forged := `{"f:data":{"v:\"` + planted("claimed") + `\"":{},"k:{\"name\":\"` + planted("claimed") + `\"}":{}}}`
	annotated := map[string]string{ownership.LastAppliedAnnotation: applied}
	return map[string]string{
		"applied":             liveSecret(t, annotated, "["+entry("kubectl-client-side-apply", "Update", all)+"]"),
		"managed as a whole":  liveSecret(t, annotated, "["+entry("kubectl", "Apply", whole)+"]"),
		"entries with values": liveSecret(t, annotated, "["+entry("kubectl-client-side-apply", "Update", all)+","+entry("someone", "Update", forged)+"]"),
		"unreadable entries":  liveSecret(t, annotated, "["+entry("someone", "Update", `{"k:{`+planted("claimed")+`":{}}`)+"]"),
		"copies in annotations": liveSecret(t, map[string]string{
			ownership.LastAppliedAnnotation: applied, "kapp.k14s.io/original": planted("original"), "example.com/copy": planted("copied"),
			ownership.ControllerFieldsAnnotation: ".data[" + planted("handover"), optin.Annotation: planted("handover"),
		}, "["+entry("kubectl-client-side-apply", "Update", all)+"]"),
		"an unreadable annotation": liveSecret(t, map[string]string{
			ownership.LastAppliedAnnotation: `{"data":{"token":"` + planted("applied"),
		}, "["+entry("kubectl-client-side-apply", "Update", all)+"]"),
		"no managedFields": liveSecret(t, annotated, "[]"),
	}
}

// secretManifests returns manifests of the same Secret, by their special property; many are invalid.
func secretManifests() map[string]string {
	const head = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: token\n  namespace: shop\n"
	return map[string]string{
		"stringData":                  head + "stringData:\n  token: " + planted("stringData") + "\n",
		"data":                        head + "data:\n  token: " + encoded("nested") + "\n",
		"an annotation of its own":    head + "  annotations: {example.com/copy: " + planted("copied") + "}\nstringData: {token: " + planted("stringData") + "}\n",
		"an alias":                    head + "stringData:\n  token: *" + planted("alias") + "\n",
		"a tag":                       head + "stringData:\n  token: !!int " + planted("tag") + "\n",
		"an unknown tag":              head + "stringData:\n  token: !" + planted("tag") + "!x y\n",
		"a merge":                     head + "stringData:\n  <<: " + planted("merge") + "\n",
		"data is a scalar":            head + "data: " + planted("scalar") + "\n",
		"data is a list":              head + "data: [" + planted("list") + "]\n",
		"a nested value":              head + "stringData:\n  token: {a: " + planted("nested") + "}\n",
		"a number":                    head + "stringData:\n  token: 12" + strings.Repeat("9", 400) + "\n  other: " + planted("number") + "\n",
		"annotations of another type": head + "  annotations: {a: [" + planted("nested") + "], b: 1}\nstringData: {token: " + planted("scalar") + "}\n",
		"annotations are a scalar":    head + "  annotations: " + planted("scalar") + "\n",
		"truncated JSON":              `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token","namespace":"shop"},"stringData":{"token":"` + planted("truncated"),
		"a bare word in JSON":         `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token"},"stringData":{"token":` + planted("truncated") + "}}",
		"a directive":                 "%" + planted("directive") + "\n---\n" + head,
		"no kind":                     "apiVersion: v1\nmetadata: {name: token}\nstringData: {token: " + planted("unread") + "}\n",
		"no apiVersion":               "kind: Secret\nmetadata: {name: token}\nstringData: {token: " + planted("unread") + "}\n",
		"a broken block":              head + "stringData:\n  token: |\n   " + planted("unread") + "\n " + planted("unread") + "\n",
		"a quote without an end":      head + "stringData:\n  token: \"" + planted("unread") + "\n",
		"a map key that is none":      head + "stringData:\n  ? {" + planted("unread") + "}\n  : x\n",
		"no object":                   planted("unread") + "\n",
		"a list of words":             "- " + planted("list") + "\n",
	}
}

func TestNoOutputContainsSecretValues(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	folder := t.TempDir()
	rules := objects.Write(t, "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\nrules:\n- {name: a, fields: [.data.*], edit: apply}\n- {name: b, fields: [.data]}\n", t.TempDir(), "rules.yaml")
	formats := [][]string{nil, {"-o", "wide"}, {"-o", "json"}, {"-o", "yaml"}, {"-o", "jsonpath={}"}, {"-o", "go-template={{.}}"}, {"-o", "jsonpath={.no.such}"}}
	live, all := map[string]string{}, map[string]string{}
	for name, text := range secretInputs(t) {
		live[name] = objects.Write(t, text, folder, "live-"+strings.ReplaceAll(name, " ", "-")+".yaml")
		all["live: "+name] = live[name]
	}
	for name, text := range secretManifests() {
		all["manifest: "+name] = objects.Write(t, text, folder, strings.ReplaceAll(name, " ", "-")+".yaml")
	}
	for name, file := range all {
		t.Run(name, func(t *testing.T) {
			for _, format := range formats {
				wantNoLeaks(t, append([]string{"explain", "-f", file}, format...)...)
				wantNoLeaks(t, append([]string{"audit", "-f", file}, format...)...)
				wantNoLeaks(t, append([]string{"rules", "-f", file, "--config", rules}, format...)...)
				for _, field := range []string{".data", ".metadata", ".data.token", ".metadata.annotations", ".data[" + "0]"} {
					wantNoLeaks(t, append([]string{"explain", "-f", file, field}, format...)...)
				}
			}
			wantNoLeaks(t, "preview", "-f", file)
			for _, stored := range live {
				checkStrip(t, file, stored)
			}
		})
	}
}

func wantNoLeaks(t *testing.T, args ...string) {
	t.Helper()
	if _, output := run(t, nil, args...); leaks(output) != nil || strings.Contains(output, "error: unknown ") {
		t.Errorf("kubectl handoff %s: contains the value of %v\n%s", strings.Join(args, " "), leaks(output), output)
	}
}

// checkStrip verifies that strip adds no value to a manifest, and that its reports contain none.
func checkStrip(t *testing.T, file, live string) {
	t.Helper()
	_, out, errOut := stripOut(t, "", "-f", file, "--live", live)
	before := leaks(golden.Read(t, file))
	added := slices.DeleteFunc(leaks(out), func(place string) bool { return slices.Contains(before, place) })
	if leaks(errOut) != nil || len(added) > 0 {
		t.Errorf("strip -f %s --live %s: contains the values of %v and %v\n%s%s", file, live, leaks(errOut), added, errOut, out)
	}
	for _, format := range []string{"json", "yaml", "jsonpath={}"} {
		if _, out, errOut := stripOut(t, "", "-f", file, "--live", live, "-o", format); leaks(out+errOut) != nil {
			t.Errorf("strip -o %s: contains the value of %v\n%s%s", format, leaks(out+errOut), out, errOut)
		}
	}
}

func TestKustomizationErrorsHideSecretValues(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/file")
	for name, resource := range secretManifests() {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			objects.Write(t, resource, folder, "secret.yaml")
			const labels = "labels:\n- pairs: {a: b}\n  includeSelectors: true\n"
			objects.Write(t, "resources: [secret.yaml]\nnamePrefix: a-\n"+labels, folder, "kustomization.yaml")
			for _, command := range []string{"explain", "audit", "preview"} {
				wantNoLeaks(t, command, "-k", folder)
			}
		})
	}
}
