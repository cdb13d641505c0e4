package plugin_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/golden"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	hunted  = "hunter-value-hunter"
	another = "hunter-other-hunter"
)

// secretOf returns the manifest of a Secret with an optional field.
func secretOf(annotations, field string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: token" + annotations + "}\n" + field + "\n"
}

// wantNoSecretValues runs a command in all formats, and searches its output for the Secrets' contents.
func wantNoSecretValues(t *testing.T, line string, formats ...string) {
	t.Helper()
	for _, format := range append([]string{""}, formats...) {
		seen := handoff(t, cluster.controlPlane.Kubeconfig, strings.TrimSpace(line+" "+format))
		for _, value := range []string{hunted, another} {
			for _, text := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
				if strings.Contains(seen, text[:12]) {
					t.Errorf("the output contains %q:\n%s", text[:12], seen)
				}
			}
		}
	}
}

func TestNoOutputContainsSecretValues(t *testing.T) {
	data := []string{"-o wide", "-o json", "-o yaml", "-o jsonpath={}", "-o jsonpath={.no.such}", "-o go-template={{.}}"}
	printed := []string{"-o json", "-o yaml", "-o jsonpath={.data}", "-o jsonpath={.no.such}", "-o go-template={{.data}}", "-o name", "--show-managed-fields -o yaml"}
	const copied = `, annotations: {example.com/copy: ` + hunted + `}`
	folder := t.TempDir()
	file := func(name, text string) string { t.Helper(); return objects.Write(t, text, folder, name+".yaml") }
	stored := secretOf(copied, "stringData: {token: "+hunted+", user: "+hunted+"}")
	manifests := map[string]string{
		"same":             stored,
		"another":          secretOf(copied, "stringData: {token: "+another+"}"),
		"no-annotation":    secretOf("", "stringData: {token: "+hunted+"}"),
		"nothing":          secretOf("", "type: Opaque"),
		"not-base64":       secretOf("", "data: {token: "+another+"}"),
		"another-type":     secretOf("", "type: kubernetes.io/dockerconfigjson\nstringData: {token: "+another+"}"),
		"an-unknown-field": secretOf("", "stringData: {token: "+another+"}\nunknown: "+another),
		"a-scalar":         secretOf("", "data: "+another),
		"a-number":         secretOf("", "stringData: {token: 1234, user: "+another+"}"),
		"a-label":          secretOf(", labels: {a: \""+another+" x\"}", "stringData: {token: "+another+"}"),
		"a-bad-name":       strings.Replace(secretOf("", "stringData: {token: "+another+"}"), "token}", "TOKEN_}", 1),
		"a-bad-key":        secretOf("", "stringData: {token: "+another+", \"a key\": "+another+"}"),
		"immutable":        secretOf(copied, "immutable: true\nstringData: {token: "+another+"}"),
	}
	for _, how := range []string{"client", "server", "annotated", "immutable", "Deny", "Warn"} {
		t.Run(how, func(t *testing.T) {
			yard := newYard(t, strings.ToLower(how))
			applied := file("applied-"+how, stored)
			switch how {
			case "server":
				play(t, "apply --server-side -n "+yard+" -f "+applied)
			case "annotated": // last-applied is the only annotation, so the annotations map appears and disappears
				play(t, "create -n "+yard+" -f "+file("made", secretOf("", "stringData: {token: "+hunted+"}")))
			default:
				play(t, "apply -n "+yard+" -f "+applied)
			}
			switch how {
			case "immutable":
				play(t, "patch secret token -n "+yard+` -p {"immutable":true}`)
			case "Deny", "Warn":
				quote(t, yard, how, file("policy-"+how, strings.ReplaceAll(golden.Read(t, "testdata/quoting.yaml"), "ACTION", how)))
			}
			for name, text := range manifests {
				manifest := file(name, text)
				wantNoSecretValues(t, "preview -n "+yard+" -f "+manifest, data...)
				wantNoSecretValues(t, "preview -n "+yard+" --validate=warn --server-side -f "+manifest)
				wantNoSecretValues(t, "preview -n "+yard+" --server-side --force-conflicts -f "+manifest, data[:3]...)
			}
			wantNoSecretValues(t, "explain secret/token -n "+yard, data...)
			wantNoSecretValues(t, "explain secret/token .data -n "+yard, data...)
			wantNoSecretValues(t, "explain secret/token .metadata -n "+yard, data...)
			wantNoSecretValues(t, "audit secrets -n "+yard, data...)
			wantNoSecretValues(t, "status "+yard, data...)
			for _, field := range []string{".data.token", ".data", ".metadata.annotations.*", ".data.nosuch", ".type"} {
				wantNoSecretValues(t, "release secret/token "+field+" -n "+yard+" --dry-run=client", printed...)
				wantNoSecretValues(t, "release secret/token "+field+" -n "+yard+" --dry-run=server", printed...)
			}
			wantNoSecretValues(t, "release secret/token .data.token -n "+yard, printed...)
			wantNoSecretValues(t, "release secret/token .data.user -n "+yard, "-o yaml")
		})
	}
}

// quote applies a policy that quotes a Secret, and waits until it is in effect.
func quote(t *testing.T, yard, action, policy string) {
	t.Helper()
	play(t, "label namespace "+yard+" quoting="+action, "apply -f "+policy)
	t.Cleanup(func() { play(t, "delete -f "+policy) })
	for end := time.Now().Add(patience); ; time.Sleep(250 * time.Millisecond) {
		said, err := kubectl(t.Context(), "label", "secret", "token", "-n", yard, "probe=yes", "--overwrite", "--dry-run=server")
		if err != nil {
			said += err.Error()
		}
		if strings.Contains(said, "it holds "+hunted) || strings.Contains(said, "it holds "+base64.StdEncoding.EncodeToString([]byte(hunted))) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the policy is not in effect: %s", said)
		}
	}
}
