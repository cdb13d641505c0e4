package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/race"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
)

var (
	hostileReviews = flag.Uint64("reviews", 1_000, "how many reviews TestTheScaleFieldAlone generates")
	firstSeed      = flag.Uint64("first-seed", 0, "the seed of the first review")
)

// TestTheScaleFieldAlone makes everything beside the scale field of recorded reviews hostile. What becomes of the scale field is what
// becomes of it without. -args -reviews=10000 generates 10,000. A failure prints the flags that repeat its review.
func TestTheScaleFieldAlone(t *testing.T) {
	t.Parallel()
	number, all, seen, compared := *hostileReviews, recorded(t), map[string]int{}, 0
	if testing.Short() || race.Enabled {
		number = min(number, 200)
	}
	for seed := *firstSeed; seed < *firstSeed+number; seed++ {
		x := newHostile(t, all, seed)
		for _, name := range x.names {
			seen[name]++
		}
		start := growth.Used(t)
		response := x.answer(t, string(x.body()))
		if took := growth.Used(t) - start; took > 5*time.Second { // of CPU time, however busy the machine is
			t.Errorf("the answer takes %v", took)
		}
		compared += x.compareOwners(t, response.AuditAnnotations)
		want := x.fate
		got := fateOf(unmarshal(t, patchedBy(t, encode(x.is), response.Patch)), x.scale)
		if slices.Contains(x.names, lastAppliedHostile) { // it may have a scale field that cannot be read
			want.Applied, got.Applied = nil, nil
		}
		expect.Equal(t, "the scale field", want, got)
		if response.Patch != nil && !x.others {
			again := x.answer(t, string(resend(t, x.body(), response)))
			expect.Equal(t, "the patch of what was patched", []byte(nil), again.Patch)
		}
		if t.Failed() {
			t.Fatalf("-first-seed=%d -reviews=1: %s of %s, %q, warnings %q", seed, x.owner, x.review, x.names, response.Warnings)
		}
	}
	t.Logf("%v, %d owners", seen, compared)
	if compared < int(number)/4 && number > 1 {
		t.Errorf("%d owners were compared", compared)
	}
	for name := range hostilities {
		if seen[name] == 0 && number > 1 {
			t.Errorf("no review is hostile in this way: %s", name)
		}
	}
}

// fate is what becomes of the scale field.
type fate struct {
	Value    any
	Managers []string
	Applied  any // in last-applied
}

func fateOf(object map[string]any, scale fieldpath.Path) (f fate) {
	f.Value, _ = document.Get(object, scale)
	f.Applied, _ = document.Get(unmarshalOrNil(lastAppliedIn(object)), scale)
	managed := fieldpath.Path{}
	for _, name := range scale {
		managed = append(managed, fieldpath.MakePathOrDie("f:"+*name.FieldName)...)
	}
	for _, e := range entriesOf(object) {
		if _, ok := document.Get(e["fieldsV1"], managed); ok {
			f.Managers = append(f.Managers, fmt.Sprint(e["manager"], e["operation"], e["apiVersion"], e["subresource"]))
		}
	}
	slices.Sort(f.Managers)
	return f
}

func entriesOf(object map[string]any) (entries []map[string]any) {
	all, _ := document.Get(object, pathOf("metadata", "managedFields"))
	list, _ := all.([]any)
	for _, e := range list {
		entry, _ := e.(map[string]any)
		entries = append(entries, entry)
	}
	return entries
}

// hostile is a recorded review with everything beside the scale field made hostile.
type hostile struct {
	*server

	review, owner string // what it is made of
	names         []string
	request       map[string]any
	was, is       map[string]any // live and incoming
	scale         fieldpath.Path
	manager       string
	random        *rand.Rand
	// fate is that of the scale field with nothing hostile, kept whether a row keeps it, and owned whether one does whatever the
	// manifest says.
	fate        fate
	kept, owned bool
	// others reports whether rows may change other fields.
	others bool
}

// ownerSaid matches the field and the owner in an audit annotation.
var ownerSaid = regexp.MustCompile(`(?:^|; )[a-z -]+ (\.\S+): (?:live [^;]*, )?owner ([^;]*) \(([A-Z]\w+)\)`)

