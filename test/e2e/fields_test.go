package e2e_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ruled returns a Deployment with the annotation controller-fields.
func ruled(fields, manifest string) string {
	return strings.Replace(manifest, "  name: web\n",
		"  name: web\n  annotations: {ownership-handoff.io/controller-fields: '"+fields+"'}\n", 1)
}

func withoutResources(manifest string) string {
	return strings.Replace(manifest, resourcesLine+"\n", "", 1)
}

const (
	resourcesLine = "        resources: {requests: {cpu: 10m}}"
	resources     = `{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"50m"}}}]}}}}`
)

// cpu is the JSONPath of what resources sets, and cpuPath its path in managedFields.
const cpu = ".spec.template.spec.containers[0].resources.requests.cpu"

var cpuPath = fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app"), "resources", "requests", "cpu")

// resizedBy is a change of the container's resources.
func resizedBy(manager string) step {
	return runs("patch", "deployment", "web", "--field-manager="+manager, "-p", resources)
}

func TestControllerRuleForAFieldOfAListElement(t *testing.T) {
	t.Parallel()
	all := map[string]scenario{}
	for name, rule := range map[string]string{
		"by its key":    `.spec.template.spec.containers[name="app"].resources`,
		"by a wildcard": `.spec.template.spec.containers[*].resources.requests`,
	} {
		manifest := ruled(rule, deployment("3", "app:1"))
		all[name] = scenario{steps: []step{
			applies(manifest), resizedBy("vpa"),
			applies(manifest).value(cpu, "50m").managedBy(cpuPath, "vpa/Update").omits("cpu").twice().
				warns(`kept ....template.spec.containers[name="app"].resources.requests.cpu, owned by vpa; remove it from the manifest`),
			applies(withoutResources(manifest)).value(cpu, "50m").twice(),
			applies(deployment("3", "app:1")).value(cpu, "10m"), // the rule is removed
		}}
	}
	playBy(t, bothSides(), all)
}

// TestRow8NullForAWholeBlock verifies that null for a block clears exactly the fields that null for each field would clear.
func TestRow8NullForAWholeBlock(t *testing.T) {
	t.Parallel()
	cleared := func(manifest string) string {
		return strings.Replace(manifest, resourcesLine, "        resources: null", 1)
	}
	rule := func(manifest string) string { return ruled(".spec.template.spec.containers[*].resources", manifest) }
	all := map[string]scenario{}
	for name, c := range map[string]struct{ before, manifest, manager, want string }{
		"a controller's field, in the base":         {rule(deployment("3", "app:1")), rule(deployment("3", "app:1")), "vpa", "50m"},
		"a controller's field, never in a manifest": {rule(withoutResources(deployment("3", "app:1"))), rule(deployment("3", "app:1")), "vpa", "50m"},
		"an imperative field, in the base":          {deployment("3", "app:1"), deployment("3", "app:1"), "kubectl-patch", ""},
		"an imperative field, never in a manifest":  {withoutResources(deployment("3", "app:1")), deployment("3", "app:1"), "kubectl-patch", ""},
		"the manifest's own field, in the base":     {deployment("3", "app:1"), deployment("3", "app:1"), "", ""},
	} {
		steps := []step{applies(c.before)}
		if c.manager != "" {
			steps = append(steps, resizedBy(c.manager))
		}
		all[name] = scenario{steps: append(steps, applies(cleared(c.manifest)).value(cpu, c.want).twice())}
	}
	play(t, all)
}

func TestAFieldIsDeletedWithItsListElement(t *testing.T) {
	t.Parallel()
	side := "      - {name: side, image: \"side:1\", resources: {requests: {cpu: 10m}}}\n"
	manifest := ruled(".spec.template.spec.containers[*].resources", deployment("3", "app:1"))
	play(t, map[string]scenario{"a container that the manifest drops": {steps: []step{
		applies(manifest + side),
		runs("patch", "deployment", "web", "--field-manager=vpa", "-p", strings.Replace(resources, `"app"`, `"side"`, 1)),
		applies(manifest).value(".spec.template.spec.containers[*].name", "app"),
	}}})
}
