package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// Names go up to 253 characters, those of field managers to 128. What the writer has to do is never cut away for them.
func TestAWarningWithALongNameStillContainsTheRemedy(t *testing.T) {
	name := strings.Repeat("n", 253)
	manager := "kubectl-" + strings.Repeat("m", 120)
	drops := applied3().with(lastApplied, manifestNone)
	byHand := scaledBy7()
	byHand.entries = []string{entry(manager, "Update", early, managesReplicas, ""), entry(csa, "Update", early, managesApplied, "")}
	for sentence, c := range map[string]struct {
		by         string
		live       deployment
		incoming   deployment
		autoscaler string
		mode       string
		want       string
	}{
		"row 1": {
			csa, scaledBy7(), applied3(), "HorizontalPodAutoscaler/" + name, "enforce",
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/nnnnnnnnnnnnnnnnnnnnnnnnnnn...; remove it from the manifest",
		},
		"row 1, in mode warn": {
			csa, scaledBy7(), applied3(), "HorizontalPodAutoscaler/" + name, "warn",
			"handoff: (warn) would keep .spec.replicas=7, owned by HorizontalPodAutoscaler/nnnnnnnnnnnnn...; remove it from the manifest",
		},
		"row 2, in mode warn": {
			csa, scaledBy7(), drops, "HorizontalPodAutoscaler/web", "warn",
			"handoff: (warn) would keep .spec.replicas=7, owned by HorizontalPodAutoscaler/web",
		},
		"row 2": {
			csa, scaledBy7(), drops, "HorizontalPodAutoscaler/" + name, "enforce",
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/nnnnnnnnnnnnnnnnnnnnnnnnnnnnn...; no action needed",
		},
		"row 3": {
			csa, byHand, drops, "", "enforce",
			"handoff: kept .spec.replicas=7, set by kubectl-mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm... and no longer in the manifest; use an HPA or kubectl scale",
		},
		"row 9": {
			"kubectl-patch", scaledBy7(), patched1(), "HorizontalPodAutoscaler/" + name, "enforce",
			"handoff: HorizontalPodAutoscaler/nnn... owns .spec.replicas and may revert this change; change the autoscaler instead",
		},
		"a name of several bytes a character": {
			csa, scaledBy7(), applied3(), "HorizontalPodAutoscaler/" + strings.Repeat("é", 200), "enforce",
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/ééééééééééééé...; remove it from the manifest",
		},
		"a name with line breaks and tabs": {
			csa, scaledBy7(), applied3(), "HorizontalPodAutoscaler/a\r\n\tb  c", "enforce",
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/a b c; remove it from the manifest",
		},
		"a name with other control characters": {
			csa, scaledBy7(), applied3(), "HorizontalPodAutoscaler/a\x00b\x1b[31mc\x7f\u0085d", "enforce",
			"handoff: kept .spec.replicas=7, owned by HorizontalPodAutoscaler/a\\x00b\\x1b[31mc\\x7f d; remove it from the manifest",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, &fakeCluster{modes: map[string]string{"shop": c.mode}, autoscaler: c.autoscaler})
			response := s.answer(t, update(c.by, c.live, c.incoming).body())
			if len(response.Warnings) == 0 {
				t.Fatal("a warning is expected")
			}
			got := response.Warnings[0]
			// How many characters of a name fit is not what this is about; that the ends stay is.
			expect.Equal(t, "warning", squeezed(c.want), squeezed(got))
			if long := strings.Contains(got, "..."); long && len(got) < 117 {
				t.Errorf("more of the name would fit into 120 bytes: %d bytes: %s", len(got), got)
			}
		})
	}
}

// squeezed writes runs of the letter that a long name is made of as one.
func squeezed(s string) string {
	for _, letter := range []string{"n", "m", "é"} {
		for strings.Contains(s, strings.Repeat(letter, 3)) {
			s = strings.ReplaceAll(s, strings.Repeat(letter, 3), strings.Repeat(letter, 2))
		}
	}
	return s
}

