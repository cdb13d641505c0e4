package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
)

// hostile is the review of a history, with everything beside the scale field made hostile.
type hostile struct {
	*history

	names          []string // what is hostile
	live, incoming string   // shadow those of the history
	body           string
	handler        http.Handler

	// readable reports whether the write's last-applied configuration can be read, and others whether other fields may be changed by
	// rows of their own.
	readable, others bool
	skipped          string // what the answer says that handoff has skipped, and why
	diff             string // between the object that was expected and the patched one

	was, is map[string]any // live and incoming, decoded, until they are encoded
	server  *server
	manager string
	dryRun  bool
}

const otherVersion = "example.com/v1alpha1"

// hostilities are what can be made hostile, by what they do. Each reports whether it applies to a review.
func hostilities() []hostility {
	return []hostility{
		{"nothing hostile", 1, func(*hostile) bool { return true }},
		{"last-applied is hostile", 6, (*hostile).annotations},
		{"an entry with thousands of unsorted names", 1, (*hostile).manyNames},
		{"many managers", 1, (*hostile).manyManagers},
		{"odd entries", 3, (*hostile).oddEntries},
		{"controller-fields is broken or matches everything", 3, (*hostile).controllerFields},
		{"rules are broken or match everything", 3, (*hostile).rules},
		{"rules lead into an atomic list", 3, (*hostile).atomicList},
		{"other fields panic", 1, (*hostile).panickingRule},
		{"an Event recorder that panics", 1, (*hostile).panickingEvents},
		{"a stale default that contradicts", 1, (*hostile).staleDefault},
		{"other fields that are dropped", 2, (*hostile).droppedFields},
		{"requests over limits", 1, (*hostile).requestsOverLimits},
		{"odd conditions", 1, (*hostile).conditions},
		{"a deep object", 1, (*hostile).deepObject},
		{"an old version of the custom resource", 4, (*hostile).oldVersion},
		{"a dry run", 2, (*hostile).asDryRun},
		{"no field manager in the request", 1, (*hostile).anonymous},
		{"no uid, times or managers in metadata", 1, (*hostile).noTimes},
		{"hundreds of patterns and thousands of fields", 1, (*hostile).manyPatterns},
	}
}

type hostility struct {
	name   string
	weight int
	make   func(*hostile) bool
}

// asSent is the review of a history with nothing hostile.
func (h *history) asSent(t *testing.T) *hostile {
	t.Helper()
	x := &hostile{
		history: h, names: []string{"nothing hostile"}, live: h.live, incoming: h.incoming, manager: h.writer.manager, readable: true,
		server: newServer(t, &historyCluster{fakeCluster{modes: map[string]string{"shop": "enforce"}}, h}),
	}
	x.server.rules = h.configured(t)
	x.handler, x.body = x.server, h.body(h.live, h.incoming, x.manager, false)
	return x
}

// hostile makes a review of a history hostile.
func (h *history) hostile(t *testing.T, want outcome) *hostile {
	t.Helper()
	x := h.asSent(t)
	x.was, x.is, x.names = unmarshal(t, h.live), unmarshal(t, h.incoming), nil
	var weighted []hostility
	for _, one := range hostilities() {
		weighted = append(weighted, slices.Repeat([]hostility{one}, one.weight)...)
	}
	for range 1 + h.random.IntN(3) {
		chosen := pick(h.random, weighted)
		isGentle := !isOneOf(chosen.name, "last-applied is hostile", "other fields that are dropped")
		if (want == kept || isGentle) && !slices.Contains(x.names, chosen.name) && chosen.make(x) {
			x.names = append(x.names, chosen.name)
		}
	}
	if len(x.names) == 0 {
		x.names = []string{"nothing hostile"}
	}
	x.live, x.incoming = encode(x.was), encode(x.is)
	x.body = h.body(x.live, x.incoming, x.manager, x.dryRun)
	return x
}

