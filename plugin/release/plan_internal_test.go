package release

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// object is a test object.
type object struct {
	kind       string // defaults to "apps/v1 Deployment"
	body       string // everything except the metadata
	annotated  string // the last-applied annotation
	entries    []string
	autoscaler string
}

const (
	client = "kubectl-client-side-apply/Update"
	// annotation is the fieldsV1 of the annotation.
	annotation = `"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
)

// entry returns a managedFields entry of MANAGER/OPERATION[/SUBRESOURCE].
func entry(by, fields string) string {
	manager, operation, _ := strings.Cut(by, "/")
	operation, subresource, _ := strings.Cut(operation, "/")
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"subresource":%q,"apiVersion":"VERSION","fieldsType":"FieldsV1","fieldsV1":{%s}}`,
		manager, operation, subresource, fields)
}

func (o object) subject(t *testing.T) source.Subject {
	t.Helper()
	version, kind, _ := strings.Cut(cmp.Or(o.kind, "apps/v1 Deployment"), " ")
	annotations := ""
	if o.annotated != "" {
		annotated := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"annotations":{},"name":"web"},%s`, version, kind, o.annotated[1:])
		annotations = fmt.Sprintf(`"annotations":{%q:%s},`, ownership.LastAppliedAnnotation, strconv.Quote(annotated))
	}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s"name":"web","resourceVersion":"7","managedFields":[%s]},%s`,
		version, kind, annotations, strings.ReplaceAll(strings.Join(o.entries, ","), "VERSION", version), o.body[1:])
	group, err := schema.ParseGroupVersion(version)
	expect.NoError(t, err)
	s := source.Subject{Identity: source.Identity{Kind: group.WithKind(kind), Name: "web"}}
	s.Object, err = ownership.ParseObject([]byte(text))
	expect.NoError(t, err)
	s.Context = ownership.ObjectContext{Managers: config.Default().Managers(), Autoscaler: o.autoscaler}
	if o.autoscaler != "" {
		s.Context.Scale = fieldpath.MakePathOrDie("spec", "replicas")
	}
	return s
}

