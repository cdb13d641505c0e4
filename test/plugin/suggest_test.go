package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bakery are objects of a namespace without handoff, of which a controller changes some.
const bakery = `
{apiVersion: v1, kind: Namespace, metadata: {name: bakery}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: oven, namespace: bakery}
spec:
  replicas: 0
  selector: {matchLabels: {app: oven}}
  template:
    metadata: {labels: {app: oven}}
    spec:
      containers:
      - {name: app, image: "registry.invalid/oven:1"}
      - {name: side, image: "registry.invalid/side:1"}
---
{apiVersion: v1, kind: Secret, metadata: {name: webhook, namespace: bakery}, data: {tls.crt: "", tls.key: ""}}
---
{apiVersion: v1, kind: Service, metadata: {name: oven, namespace: bakery}, spec: {selector: {app: oven}, ports: [{port: 80}]}}
`

// asleep is an object of the namespace that is applied server-side.
const asleep = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: bake, namespace: bakery}, spec: {schedule: "0 0 1 1 *", suspend: false,
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: registry.invalid/oven:1}]}}}}}}`

// TestRulesSuggestPacks verifies that only the packs are suggested whose writers own fields of what has been applied.
func TestRulesSuggestPacks(t *testing.T) {
	for _, manifest := range []struct{ text, args string }{{bakery, ""}, {asleep, "--server-side --field-manager=flux"}} {
		apply := exec.Command(cluster.controlPlane.Kubectl, append([]string{"apply", "-f", "-"}, strings.Fields(manifest.args)...)...)
		apply.Stdin = strings.NewReader(manifest.text)
		if output, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
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
	file := filepath.Join(t.TempDir(), "handoff.yaml")
	text := "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\npacks: [images, secrets, argo-rollouts]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := transcript(t, cluster.controlPlane.Kubeconfig,
		"rules --suggest -n bakery",
		"rules --suggest -n bakery -o jsonpath={.items[*].name}",
		"rules --suggest -n bakery --config "+file,
		"rules -n bakery --config "+file,
		"explain service/oven .spec.selector -n bakery --config "+file,
		`explain deployment/oven .spec.template.spec.containers[name="app"].image -n bakery --config `+file,
	)
	checkGolden(t, "suggest", strings.ReplaceAll(got, file, "handoff.yaml"))
}