func (x *hostile) String() string {
	body := x.body
	if len(body) > 6000 {
		body = body[:6000] + "..."
	}
	return fmt.Sprintf("%v\n%s\n%s\n%s", x.names, x.diff, x.history, body)
}

// owned reports whether the scale field is kept whatever the manifest says.
func (x *hostile) owned() bool {
	with := *x.history
	with.manifest = settings{0: int64(5)}
	return with.scale() == kept
}

// asDryRun makes the write a dry run, unless that is what kubectl diff sends for another manifest: it leaves the annotation as it
// is, so that a manifest which sets the default looks like an object that was replaced.
func (x *hostile) asDryRun() bool {
	replicas, _ := document.Get(x.is, x.kind.scale)
	isDiff := x.writer.isClientSide() && lastAppliedIn(x.was) == lastAppliedIn(x.is) && sameJSON(replicas, 1)
	x.dryRun = !isDiff || x.owned()
	return x.dryRun
}

// brokenManifests are last-applied configurations that are none of this object.
func (x *hostile) brokenManifest() string {
	switch n := x.random.IntN(60); {
	case n < 40:
		return pick(x.random, []string{
			"", "null", "{", "[]", `"x"`, "0", "{} {}", " ", "\x00", `{"spec":null}`, `{"spec":[]}`, `{"spec":{"replicas":{}}}`,
			`{"spec":{"replicas":3},"spec":{"replicas":4}}`, `{"spec":{"replicas":3,"replicas":5}}`, `{"metadata":{"annotations":"x"}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"other"},"spec":{"replicas":2}}`, "{}", `{"spec":{"replicas":"many"}}`,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"other","namespace":"else"},"spec":{"replicas":2}}`,
		})
	case n < 59:
		return `{"spec":{"x":` + strings.Repeat(`{"a":`, 9_900) + "1" + strings.Repeat("}", 9_900) + "}}"
	default:
		return `{"spec":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`
	}
}

// annotations makes last-applied in live hostile, and in incoming if nobody wrote it or the field has an owner anyway.
func (x *hostile) annotations() bool {
	before, after := lastAppliedIn(x.was), lastAppliedIn(x.is)
	path := pathOf("metadata", "annotations", lastApplied)
	isListed := !isOneOf(x.writer.manager, "ci", "OpenAPI-Generator", "terraform-provider-helm_v3.0.2_x5")
	broken := x.brokenManifest()
	switch {
	case !x.writer.isClientSide() && before == after:
		document.Set(x.was, path, broken)
		document.Set(x.is, path, broken)
		x.readable = false
	case x.writer.isClientSide() && isListed && x.owned():
		document.Set(x.is, path, broken)
		if x.random.IntN(2) == 0 {
			document.Set(x.was, path, x.brokenManifest())
		}
		x.readable = false
	case x.writer.isClientSide() && before != after && isListed:
		document.Set(x.was, path, broken)
	default:
		return false
	}
	return true
}

// entry appends a managedFields entry to both objects.
func (x *hostile) entry(text string) {
	for _, object := range []map[string]any{x.was, x.is} {
		all, _ := document.Get(object, pathOf("metadata", "managedFields"))
		list, _ := all.([]any)
		var e any
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			panic(err)
		}
		at := 0
		if len(list) > 0 {
			at = len(text) % (len(list) + 1)
		}
		document.Set(object, pathOf("metadata", "managedFields"), slices.Insert(slices.Clone(list), at, e))
	}
}

func (x *hostile) entryOf(manager, operation, version, fields, subresource string) string {
	text := entry(manager, operation, early, fields, subresource)
	return strings.Replace(text, `"apiVersion":"apps/v1"`, `"apiVersion":`+strconv.Quote(version), 1)
}

func (x *hostile) version() string { return x.kind.gvk.GroupVersion().String() }

func (x *hostile) manyNames() bool {
	var fields []string
	for i := range 3000 {
		fields = append(fields, fmt.Sprintf(`"f:k%d":{}`, (i*7919)%3001))
	}
	x.entry(x.entryOf("hoarder", "Update", x.version(), `{"f:metadata":{"f:labels":{`+strings.Join(fields, ",")+`}}}`, ""))
	return true
}

func (x *hostile) manyManagers() bool {
	for i := range 100 {
		x.entry(x.entryOf(fmt.Sprintf("manager-%d", i), pick(x.random, []string{"Update", "Apply"}), x.version(),
			fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:l%d":{}}}}`, i), pick(x.random, []string{"", "", "status"})))
	}
	return true
}

func (x *hostile) oddEntries() bool {
	for range 1 + x.random.IntN(3) {
		x.entry(pick(x.random, []string{
			x.entryOf("odd", "Replace", x.version(), `{"f:spec":{"f:x":{}}}`, ""), x.entryOf("odd", "", x.version(), `{}`, ""),
			x.entryOf("odd", "Update", x.version(), `{}`, "status"), x.entryOf("odd", "Apply", x.version(), `{}`, ""),
			x.entryOf("odd", "Update", "", `{"f:spec":{"f:x":{}}}`, ""), x.entryOf("odd", "Update", "weird/v9/x", `{"f:spec":{"f:x":{}}}`, ""),
			x.entryOf("", "Update", x.version(), `{"f:spec":{"f:x":{}}}`, ""), x.entryOf("odd", "Update", "other/v1", `{"f:spec":{"f:x":{}}}`, ""),
			x.entryOf("odd", "Update", x.version(), `{"f:spec":{".":{},"v:1":{},"i:0":{},"k:{\"name\":\"a\"}":{}}}`, "unknown"),
			`{"manager":"bare"}`, `{"manager":"bare","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1"}`,
			`{"manager":"odd","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV2","fieldsV1":{"f:spec":{}}}`,
		}))
	}
	return true
}

// everything matches the scale field as well as all others.
func (x *hostile) everything() []string {
	if !x.ruled[0] {
		return nil
	}
	return []string{".*", ".spec", ".spec.*", ".*.*"}
}

func (x *hostile) controllerFields() bool {
	texts := append(x.everything(), ".spec.[", "][,,{", "\n\n,", strings.Repeat("(", 200), ".metadata.labels.*,.spec.template.*", "spec.replicas",
		strings.Repeat(".spec.x[*].y.*,", 2000), ".metadata.managedFields", "\u2028", `.spec.template.spec.containers[name="`)
	text := pick(x.random, texts)
	for _, object := range []map[string]any{x.was, x.is} {
		document.Set(object, pathOf("metadata", "annotations", ownership.ControllerFieldsAnnotation), text)
	}
	x.others = true
	return true
}

func (x *hostile) rules() bool {
	texts := []string{".metadata.labels.*", ".metadata.annotations.*", ".spec.template", ".metadata.managedFields", ".status", ".kind"}
	rule := ownership.Rule{
		Writers: pick(x.random, [][]string{nil, {"[", "b-[", ""}, {ownership.AnyWriter}}),
		Edit:    pick(x.random, []ownership.Edit{"", ownership.EditApply}),
	}
	if !rule.AnyWriter() { // such a rule assigns the scale field to more managers than the history's
		texts = append(texts, x.everything()...)
	}
	for range 1 + x.random.IntN(20) {
		pattern, err := ownership.ParsePattern(pick(x.random, texts))
		if err == nil {
			rule.Fields = append(rule.Fields, pattern)
		}
	}
	x.server.rules = append(x.server.rules, rule)
	x.others = true
	return true
}

// atomicList is a list without keys, of which rules name what a controller has written.
func (x *hostile) atomicList() bool {
	route := func(name any) map[string]any {
		return map[string]any{"name": name, "to": map[string]any{"host": name, "port": x.random.IntN(2)}, "w": x.random.IntN(3)}
	}
	list := func() any {
		elements := make([]any, x.random.IntN(5))
		for i := range elements {
			elements[i] = pick(x.random, []any{
				route("a"), route("b"), route("a\"]"), route(nil), route([]any{"a"}), map[string]any{"w": 1}, map[string]any{"name": "a"}, "a", 7, nil, []any{route("a")},
			})
		}
		return pick(x.random, []any{elements, elements, elements, route("a"), nil, "s"})
	}
	texts := []string{
		".spec.http[name=*].w", ".spec.http[to.host=*,to.port=*].w", ".spec.http[name=*].to", ".spec.http[*].w", ".spec.http[0]", ".spec.http[*][*].w",
		`.spec.http[name="a"].w`, ".spec.http[name=*]", ".spec.http.w", ".spec.http.*", ".spec.http[w=*].name", ".spec.http",
	}
	rule := ownership.Rule{Writers: []string{"rollouts"}, Edit: pick(x.random, []ownership.Edit{"", ownership.EditApply})}
	for range 1 + x.random.IntN(3) {
		pattern, err := ownership.ParsePattern(pick(x.random, texts))
		if err != nil {
			panic(err)
		}
		rule.Fields = append(rule.Fields, pattern)
	}
	x.server.rules = append(x.server.rules, rule)
	document.Set(x.was, pathOf("spec", "http"), list())
	document.Set(x.is, pathOf("spec", "http"), list())
	x.entry(x.entryOf("rollouts", "Update", x.version(), `{"f:spec":{"f:http":{}}}`, "other"))
	x.others = true
	return true
}

// brokenSelector is a selector that panics.
type brokenSelector struct{ labels.Selector }

// panickingRule is a rule that panics.
func (x *hostile) panickingRule() bool {
	if x.ruled[0] {
		return false // a rule about the scale field may be lost with the others
	}
	pattern, err := ownership.ParsePattern(".spec.template.spec.containers[*].resources")
	if err != nil {
		panic(err)
	}
	x.server.rules = append(x.server.rules, ownership.Rule{Selector: brokenSelector{}, Fields: []ownership.Pattern{pattern}})
	x.entry(x.entryOf("my-operator", "Update", x.version(),
		`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{}}}}}}}`, "other"))
	x.others = true
	return true
}

type panickingRecorder struct{}

func (panickingRecorder) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {
	panic("the recorder is out of order")
}

var _ events.EventRecorder = panickingRecorder{}

func (x *hostile) panickingEvents() bool {
	x.server.Events = panickingRecorder{}
	return true
}

func (x *hostile) staleDefault() bool {
	if x.kind.gvk.Kind != "Deployment" {
		return false
	}
	rolling := map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}
	document.Set(x.was, pathOf("spec", "strategy"), map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling})
	document.Set(x.is, pathOf("spec", "strategy"), map[string]any{"type": "Recreate", "rollingUpdate": rolling})
	x.others = true
	return true
}

