package doctor

import "testing"

func TestMisspelledKeysAreRecognized(t *testing.T) {
	for key, want := range map[string]bool{
		"ownership-handoff.io/mode":              true,
		"ownership-handoff.io/system":            false,
		"ownership-handoff.io/controller-fields": false,
		"ownership-handoff.io/Mode":              true,
		"ownership-handoff.io/modes":             true,
		"ownership-handoff.io/mod":               true,
		"ownership-handoff/mode":                 true,
		"ownership-handof.io/mode":               true,
		"ownership_handoff.io/mode":              true,
		"handoff.io/mode":                        true,
		"handoff/mode":                           true,
		"handoff-mode":                           true,
		"mode":                                   false,
		"example.com/mode":                       false,
		"example.com/handoff":                    false,
		"pod-security.kubernetes.io/enforce":     false,
		"kubernetes.io/metadata.name":            false,
		"":                                       false,
	} {
		if got := looksLike(key); got != want {
			t.Errorf("%q: want %t, got %t", key, want, got)
		}
	}
}