func planOf(t *testing.T, s source.Subject, fields ...string) (Plan, []error) {
	t.Helper()
	return Of(s, fields, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

type planCase struct {
	object object
	fields []string
	diff   []string
	delete string
	left   string // of the annotation, without apiVersion, kind and metadata
}

func planCases() map[string]planCase {
	three := `{"spec":{"replicas":3}}`
	scaled := object{body: `{"spec":{"replicas":7}}`, annotated: `{"spec":{"paused":true,"replicas":3}}`}
	with := func(o object, entries ...string) object { o.entries = entries; return o }
	paused := `{"spec":{"paused":true,"replicas":3}}`
	byAutoscaler := object{body: paused, entries: []string{entry("kubectl/Apply", `"f:spec":{"f:paused":{},"f:replicas":{}}`)}, autoscaler: "HPA web"}
	gadget := object{kind: "shop.example.com/v1 Gadget", body: `{"spec":{"pool":{"size":5}}}`}
	return map[string]planCase{
		"no other manager: transferred to kubectl-handoff": {
			object: with(scaled, entry(client, annotation+`,"f:spec":{"f:replicas":{},"f:paused":{}}`)), fields: []string{"spec.replicas"},
			diff: []string{
				"- last-applied: .spec.replicas: 3", "- managed by kubectl-client-side-apply: .spec.replicas", "+ managed by kubectl-handoff: .spec.replicas",
			},
			delete: ".spec.replicas", left: `{"spec":{"paused":true}}`,
		},
		"no other manager, owned by an autoscaler: transferred to the webhook's manager": {
			object: byAutoscaler, fields: []string{".spec.replicas"},
			diff:   []string{"- managed by kubectl (Apply): .spec.replicas"},
			delete: ".spec.replicas",
		},
		"removed from all appliers": {
			object: object{body: paused, entries: []string{
				entry("flux/Apply", `"f:spec":{"f:replicas":{}}`), entry("kubectl/Apply", `"f:spec":{"f:paused":{},"f:replicas":{}}`),
				entry("me/Update", `"f:spec":{"f:replicas":{}}`),
			}},
			fields: []string{".spec.replicas"},
			diff:   []string{"- managed by flux (Apply): .spec.replicas", "- managed by kubectl (Apply): .spec.replicas"}, delete: ".spec.replicas",
		},
		"a manager of the annotation is an applier": {
			object: object{body: three, annotated: three, entries: []string{entry("kubectl-edit/Update", annotation+`,"f:spec":{"f:replicas":{}}`)}},
			fields: []string{".spec.replicas"},
			diff: []string{
				"- last-applied: .spec.replicas: 3", "- managed by kubectl-edit: .spec.replicas", "+ managed by kubectl-handoff: .spec.replicas",
			},
			delete: ".spec", left: `{}`,
		},
		"Helm 4, which uses server-side apply": {
			object: object{body: three, entries: []string{entry("helm/Apply", `"f:spec":{"f:paused":{},"f:replicas":{}}`)}}, fields: []string{".spec.replicas"},
			diff: []string{"- managed by helm (Apply): .spec.replicas", "+ managed by kubectl-handoff: .spec.replicas"}, delete: ".spec",
		},
		"an apply to a subresource is not of the manifest": {
			object: object{body: three, annotated: three, entries: []string{entry(client, annotation), entry("me/Apply/scale", `"f:spec":{"f:replicas":{}}`)}},
			fields: []string{".spec.replicas"}, diff: []string{"- last-applied: .spec.replicas: 3"}, delete: ".spec", left: `{}`,
		},
		"null in the manifest": {
			object: object{body: three, annotated: `{"spec":{"paused":true,"replicas":null}}`, entries: []string{entry(client, annotation)}},
			fields: []string{".spec.replicas"}, diff: []string{"- last-applied: .spec.replicas: null"}, delete: ".spec.replicas", left: `{"spec":{"paused":true}}`,
		},
		"empty parents are removed, up to a list element": {
			object: object{
				body:      `{"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}}]}}}}`,
				annotated: `{"spec":{"template":{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}}]}}}}`,
				entries: []string{entry(client, annotation+`,"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},`+
					`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{}},"f:requests":{".":{},"f:cpu":{}}}}}}}}`)},
			},
			fields: []string{"spec.template.spec.containers[0].resources.limits.cpu", ".spec.template.spec.containers[*].resources.requests"},
			diff: []string{
				`- last-applied: .spec.template.spec.containers[name="a"].resources.limits.cpu: "1"`,
				`- last-applied: .spec.template.spec.containers[name="a"].resources.requests: {"cpu":"1"}`,
				`- managed by kubectl-client-side-apply: .spec.template.spec.containers[name="a"].resources.limits.cpu, .spec.template.spec.containers[name="a"].resources.requests`,
				`+ managed by kubectl-handoff: .spec.template.spec.containers[name="a"].resources.limits.cpu, .spec.template.spec.containers[name="a"].resources.requests`,
			},
			delete: `.spec.template.spec.containers[name="a"].resources`, left: `{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}`,
		},
		"a field nested under another given field": {
			object: with(object{body: `{"spec":{"strategy":{"type":"Recreate"}}}`, annotated: `{"spec":{"paused":true,"strategy":{"type":"Recreate"}}}`},
				entry(client, annotation), entry("me/Update", `"f:spec":{"f:strategy":{"f:type":{}}}`)),
			fields: []string{".spec.strategy.type", ".spec.strategy"}, diff: []string{`- last-applied: .spec.strategy: {"type":"Recreate"}`},
			delete: ".spec.strategy", left: `{"spec":{"paused":true}}`,
		},
		"a custom resource: parents stay managed": {
			object: with(gadget, entry("kubectl/Apply", `"f:spec":{".":{},"f:pool":{".":{}}}`), entry("hpa/Update/scale", `"f:spec":{"f:pool":{"f:size":{}}}`)),
			fields: []string{".spec.pool.size"}, diff: []string{"+ managed by kubectl-handoff: .spec, .spec.pool"}, delete: ".spec",
		},
		"no manifest declares it": {
			object: with(object{body: three, annotated: `{"spec":{"paused":true}}`}, entry(client, annotation), entry("me/Update", `"f:spec":{"f:replicas":{}}`)),
			fields: []string{".spec.replicas"}, left: `{"spec":{"paused":true}}`,
		},
	}
}

func TestPlan(t *testing.T) {
	for name, c := range planCases() {
		t.Run(name, func(t *testing.T) {
			s := c.object.subject(t)
			p, refusals := planOf(t, s, c.fields...)
			if refusals != nil {
				t.Fatal(refusals)
			}
			expect.Equal(t, "diff", c.diff, p.Diff, cmpopts.EquateEmpty())
			expect.Equal(t, "delete", c.delete, Texts(p.Delete))
			patch, err := p.patch()
			expect.NoError(t, err)
			records := []string{"metadata", "annotations", "managedFields", "resourceVersion"}
			if !strings.Contains(strings.Join(c.diff, ""), "- last-applied: ") {
				records = slices.Delete(records, 1, 2)
			}
			expect.Equal(t, "members of the patch", records, membersOf(t, patch))
			s.Object = patched(t, s.Object, patch)
			lastApplied, _ := s.Object.Annotation(ownership.LastAppliedAnnotation).String()
			expect.Equal(t, "last-applied", c.left, lastAppliedBody(t, lastApplied))
			again, refusals := planOf(t, s, c.fields...)
			if refusals != nil || len(again.Diff) > 0 {
				t.Errorf("once more: %v %v", again.Diff, refusals)
			}
		})
	}
}

// lastAppliedBody returns a last-applied annotation without apiVersion, kind and metadata.
func lastAppliedBody(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	o, _ := jsontest.Decode(t, []byte(text)).(map[string]any)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if o[name] == nil {
			t.Errorf("last-applied has lost its %s", name)
		}
		delete(o, name)
	}
	return string(jsontest.Encode(t, o))
}
