package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/test/objects"
)

// outside is an object outside namespaces, which opts in by its label, and names the field of a controller by its annotation.
type outside struct {
	kind, name string // the kind in the syntax of kubectl, as RESOURCE.VERSION.GROUP
	field      fieldpath.Path
	// manifest has the other fields. sets are the lines that set the field, or do not; contradictions are those with which the API server
	// refuses its value.
	manifest             string
	sets, contradictions []string
	// controller writes the field, by server-side apply.
	controller func(n *namespace, o outside)
	manager    string
}

// optIn is the label of an outside object, and optsIn its metadata. GROUP is another one in each test.
const (
	optIn  = "ownership-handoff.io/mode: enforce"
	optsIn = `
metadata: {name: NAME, labels: {` + optIn + `}, annotations: {ownership-handoff.io/controller-fields: "PATH", generation: "GENERATION"}}
`
)

// definition is a CustomResourceDefinition, whose conversion webhook has a CA that cert-manager injects.
func definition() outside {
	webhook := func(ca string) string {
		return "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {" + ca +
			"service: {name: converter, namespace: default}}}}\n"
	}
	return outside{
		kind: "customresourcedefinitions.v1.apiextensions.k8s.io", name: "things.GROUP", field: fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "caBundle"),
		manifest: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition" + optsIn +
			"spec:\n  group: GROUP\n  scope: Namespaced\n  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}\n" +
			"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n",
		sets:           []string{webhook(`caBundle: "", `), webhook("caBundle: Cg==, "), webhook("")},
		contradictions: []string{"  conversion: {strategy: None}\n", ""},
		controller:     injector(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"CA"}}}}}`),
		manager:        "cert-manager-cainjector",
	}
}

// aggregatedAPI is an APIService, whose server has a CA that cert-manager injects.
func aggregatedAPI() outside {
	const service = "  service: {name: server, namespace: default}\n"
	return outside{
		kind: "apiservices.v1.apiregistration.k8s.io", name: "v1.GROUP", field: fieldpath.MakePathOrDie("spec", "caBundle"),
		manifest: "apiVersion: apiregistration.k8s.io/v1\nkind: APIService" + optsIn +
			"spec:\n  group: GROUP\n  version: v1\n  groupPriorityMinimum: 100\n  versionPriority: 10\n",
		sets: []string{service + "  caBundle: \"\"\n", service + "  caBundle: Cg==\n", service},
		contradictions: []string{
			service + "  insecureSkipTLSVerify: true\n  caBundle: \"\"\n",
			"  caBundle: \"\"\n",
		},
		controller: injector(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","spec":{"caBundle":"CA"}}`),
		manager:    "cert-manager-cainjector",
	}
}

// aggregatedRole is a ClusterRole whose rules the controller manager collects.
func aggregatedRole() outside {
	return outside{
		kind: "clusterroles.v1.rbac.authorization.k8s.io", name: "GROUP", field: fieldpath.MakePathOrDie("rules"),
		manifest: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole" + optsIn + "aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: GROUP}}]}\n",
		sets:     []string{"rules: []\n", "rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n", ""},
		controller: func(n *namespace, o outside) {
			n.Helper()
			n.apply(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"part-of-` + o.name + `","labels":{"part-of":"` + o.name + `"}},
				"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["list"]}]}`)
		},
		manager: "clusterrole-aggregation-controller",
	}
}

// injector returns what cert-manager's cainjector does.
func injector(patch string) func(*namespace, outside) {
	return func(n *namespace, o outside) {
		n.Helper()
		applied := decoded(n, strings.ReplaceAll(patch, "CA", newCA(n.T)))
		applied.SetName(o.name)
		n.appliedBy(o.manager, string(jsontest.Encode(n.T, applied)))
	}
}

//nolint:tparallel // discovery reports the group of an APIService without a server, in other tests too
func TestObjectsOutsideNamespaces(t *testing.T) {
	for kind, of := range map[string]func() outside{"CustomResourceDefinition": definition, "APIService": aggregatedAPI, "ClusterRole": aggregatedRole} {
		for side, args := range map[string][]string{"client-side": nil, "server-side": serverSide()} {
			t.Run(kind+" "+side, func(t *testing.T) {
				t.Parallel()
				n := newNamespace(t, "")
				of().in(n.name+".example.com").play(n, args)
			})
		}
	}
}

// in returns the object in a group.
func (o outside) in(group string) outside {
	o.name = strings.ReplaceAll(o.name, "GROUP", group)
	o.manifest = strings.NewReplacer("GROUP", group, "NAME", o.name, "PATH", o.field.String()).Replace(o.manifest)
	return o
}

// play applies manifests after the controller has written the field.
func (o outside) play(n *namespace, args []string) {
	n.Helper()
	generation := 0
	next := func(lines string) string {
		generation++
		return strings.ReplaceAll(o.manifest, "GENERATION", strconv.Itoa(generation)) + lines
	}
	apply := func(lines string) result { // with the value as the output: a controller can restore it in a moment
		n.Helper()
		return n.apply(next(lines), append([]string{"-o", "jsonpath={" + o.field.String() + "}"}, args...)...)
	}
	defer func() { n.run("", "delete", o.kind, o.name) }()
	apply(o.sets[0])
	time.Sleep(1100 * time.Millisecond) // a manager that applies in the second of the creation looks like the creator
	write := func() (value string) {
		n.Helper()
		o.controller(n, o)
		n.eventually("the controller writes the field", func() bool {
			value = o.value(n)
			return len(value) > 10
		})
		return value
	}
	value := write()
	for _, lines := range slices.Concat(o.sets, o.sets[:1]) {
		r := apply(lines)
		if r.Stdout != value {
			n.Fatalf("after an apply of %q: got %q, want %q", lines, r.Stdout, value)
		}
		expect.Equal(n, fmt.Sprintf("managers after an apply of %q", lines), []string{o.manager + "/Apply"}, objects.FieldManagers(o.read(n), o.field))
		if got := r.Warnings(); strings.Contains(lines, "Cg==") && (len(got) != 1 || !strings.Contains(got[0], "owned by "+o.manager[:15])) {
			n.Errorf("warnings %q", got)
		}
	}
	for _, lines := range o.contradictions {
		if args != nil && strings.HasPrefix(o.kind, "customresourcedefinitions") {
			continue // without handoff, too, the field stays that the controller applied, and the API server refuses the write
		}
		expect.Equal(n, fmt.Sprintf("after an apply of %q", lines), "", apply(lines).Stdout)
		apply(o.sets[0])
		value = write()
		expect.Equal(n, fmt.Sprintf("after an apply of %q", o.sets[1]), value, apply(o.sets[1]).Stdout)
	}
	o.reported(n)
}

// reported checks that there is an Event on the object.
func (o outside) reported(n *namespace) {
	n.Helper()
	n.eventually("an Event reports the kept field", func() bool {
		events := n.kubectl("get", "events", "--namespace=default", "--field-selector=involvedObject.name="+o.name, "-o", "jsonpath={.items[*].message}")
		return strings.Contains(events.Stdout, "kept "+o.field.String()+": owner Controller")
	})
}

func (o outside) read(n *namespace) *unstructured.Unstructured {
	n.Helper()
	read, err := cluster.reader.Get(context.WithoutCancel(n.Context()), "", o.kind, o.name)
	expect.NoError(n, err)
	return read
}

func (o outside) value(n *namespace) string {
	n.Helper()
	return objects.JSONPath(n.T, o.read(n), o.field.String())
}
