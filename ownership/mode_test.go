package ownership_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestNamespaceLabelIsTheModeAndAlwaysValid(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]string{
		"enforce": "enforce", "warn": "warn", "off": "", "": "warn", "Enforce": "warn", "enforce\n": "warn", "ä/": "warn",
		strings.Repeat("x", 256<<10): "warn",
	} {
		got, labeled := ownership.NamespaceLabel(annotation, true)
		if got != want || labeled != (want != "") {
			t.Errorf("%.20q: want %q, got %q, %v", annotation, want, got, labeled)
		}
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("%.20q: %q is no label value: %s", annotation, got, problems)
		}
	}
	if got, labeled := ownership.NamespaceLabel("", false); labeled {
		t.Errorf("without an annotation: want no label, got %q", got)
	}
}
