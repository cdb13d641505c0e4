package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// resized applies a manifest with a rule for the resources of its containers, which a controller then sets: the cpu is 50m. It
// returns the manifest.
func (n *namespace) resized() string {
	n.Helper()
	manifest := ruled(".spec.template.spec.containers[*].resources", deployment("3", "app:1"))
	n.apply(manifest)
	n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", resources)
	return manifest
}

func (n *namespace) cpu() string {
	n.Helper()
	return n.kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].resources.requests.cpu}").stdout
}

func (n *namespace) wantCPU(want string) {
	n.Helper()
	if got := n.cpu(); got != want {
		n.Errorf("cpu: got %q, want %q", got, want)
	}
}

func TestControllerRuleForAFieldOfAListElement(t *testing.T) {
	t.Parallel()
	path := fieldpath.MakePathOrDie("spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "app"), "resources", "requests", "cpu")
	for name, rule := range map[string]string{
		"by its key":    `.spec.template.spec.containers[name="app"].resources`,
		"by a wildcard": `.spec.template.spec.containers[*].resources.requests`,
	} {
		for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
			t.Run(name+", "+side+"-side", func(t *testing.T) {
				t.Parallel()
				n := newNamespace(t, "enforce")
				manifest := ruled(rule, deployment("3", "app:1"))
				n.apply(manifest, args...)
				n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", resources)
				r := n.apply(manifest, args...)
				n.wantWarnings(r, `kept ....template.spec.containers[name="app"].resources.requests.cpu, owned by vpa; remove it from the manifest`)
				if n.cpu() != "50m" {
					t.Errorf("row 1: cpu is %s", n.cpu())
				}
				if diff := cmp.Diff([]string{"vpa/Update"}, fieldManagers(t, n.object(), path)); diff != "" {
					t.Errorf("managers of the field (-want +got):\n%s", diff)
				}
				n.wantLastApplied("cpu", false)
				n.unchangedBy("a second unchanged apply", func() { n.apply(manifest, args...) })

				n.apply(withoutResources(manifest), args...)
				if n.cpu() != "50m" {
					t.Errorf("after removal from the manifest: cpu is %s", n.cpu())
				}
				n.apply(deployment("3", "app:1"), args...)
				if n.cpu() != "10m" {
					t.Errorf("after removal of the rule: cpu is %s", n.cpu())
				}
			})
		}
	}
}

func TestRow2KeepsABlockRemovedFromTheManifest(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	manifest := n.resized()
	n.apply(withoutResources(manifest))
	if n.cpu() != "50m" {
		t.Errorf("cpu is %s", n.cpu())
	}
	n.unchangedBy("a second unchanged apply", func() { n.apply(withoutResources(manifest)) })
}

// TestRow8NullForAWholeBlock verifies that null for a block clears exactly the fields that null for each field would clear.
func TestRow8NullForAWholeBlock(t *testing.T) {
	t.Parallel()
	cleared := func(manifest string) string {
		return strings.Replace(manifest, resourcesLine, "        resources: null", 1)
	}
	rule := func(manifest string) string { return ruled(".spec.template.spec.containers[*].resources", manifest) }
	for name, c := range map[string]struct{ before, manifest, manager, want string }{
		"a controller's field, in the base":         {rule(deployment("3", "app:1")), rule(deployment("3", "app:1")), "vpa", "50m"},
		"a controller's field, never in a manifest": {rule(withoutResources(deployment("3", "app:1"))), rule(deployment("3", "app:1")), "vpa", "50m"},
		"an imperative field, in the base":          {deployment("3", "app:1"), deployment("3", "app:1"), "kubectl-patch", ""},
		"an imperative field, never in a manifest":  {withoutResources(deployment("3", "app:1")), deployment("3", "app:1"), "kubectl-patch", ""},
		"the manifest's own field, in the base":     {deployment("3", "app:1"), deployment("3", "app:1"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(c.before)
			if c.manager != "" {
				n.kubectl("patch", "deployment", "web", "--field-manager="+c.manager, "-p", resources)
			}
			n.apply(cleared(c.manifest))
			if n.cpu() != c.want {
				t.Errorf("cpu: got %q, want %q", n.cpu(), c.want)
			}
			n.unchangedBy("a second unchanged apply", func() { n.apply(cleared(c.manifest)) })
		})
	}
}

func TestAFieldIsDeletedWithItsListElement(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	side := "      - {name: side, image: \"side:1\", resources: {requests: {cpu: 10m}}}\n"
	manifest := ruled(".spec.template.spec.containers[*].resources", deployment("3", "app:1"))
	n.apply(manifest + side)
	n.kubectl("patch", "deployment", "web", "--field-manager=vpa", "-p", strings.Replace(resources, `"app"`, `"side"`, 1))
	n.apply(manifest)
	if out := n.kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}").stdout; out != "app" {
		t.Errorf("containers: %s", out)
	}
}
