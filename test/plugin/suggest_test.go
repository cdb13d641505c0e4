package plugin_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

// TestRulesSuggestPacks verifies that only the packs are suggested whose writers own fields of what has been applied.
func TestRulesSuggestPacks(t *testing.T) {
	play(t, "apply -f testdata/bakery.yaml", "apply --server-side --field-manager=flux -f testdata/asleep.yaml")
	t.Cleanup(func() { play(t, "delete namespace bakery") })
	for _, step := range []string{
		"set image deployment/oven app=registry.invalid/oven:2 side=registry.invalid/side:2 --field-manager=keel",
		`patch secret webhook -p {"data":{"tls.crt":"Y3J0"}} --field-manager=bakery-operator`,
		"create secret generic own --from-literal=a=b --field-manager=bakery-operator",
		"create deployment free --image=registry.invalid/free:1 --replicas=0 --field-manager=keel",
		"rollout restart deployment/oven",
		`patch service oven -p {"spec":{"selector":{"rollouts-pod-template-hash":"a1"}}} --field-manager=rollouts-controller`,
		`patch cronjob bake -p {"spec":{"suspend":true}} --field-manager=gokubedownscaler`,
	} {
		play(t, "-n bakery "+step)
	}
	text := "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\npacks: [images, secrets, argo-rollouts]\n"
	file := objects.Write(t, text, t.TempDir(), "handoff.yaml")
	got := transcript(t, cluster.controlPlane.Kubeconfig,
		"rules --suggest -n bakery",
		"rules --suggest -n bakery -o jsonpath={.items[*].name}",
		"rules --suggest -n bakery --config "+file,
		"rules -n bakery --config "+file,
		"explain service/oven .spec.selector -n bakery --config "+file,
		`explain deployment/oven .spec.template.spec.containers[name="app"].image -n bakery --config `+file,
	) + transcript(t, cluster.limited, "rules deployments -n shop --config "+file)
	checkGolden(t, "suggest", strings.ReplaceAll(got, file, "handoff.yaml"))
}