// droppedFields are fields that others set and the write removes.
func (x *hostile) droppedFields() bool {
	document.Set(x.was, pathOf("metadata", "labels", "a"), "1")
	document.Set(x.was, pathOf("metadata", "annotations", "b"), strings.Repeat("x", 1<<x.random.IntN(18)))
	document.Set(x.was, pathOf("spec", "minReadySeconds"), 7)
	x.entry(x.entryOf("kubectl-edit", "Update", x.version(),
		`{"f:metadata":{"f:labels":{"f:a":{}},"f:annotations":{"f:b":{}}},"f:spec":{"f:minReadySeconds":{}}}`, "other"))
	x.others = true
	return true
}

func (x *hostile) requestsOverLimits() bool {
	if x.kind.gvk.Kind != "Deployment" {
		return false
	}
	container := func(cpu, limit string) []any {
		return []any{map[string]any{"name": "app", "image": "app:1", "resources": map[string]any{
			"requests": map[string]any{"cpu": cpu}, "limits": map[string]any{"cpu": limit},
		}}}
	}
	document.Set(x.was, pathOf("spec", "template", "spec", "containers"), container("9", "10"))
	document.Set(x.is, pathOf("spec", "template", "spec", "containers"), container("1", "2"))
	pattern, err := ownership.ParsePattern(".spec.template.spec.containers[*].resources.requests")
	if err != nil {
		panic(err)
	}
	x.server.rules = append(x.server.rules, ownership.Rule{Fields: []ownership.Pattern{pattern}})
	x.entry(x.entryOf("vpa", "Update", x.version(),
		`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}`, ""))
	x.others = true
	return true
}

