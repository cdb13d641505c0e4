package doctor

import "testing"

func TestMisspelledKeysAreRecognized(t *testing.T) {
	for key, want := range map[string]bool{
		"ownership-handoff.io/mode":              false,
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

func TestTheCommandSetsTheModeThatWasMeant(t *testing.T) {
	for value, want := range map[string]string{
		"enforce": "kubectl handoff enable shop", "enforced": "kubectl handoff enable shop", "true": "kubectl handoff enable shop",
		"warn": "kubectl handoff enable shop --warn", "Warn": "kubectl handoff enable shop --warn",
		"warning": "kubectl handoff enable shop", "OFF": "kubectl handoff disable shop",
	} {
		if got := optIn("shop", value); got != want {
			t.Errorf("%s: want %s, got %s", value, want, got)
		}
	}
}