// TestARecordImitatesNoOther has the key of a ConfigMap that reads like the end of one record, and another one.
func TestARecordImitatesNoOther(t *testing.T) {
	key := encode(strings.Repeat("x", 1000) + ": owner kubectl (Manifest); kept .data.y")
	g := grown{was: `"data":{` + key + `:"V"}`, is: `"data":{` + key + `:"1"}`, annotations: map[string]string{ownership.ControllerFieldsAnnotation: ".data.*"}}
	g.before = []string{entry("my-operator", "Update", early, `{"f:data":{`+strings.Replace(key, `"`, `"f:`, 1)+`:{}}}`, "")}
	all := fmt.Sprint(newServer(t, enforced()).answer(t, g.body()).AuditAnnotations)
	if !strings.Contains(all, "kept ...") || strings.Contains(all, "; kept") || len(all) > 300 {
		t.Error(all)
	}
}

func TestAnUnknownModeIsTruncatedInTheWarning(t *testing.T) {
	for sentence, c := range map[string]struct{ mode, want string }{
		"a long one": {
			strings.Repeat("x", 70_000),
			"handoff: ownership-handoff.io/mode xxxxxxxxxxxxxxxxxxxxxxxx... is unknown and counts as warn; write enforce, warn or off",
		},
		"one of control characters": {
			"a\x1bb\x00", "handoff: ownership-handoff.io/mode a\\x1bb\\x00 is unknown and counts as warn; write enforce, warn or off",
		},
		"one that looks like a known one": {
			" enforce", "handoff: ownership-handoff.io/mode enforce is unknown and counts as warn; write enforce, warn or off",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, enforced())
			response := s.answer(t, update(csa, kept7(), kept7().inMode(c.mode)).body())
			expect.Equal(t, "warnings", []string{c.want}, response.Warnings)
			if len(s.logged()) > 1000 {
				t.Errorf("what is logged is as long as the label: %d bytes", len(s.logged()))
			}
		})
	}
}

func TestValuesOfSecretsAreNeverReported(t *testing.T) {
	g := drops(`"data":{"password":"`+secret+`"}`, `"data":{}`, `{"f:data":{"f:password":{}}}`)
	g.base = `"data":{"password":"b2xk"}`
	response := newServer(t, enforced()).answer(t, strings.ReplaceAll(g.body(), "ConfigMap", "Secret"))
	want := []string{"handoff: kept .data.password, set by kubectl-edit and no longer in the manifest"}
	expect.Equal(t, "warnings", want, response.Warnings)
	if !strings.Contains(string(response.Patch), secret) {
		t.Errorf("it is not kept: %s", response.Patch)
	}
}

// A client that replaces the whole Secret can drop a key that the base has set as stringData.
func TestSecretKeysAreComparedWithStringData(t *testing.T) {
	for sentence, c := range map[string]struct {
		base string
		kept bool
	}{
		"data with another value":           {`"data":{"k":"b25l"}`, true},
		"data with the value of live":       {`"data":{"k":"dHdv"}`, false},
		"stringData with another value":     {`"stringData":{"k":"one"}`, true},
		"stringData with the value of live": {`"stringData":{"k":"two"}`, false},
		"both, of which stringData counts":  {`"data":{"k":"b25l"},"stringData":{"k":"two"}`, false},
	} {
		g := drops(`"data":{"k":"dHdv"}`, `"data":{}`, `{"f:data":{"f:k":{}}}`)
		g.base = c.base
		response := newServer(t, enforced()).answer(t, strings.ReplaceAll(g.body(), "ConfigMap", "Secret"))
		if (response.Patch != nil) != c.kept || (len(response.Warnings) > 0) != c.kept {
			t.Errorf("%s: want it kept: %t, got %s, warnings %q", sentence, c.kept, response.Patch, response.Warnings)
		}
	}
}

// TestAWarningSaysThatANewValueWinsIfThatIsSo verifies the remedy under a rule with EditApply: what the manifest sets is recorded, unless
// that is too long.
func TestAWarningSaysThatANewValueWinsIfThatIsSo(t *testing.T) {
	for keys, remedy := range map[int]string{2: "; a new manifest value wins", 600: "; remove it from the manifest"} {
		s := newServer(t, enforced())
		s.rules = []ownership.Rule{editableData()}
		response := s.answer(t, controlled(keys, ""))
		if len(response.Warnings) < 2 || response.Patch == nil {
			t.Fatalf("%d keys: want them kept, got %q", keys, response.Warnings)
		}
		for _, warning := range response.Warnings[:2] {
			if !strings.HasSuffix(warning, remedy) {
				t.Errorf("%d keys: want the remedy %q, got %q", keys, remedy, warning)
			}
		}
	}
}