// compareOwners compares the owners that the answer to a write names with those that the live object alone shows, as the plugin does. It
// returns the number of fields.
func (x *hostile) compareOwners(t *testing.T, annotations map[string]string) (compared int) {
	t.Helper()
	if slices.Contains(x.names, panics) {
		return 0
	}
	live, err := ownership.ParseObject([]byte(encode(x.was)))
	expect.NoError(t, err)
	incoming, err := ownership.ParseObject([]byte(encode(x.is)))
	expect.NoError(t, err)
	kind := schema.FromAPIVersionAndKind(fmt.Sprint(x.is["apiVersion"]), fmt.Sprint(x.is["kind"]))
	rules, _ := x.settings().Rules.For(kind.GroupKind(), fmt.Sprint(x.request["namespace"]), incoming)
	w := ownership.Write{Kind: kind, Live: live}
	w.ObjectContext = ownership.ObjectContext{Managers: x.Managers.WithRules(rules, nil), Scale: x.scale, Scaler: x.Cluster.Scaler("", "", "", "")}
	if w.LiveEntries, err = live.Entries(); err != nil {
		return 0
	}
	base, _ := document.Get(unmarshalOrNil(lastAppliedIn(x.was)), x.scale)
	w.Autoscaler = w.ScalerThatOwns([]byte(encode(base)))
	fields, err := w.OwnedFields(live)
	if err != nil {
		return 0
	}
	for _, said := range annotations {
		for _, m := range ownerSaid.FindAllStringSubmatch(said, -1) {
			i := slices.IndexFunc(fields, func(f ownership.OwnedField) bool { return f.Path.String() == m[1] })
			if i < 0 {
				continue // a unit with other fields
			}
			compared++
			owner, isManifests := fields[i].Owner, m[3] == ownership.Manifest.String()
			if isManifests && owner.Kind == ownership.Default {
				continue // an applier manages what last-applied lacks: OwnedFields reports more
			}
			if owner.Kind.Decided().String() != m[3] || owner.By != m[2] {
				t.Errorf("%s: the write says %s (%s), the object %s (%s)", m[1], m[2], m[3], owner.By, owner.Kind.Decided())
			}
		}
	}
	return compared
}

// The owners of the scale field in the reviews, as far as it is not the manifest's.
const (
	byAutoscaler = "the autoscaler's field"
	byRule       = "a rule's field"
	byPerson     = "a person's field"
)