func (x *hostile) conditions() bool {
	const guarded = "ownership-handoff.io/guarded"
	status := pick(x.random, []any{
		map[string]any{"conditions": "x"}, map[string]any{"conditions": []any{nil, 1}}, []any{},
		map[string]any{"conditions": []any{map[string]any{"type": guarded, "message": "replicas=-1"}}},
		map[string]any{"conditions": []any{map[string]any{"type": guarded, "message": []any{}}}},
	})
	x.was["status"], x.is["status"] = status, status
	x.others = true
	return true
}

func (x *hostile) deepObject() bool {
	depth := pick(x.random, []int{120, 200, 9_000})
	var deep any = "x"
	for range depth {
		deep = map[string]any{"deep": deep}
	}
	document.Set(x.was, pathOf("spec", "deep"), deep)
	document.Set(x.is, pathOf("spec", "deep"), deep)
	return true
}

// oldVersion moves the scale field of an entry to the path that it has in another version.
func (x *hostile) oldVersion() bool {
	if x.kind.gvk.Kind != "Widget" || x.writer.how == serverSide {
		return false
	}
	moved := false
	for _, object := range []map[string]any{x.was, x.is} {
		all, _ := document.Get(object, pathOf("metadata", "managedFields"))
		list, _ := all.([]any)
		for _, e := range list {
			e, _ := e.(map[string]any)
			if e["manager"] == x.writer.manager {
				continue
			}
			if text := encode(e["fieldsV1"]); text == `{"f:spec":{"f:scaling":{"f:replicas":{}}}}` {
				e["apiVersion"], e["fieldsV1"], moved = otherVersion, map[string]any{"f:spec": map[string]any{"f:size": map[string]any{}}}, true
			}
		}
	}
	return moved
}

