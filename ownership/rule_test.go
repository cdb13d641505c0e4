package ownership_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/ownership"
)

func TestRulesMatchNamespaces(t *testing.T) {
	for sentence, c := range map[string]struct {
		rule      ownership.Rule
		namespace string
		want      bool
	}{
		"a rule for all namespaces": {ownership.Rule{}, "shop", true},
		"a pattern":                 {ownership.Rule{Namespaces: []string{"shop-*"}}, "shop-eu", true},
		"another namespace":         {ownership.Rule{Namespaces: []string{"shop-*"}}, "web", false},
		"an object outside namespaces, under such a pattern": {ownership.Rule{Namespaces: []string{"*"}}, "", false},
		"one under a rule for all":                           {ownership.Rule{}, "", true},
	} {
		if got := c.rule.Matches(schema.GroupKind{Kind: "Secret"}, c.namespace, ownership.Object{}); got != c.want {
			t.Errorf("%s: want %v, got %v", sentence, c.want, got)
		}
	}
}