// newHostile generates a review from one of the recorded ones.
func newHostile(t *testing.T, all map[string][]byte, seed uint64) *hostile {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // no secret is made of them
	x := &hostile{
		server: newServer(t, &everywhere{}), random: random,
		review: pick(random, slices.Sorted(maps.Keys(all))), owner: pick(random, []string{byAutoscaler, byRule, byPerson}),
	}
	switch x.owner {
	case byAutoscaler:
		x.server = newServer(t, enforcedEverywhere())
	case byRule:
		x.rules = []ownership.Rule{{Fields: fieldpattern.MustParse(".spec.replicas", ".spec.pool.size")}}
	}
	x.request, _ = unmarshal(t, string(all[x.review]))["request"].(map[string]any)
	x.was, _ = x.request["oldObject"].(map[string]any)
	x.is, _ = x.request["object"].(map[string]any)
	kind, _ := x.is["kind"].(string)
	x.scale = (&fakeCluster{}).ScalePath("", "", kind)
	manager, _ := document.Get(x.request, pathOf("options", "fieldManager"))
	x.manager, _ = manager.(string)
	response := x.answer(t, string(x.body()))
	x.fate = fateOf(unmarshal(t, patchedBy(t, encode(x.is), response.Patch)), x.scale)
	for _, said := range response.AuditAnnotations {
		ofScale := strings.Contains(said, "kept "+x.scale.String()+":")
		x.kept = x.kept || ofScale
		x.owned = x.owned || ofScale && (strings.Contains(said, "(Autoscaler)") || strings.Contains(said, "(Controller)"))
	}
	for range 1 + random.IntN(3) {
		name := pick(random, slices.Sorted(maps.Keys(hostilities)))
		isGentle := name != lastAppliedHostile && name != fieldsDropped
		if (x.kept || isGentle) && !slices.Contains(x.names, name) && hostilities[name](x) {
			x.names = append(x.names, name)
		}
	}
	return x
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func (x *hostile) body() []byte {
	return []byte(encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": x.request}))
}

const (
	lastAppliedHostile = "last-applied is hostile"
	fieldsDropped      = "other fields are dropped"
	panics             = "other fields panic"
)

// hostilities are what can be made hostile, by what they do. Each reports whether it applies to a review.
var hostilities = map[string]func(*hostile) bool{
	// Of live, and of incoming if nobody wrote it or the field has an owner anyway.
	lastAppliedHostile: func(x *hostile) bool {
		before, after := lastAppliedIn(x.was), lastAppliedIn(x.is)
		isClientSide := x.manager == csa || x.manager == "argocd-controller"
		path := []any{"metadata", "annotations", lastApplied}
		switch {
		case !isClientSide && before == after:
			x.set(x.brokenManifest(), path...)
		case isClientSide && x.owned:
			document.Set(x.was, pathOf(path...), pick(x.random, []string{before, x.brokenManifest()}))
			document.Set(x.is, pathOf(path...), x.brokenManifest())
		case isClientSide && before != after:
			document.Set(x.was, pathOf(path...), x.brokenManifest())
		default:
			return false
		}
		return true
	},
	// Fields that others set and the write removes.
	fieldsDropped: func(x *hostile) bool {
		x.others = true
		document.Set(x.was, pathOf("metadata", "labels", "a"), "1")
		document.Set(x.was, pathOf("metadata", "annotations", "b"), strings.Repeat("x", 1<<x.random.IntN(18)))
		document.Set(x.was, pathOf("spec", "minReadySeconds"), 7)
		x.entry("kubectl-edit", "Update", `{"f:metadata":{"f:labels":{"f:a":{}},"f:annotations":{"f:b":{}}},"f:spec":{"f:minReadySeconds":{}}}`, "other")
		return true
	},
	"an entry with thousands of unsorted names": func(x *hostile) bool {
		names := joined(3000, func(i int) string { return fmt.Sprintf(`"f:k%d":{}`, (i*7919)%3001) })
		x.entry("hoarder", "Update", `{"f:metadata":{"f:labels":{`+names+`}}}`, "")
		return true
	},
	"many managers": func(x *hostile) bool {
		for i := range 100 {
			x.entry(fmt.Sprintf("manager-%d", i), pick(x.random, []string{"Update", "Apply"}), fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:l%d":{}}}}`, i), pick(x.random, []string{"", "status"}))
		}
		return true
	},
	"odd entries": func(x *hostile) bool {
		const some = `"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:x":{}}}}`
		for range 1 + x.random.IntN(3) {
			x.entryText(pick(x.random, []string{
				`{"manager":"odd","operation":"Replace","apiVersion":"apps/v1",` + some, `{"manager":"odd","operation":"","apiVersion":"apps/v1",` + some,
				`{"manager":"odd","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{},"subresource":"status"}`,
				`{"manager":"odd","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{}}`,
				`{"manager":"odd","operation":"Update","apiVersion":"",` + some, `{"manager":"odd","operation":"Update","apiVersion":"weird/v9/x",` + some,
				`{"manager":"","operation":"Update","apiVersion":"apps/v1",` + some, `{"manager":"odd","operation":"Update","apiVersion":"other/v1",` + some,
				`{"manager":"odd","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"v:1":{},"i:0":{},"k:{\"name\":\"a\"}":{}}}}`,
				`{"manager":"bare"}`, `{"manager":"bare","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1"}`,
				`{"manager":"odd","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV2","fieldsV1":{"f:spec":{}}}`,
			}))
		}
		return true
	},
	"controller-fields is broken or matches everything": func(x *hostile) bool {
		x.others = true
		x.set(pick(x.random, append(x.everything(), ".spec.[", "][,,{", "\n\n,", strings.Repeat("(", 200), ".metadata.labels.*,.spec.template.*", "spec.replicas",
			strings.Repeat(".spec.x[*].y.*,", 2000), ".metadata.managedFields", "\u2028", `.spec.template.spec.containers[name="`)),
			"metadata", "annotations", ownership.ControllerFieldsAnnotation)
		return true
	},
	// Patterns about all fields of many entries, none of which they match.
	"hundreds of patterns and thousands of fields": func(x *hostile) bool {
		x.others = true
		fields := joined(300, numbered(`"f:k%d":{"f:a":{},"f:b":{}}`))
		for i := range 20 {
			x.entry(fmt.Sprintf("m%d", i), "Update", `{"f:spec":{"f:many":{`+fields+`}}}`, "")
		}
		x.set(joined(300, numbered(".spec.many.*.*.*.x%d,.spec.*.*.a.*.y%[1]d")), "metadata", "annotations", ownership.ControllerFieldsAnnotation)
		return true
	},
	"rules are broken or match everything": func(x *hostile) bool {
		texts := []string{".metadata.labels.*", ".metadata.annotations.*", ".spec.template", ".metadata.managedFields", ".status", ".kind"}
		rule := ownership.Rule{
			Writers: pick(x.random, [][]string{nil, {"[", "b-[", ""}, {ownership.AnyWriter}}), Edit: pick(x.random, []ownership.Edit{"", ownership.EditApply}),
		}
		if !rule.AnyWriter() { // such a rule assigns the scale field to more managers
			texts = append(texts, x.everything()...)
		}
		return x.rule(rule, 20, texts...)
	},
	// A list without keys, of which rules name what a controller has written.
	"rules lead into an atomic list": func(x *hostile) bool {
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
		document.Set(x.was, pathOf("spec", "http"), list())
		document.Set(x.is, pathOf("spec", "http"), list())
		x.entry("rollouts", "Update", `{"f:spec":{"f:http":{}}}`, "other")
		return x.rule(ownership.Rule{Writers: []string{"rollouts"}, Edit: pick(x.random, []ownership.Edit{"", ownership.EditApply})}, 3,
			".spec.http[name=*].w", ".spec.http[to.host=*,to.port=*].w", ".spec.http[name=*].to", ".spec.http[*].w", ".spec.http[0]", ".spec.http[*][*].w",
			`.spec.http[name="a"].w`, ".spec.http[name=*]", ".spec.http.w", ".spec.http.*", ".spec.http[w=*].name", ".spec.http")
	},
	"a rule compares the manifest with its record": func(x *hostile) bool {
		before, after := unmarshalOrNil(lastAppliedIn(x.was)), unmarshalOrNil(lastAppliedIn(x.is))
		if x.manager != csa || before == nil || after == nil || lastAppliedIn(x.was) == lastAppliedIn(x.is) {
			return false
		}
		field, value, set := pathOf("spec", "minReadySeconds"), func() int { return x.random.IntN(3) }, x.random.IntN(3)
		document.Set(x.was, field, value())
		document.Set(x.is, field, set)
		document.Set(before, field, value())
		document.Set(after, field, set)
		document.Set(x.was, pathOf("metadata", "annotations", lastApplied), encode(before))
		document.Set(x.is, pathOf("metadata", "annotations", lastApplied), encode(after))
		x.set(encode(map[string]any{field.String(): map[string]any{x.manager: hashOf(field, value())}}), "metadata", "annotations", ownership.AppliedAnnotation)
		x.entry("my-operator", "Update", `{"f:spec":{"f:minReadySeconds":{}}}`, "")
		writers := pick(x.random, [][]string{nil, {"my-operator"}, {ownership.AnyWriter}})
		return x.rule(ownership.Rule{Writers: writers, Edit: ownership.EditApply}, 1, field.String())
	},
	panics: func(x *hostile) bool {
		if x.owner == byRule {
			return false // a rule about the scale field may be lost with the others
		}
		x.entry("my-operator", "Update", ofContainer(`{"f:resources":{}}`), "other")
		return x.rule(ownership.Rule{Selector: brokenSelector{}}, 1, ".spec.template.spec.containers[*].resources")
	},
	"no Event recorder, or one that panics": func(x *hostile) bool {
		x.Events = pick(x.random, []events.EventRecorder{nil, panickingRecorder{}})
		return true
	},
	"a stale default that contradicts": func(x *hostile) bool {
		if x.is["kind"] != "Deployment" {
			return false
		}
		x.others = true
		x.set(map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}, "spec", "strategy", "rollingUpdate")
		document.Set(x.is, pathOf("spec", "strategy", "type"), "Recreate")
		return true
	},
	"requests over limits": func(x *hostile) bool {
		container := func(cpu, limit string) []any {
			return []any{map[string]any{"name": "app", "image": "app:1", "resources": map[string]any{
				"requests": map[string]any{"cpu": cpu}, "limits": map[string]any{"cpu": limit},
			}}}
		}
		document.Set(x.was, pathOf("spec", "template", "spec", "containers"), container("9", "10"))
		document.Set(x.is, pathOf("spec", "template", "spec", "containers"), container("1", "2"))
		x.entry("vpa", "Update", ofContainer(`{"f:resources":{"f:requests":{"f:cpu":{}}}}`), "")
		return x.rule(ownership.Rule{}, 1, ".spec.template.spec.containers[*].resources.requests")
	},
	"odd conditions": func(x *hostile) bool {
		x.others = true
		guarded := func(message any) any {
			return map[string]any{"conditions": []any{map[string]any{"type": "ownership-handoff.io/guarded", "message": message}}}
		}
		x.set(pick(x.random, []any{
			map[string]any{"conditions": "x"}, map[string]any{"conditions": []any{nil, 1}}, []any{}, guarded("replicas=-1"), guarded([]any{}),
		}), "status")
		return true
	},
	"a deep object": func(x *hostile) bool {
		x.set(json.RawMessage(nested(pick(x.random, []int{120, 200, 9_000}), "deep", "", `"x"`)), "spec", "deep")
		return true
	},
	// Not where kubectl diff sends this for another manifest: it leaves the annotation as it is.
	"a dry run": func(x *hostile) bool {
		if lastAppliedIn(x.was) == lastAppliedIn(x.is) && !x.owned {
			return false
		}
		x.request["dryRun"] = true
		return true
	},
	// It has to be found by the entry that the write has updated.
	"no field manager in the request": func(x *hostile) bool {
		was := encode(entriesOf(x.was))
		for _, e := range entriesOf(x.is) {
			if e["manager"] == x.manager && e["operation"] == "Update" && !strings.Contains(was, encode(e)) {
				document.Remove(x.request, pathOf("options", "fieldManager"))
				return true
			}
		}
		return false
	},
	"no uid and namespace in metadata": func(x *hostile) bool {
		for _, object := range []map[string]any{x.was, x.is} {
			document.Remove(object, pathOf("metadata", "uid"))
			document.Remove(object, pathOf("metadata", "namespace"))
		}
		return true
	},
}

// set sets a field of live and incoming.
func (x *hostile) set(value any, path ...any) {
	document.Set(x.was, pathOf(path...), value)
	document.Set(x.is, pathOf(path...), value)
}

// brokenManifest returns a last-applied configuration that is none of this object.
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
		return `{"spec":{"x":` + nested(9_900, "a", "", "1") + "}}"
	default:
		return `{"spec":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`
	}
}