// anonymous leaves the field manager to be found by the entry that the write has updated.
func (x *hostile) anonymous() bool {
	if x.writer.how == serverSide {
		return false
	}
	written := metav1.NewTime(x.clock)
	for _, e := range unstructuredOf(x.is).GetManagedFields() {
		if e.Manager == x.writer.manager && e.Time != nil && e.Time.Equal(&written) {
			x.manager = ""
			return true
		}
	}
	return false
}

func (x *hostile) noTimes() bool {
	for _, object := range []map[string]any{x.was, x.is} {
		document.Remove(object, pathOf("metadata", "uid"))
		document.Remove(object, pathOf("metadata", "namespace"))
	}
	return true
}

// manyPatterns are patterns about all fields of many entries, none of which they match.
func (x *hostile) manyPatterns() bool {
	var fields, patterns []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf(`"f:k%d":{"f:a":{},"f:b":{}}`, i))
		patterns = append(patterns, fmt.Sprintf(".spec.many.*.*.*.x%d", i), fmt.Sprintf(".spec.*.*.a.*.y%d", i))
	}
	for i := range 20 {
		x.entry(x.entryOf(fmt.Sprintf("m%d", i), "Update", x.version(), `{"f:spec":{"f:many":{`+strings.Join(fields, ",")+`}}}`, ""))
	}
	for _, object := range []map[string]any{x.was, x.is} {
		document.Set(object, pathOf("metadata", "annotations", ownership.ControllerFieldsAnnotation), strings.Join(patterns, ","))
	}
	x.others = true
	return true
}

func applyPatch(object string, patch []byte) (string, error) {
	operations, err := jsonpatchv4.DecodePatch(patch)
	if err != nil {
		return "", err
	}
	patched, err := operations.Apply([]byte(object))
	return string(patched), err
}