// entry adds a managedFields entry to both objects, given its fields and subresource.
func (x *hostile) entry(manager, operation, fields, subresource string) {
	x.entryText(strings.Replace(entry(manager, operation, early, fields, subresource), "apps/v1", fmt.Sprint(x.is["apiVersion"]), 1))
}

func (x *hostile) entryText(text string) {
	for _, object := range []map[string]any{x.was, x.is} {
		all, _ := document.Get(object, pathOf("metadata", "managedFields"))
		list, _ := all.([]any)
		document.Set(object, pathOf("metadata", "managedFields"), slices.Insert(slices.Clone(list), len(text)%(len(list)+1), any(json.RawMessage(text))))
	}
}

// everything matches the scale field as well as all others.
func (x *hostile) everything() []string {
	if x.owner != byRule {
		return nil
	}
	return []string{".*", ".spec", ".spec.*", ".*.*"}
}

// rule adds a rule with some of the patterns.
func (x *hostile) rule(rule ownership.Rule, most int, texts ...string) bool {
	x.others = true
	for range 1 + x.random.IntN(most) {
		rule.Fields = append(rule.Fields, fieldpattern.MustParse(pick(x.random, texts))...)
	}
	x.rules = append(x.rules, rule)
	return true
}

// brokenSelector is a selector that panics.
type brokenSelector struct{ labels.Selector }

// hashOf returns the hash of a value in ownership.AppliedAnnotation.
func hashOf(field fieldpath.Path, value int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", field, value))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// ofContainer returns the managed fields of a container.
func ofContainer(fields string) string {
	return `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":` + fields + `}}}}}`
}

type panickingRecorder struct{}

func (panickingRecorder) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {
	panic("the recorder is out of order")
}
