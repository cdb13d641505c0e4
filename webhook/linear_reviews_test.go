package webhook_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// dimension is one way in which a review, or what it is decided by, can grow.
type dimension struct {
	// sizes are the smallest and the largest that are measured.
	from, to int
	body     func(n int) string
	// rules returns the rules of the handler; nil for none.
	rules func(tb testing.TB, n int) []ownership.Rule
	// keeps reports whether the smallest review must be patched or warned about: a handler that gives up on all of them proves nothing.
	keeps bool
	// outside reports that what grows is not in the body, or is the smaller part of it: the cost is compared with n, and memory
	// with nothing.
	outside bool
}

// grown is a ConfigMap of a review that grows, as the API server writes it. Empty members are left out.
type grown struct {
	live, incoming     string // members of the object, as JSON without braces
	base, manifest     string // last-applied; for a server-side apply none
	liveEntries        []string
	incomingEntries    []string
	controllerFields   string
	applied            string // ownership.AppliedAnnotation of live and incoming
	manager, finalizer string
}

func (g grown) body() string {
	manager := g.manager
	if manager == "" {
		manager = csa
	}
	return updateOf("", "v1", "ConfigMap", manager,
		g.object(g.live, g.base, g.liveEntries), g.object(g.incoming, g.manifest, g.incomingEntries))
}

func (g grown) object(members, applied string, entries []string) string {
	annotations := map[string]string{}
	if applied != "" {
		annotations[lastApplied] = applied
	}
	if g.controllerFields != "" {
		annotations[ownership.ControllerFieldsAnnotation] = g.controllerFields
	}
	if g.applied != "" {
		annotations[ownership.AppliedAnnotation] = g.applied
	}
	if members != "" {
		members = "," + members
	}
	finalizers := ""
	if strings.Contains(members, finalizersMark) {
		finalizers, members = g.finalizer, strings.Replace(members, ","+finalizersMark, "", 1)
	}
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop","labels":{"` + ownership.ModeLabel + `":"enforce"},"annotations":` + encode(annotations) +
		finalizers + `,"managedFields":[` + strings.ReplaceAll(strings.Join(entries, ","), `"apiVersion":"apps/v1"`, `"apiVersion":"v1"`) +
		`]}` + members + `}`
}

// finalizersMark stands among the members of an object that has the finalizers.
const finalizersMark = `"finalizers"`

// appliedFields is the entry of client-side apply.
func appliedFields(at string) string {
	return entry(csa, "Update", at, `{"f:metadata":{"f:annotations":{"f:`+lastApplied+`":{}}}}`, "")
}

// edited is an entry of a person.
func edited(fields string) string { return entry("kubectl-edit", "Update", early, fields, "") }

// joined writes n members or elements with commas between them.
func joined(n int, element func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = element(i)
	}
	return strings.Join(parts, ",")
}

// nested returns a value n levels deep; at each level a name, and what stands beside it.
func nested(n int, name, beside, innermost string) string {
	return strings.Repeat(`{`+beside+strconv.Quote(name)+`:`, n) + innermost + strings.Repeat("}", n)
}

func members(name, value string) string { return strconv.Quote(name) + ":" + value }

// keyed returns an object with n keys.
func keyed(n int, value func(i int) string) string {
	return "{" + joined(n, func(i int) string { return fmt.Sprintf(`"key%05d":%s`, i, value(i)) }) + "}"
}

func managedKeys(n int) string {
	return "{" + joined(n, func(i int) string { return fmt.Sprintf(`"f:key%05d":{}`, i) }) + "}"
}

func same(value string) func(int) string { return func(int) string { return value } }

func dimensions() map[string]dimension {
	all := map[string]dimension{}
	for _, some := range []map[string]dimension{
		deepDimensions(), keyDimensions(), entryDimensions(), patternDimensions(), ruleDimensions(), atomicDimensions(), listDimensions(), valueDimensions(),
	} {
		for sentence, d := range some {
			all[sentence] = d
		}
	}
	return all
}

// deepDimensions nest up to what the API server decodes, which is 10,000 levels.
func deepDimensions() map[string]dimension {
	deep := func(n int, innermost string) string { return nested(n, "a", "", innermost) }
	entries := []string{appliedFields(early)}
	// A field is dropped, and its n parents stay in the manifest.
	droppedField := func(n int) string {
		return grown{
			base: members("x", deep(n, `{"k":1}`)), live: members("x", deep(n, `{"k":2}`)),
			manifest: members("x", deep(n, `{}`)), incoming: members("x", deep(n, `{}`)),
			liveEntries:     []string{appliedFields(early), edited(`{"f:x":` + nested(n, "f:a", "", `{"f:k":{}}`) + `}`)},
			incomingEntries: []string{appliedFields(late)},
		}.braced().body()
	}
	return map[string]dimension{
		"depth of the base": {from: 600, to: 9600, body: func(n int) string {
			return grown{base: deep(n, "1"), manifest: "{}", liveEntries: entries, incomingEntries: entries}.body()
		}},
		"depth of the manifest": {from: 600, to: 9600, body: func(n int) string {
			return grown{base: "{}", manifest: deep(n, "1"), liveEntries: entries, incomingEntries: entries}.body()
		}},
		"depth of base and manifest, which differ at the bottom": {from: 600, to: 9600, body: func(n int) string {
			return grown{base: deep(n, `{"x":1}`), manifest: deep(n, `{}`), liveEntries: entries, incomingEntries: entries}.body()
		}},
		"depth of base and manifest, which differ at each level": {from: 600, to: 9600, body: func(n int) string {
			return grown{
				base: nested(n, "a", `"k":1,`, "1"), manifest: nested(n, "a", `"k":2,`, "1"), liveEntries: entries, incomingEntries: entries,
			}.body()
		}},
		"depth of a dropped field whose parents leave the manifest": {from: 600, to: 9600, body: func(n int) string {
			return grown{
				base: members("x", deep(n, `1`)), live: members("x", deep(n, `2`)), manifest: `{}`,
				liveEntries:     []string{appliedFields(early), edited(`{"f:x":` + nested(n, "f:a", "", "{}") + `}`)},
				incomingEntries: []string{appliedFields(late)},
			}.braced().body()
		}},
		"depth of a kept field whose parents stay":                              {from: 15, to: 120, outside: true, keeps: true, body: droppedField},
		"depth of a dropped field whose parents stay, beyond what is looked at": {from: 600, to: 9600, body: droppedField},
		"depth, with a kept field at each level": {from: 100, to: 1600, keeps: true, body: func(n int) string {
			return grown{
				base: members("x", nested(n, "a", `"k":1,`, `1`)), live: members("x", nested(n, "a", `"k":2,`, `1`)),
				manifest: members("x", nested(n, "a", ``, `1`)), incoming: members("x", nested(n, "a", ``, `1`)),
				liveEntries:     []string{appliedFields(early), edited(`{"f:x":` + nested(n, "f:a", `"f:k":{},`, `{}`) + `}`)},
				incomingEntries: []string{appliedFields(late)},
			}.braced().body()
		}},
		"depth of managedFields": {from: 600, to: 9600, keeps: true, body: func(n int) string {
			return grown{
				base: members("x", `1`), live: members("x", `2`), manifest: `{}`,
				liveEntries:     []string{appliedFields(early), edited(`{"f:x":{},"f:y":` + nested(n, "f:a", "", "{}") + `}`)},
				incomingEntries: []string{appliedFields(late), edited(`{"f:y":` + nested(n, "f:a", "", "{}") + `}`)},
			}.braced().body()
		}},
	}
}

// braced puts the braces around base and manifest, where they are members.
func (g grown) braced() grown {
	for _, text := range []*string{&g.base, &g.manifest} {
		if !strings.HasPrefix(*text, "{") {
			*text = "{" + *text + "}"
		}
	}
	return g
}

func keyDimensions() map[string]dimension {
	keys := func(n int, manager string, manifest, incoming string, incomingEntries ...string) grown {
		return grown{
			base: `{"data":` + keyed(n, same(`"1"`)) + `}`, live: members("data", keyed(n, same(`"2"`))), manifest: manifest, incoming: incoming,
			liveEntries:     []string{appliedFields(early), entry(manager, "Update", early, `{"f:data":`+managedKeys(n)+`}`, "")},
			incomingEntries: append([]string{appliedFields(late)}, incomingEntries...),
		}
	}
	applied := func(at, fields string) string { return entry("flux", "Apply", at, fields, "") }
	return map[string]dimension{
		"dropped keys": {from: 500, to: 8000, keeps: true, body: func(n int) string {
			return keys(n, "kubectl-edit", `{"data":{}}`, members("data", "{}")).body()
		}},
		"dropped keys whose parent leaves the manifest": {from: 500, to: 8000, keeps: true, body: func(n int) string {
			return keys(n, "kubectl-edit", `{}`, "").body()
		}},
		"keys that a manifest sets and a controller owns": {from: 500, to: 8000, keeps: true, body: func(n int) string {
			g := keys(n, "my-operator", `{"data":`+keyed(n, same(`"1"`))+`}`, members("data", keyed(n, same(`"1"`))),
				entry(csa, "Update", late, `{"f:data":`+managedKeys(n)+`}`, ""))
			g.controllerFields = ".data.*"
			return g.body()
		}},
		"keys that nobody drops": {from: 500, to: 8000, body: func(n int) string {
			return keys(n, "kubectl-edit", `{"data":`+keyed(n, same(`"1"`))+`}`, members("data", keyed(n, same(`"1"`)))).body()
		}},
		"keys that a server-side apply sets and a controller owns": {from: 500, to: 8000, keeps: true, body: func(n int) string {
			fields := `{"f:data":` + managedKeys(n) + `}`
			return grown{
				manager: "flux", controllerFields: ".data.*",
				live: members("data", keyed(n, same(`"2"`))), liveEntries: []string{entry("my-operator", "Update", early, fields, "")},
				incoming: members("data", keyed(n, same(`"1"`))), incomingEntries: []string{applied(late, fields)},
			}.body()
		}},
	}
}

func entryDimensions() map[string]dimension {
	const keys = 50
	people := func(n int, fields func(i int) string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = entry(fmt.Sprintf("person-%03d", i), "Update", early, `{"f:data":`+fields(i)+`}`, "")
		}
		return all
	}
	body := func(n, keys int, fields func(i int) string) string {
		return grown{
			base: `{"data":` + keyed(keys, same(`"1"`)) + `}`, live: members("data", keyed(keys, same(`"2"`))),
			manifest: `{"data":{}}`, incoming: members("data", "{}"),
			liveEntries: append(people(n, fields), appliedFields(early)), incomingEntries: []string{appliedFields(late)},
		}.body()
	}
	return map[string]dimension{
		"entries that all manage the same fields": {from: 12, to: 192, keeps: true, body: func(n int) string {
			return body(n, keys, same(managedKeys(keys)))
		}},
		"entries that each manage a field": {from: 48, to: 3072, keeps: true, body: func(n int) string {
			return body(n, n, func(i int) string { return fmt.Sprintf(`{"f:key%05d":{}}`, i) })
		}},
		"entries that look like the guard's": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			live, incoming := scaledBy7(), applied3().inMode("enforce")
			for i := range n {
				incoming.entries = append(incoming.entries, entry(fmt.Sprintf("scaler-%d", i), "Apply", early, managesReplicas, "scale"))
			}
			return update("my-operator", live, guarded(live, incoming)).body()
		}},
		"fields of a namespace in reverse order, beside its label": {from: 2000, to: 32000, keeps: true, body: func(n int) string {
			fields := make([]string, n)
			for i := range n {
				fields[i] = fmt.Sprintf(`"f:a%05d":{}`, n-i)
			}
			return namespaceReview("", "", `"labels":{"`+ownership.ModeLabel+`":"x"},"managedFields":[{"manager":"m","operation":"Update",`+
				`"fieldsV1":{"f:metadata":{"f:labels":{`+strings.Join(fields, ",")+`,"f:`+ownership.ModeLabel+`":{}}}}}]`)
		}},
		"entries of a namespace with its label": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			owned := `{"manager":"m","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{},"f:` + ownership.ModeLabel + `":{}}}}}`
			return namespaceReview("", "", `"labels":{"`+ownership.ModeLabel+`":"x"},"managedFields":[`+
				strings.TrimSuffix(strings.Repeat(owned+",", n), ",")+`]`)
		}},
		"entries that manage nothing": {from: 12, to: 192, keeps: true, body: func(n int) string {
			return body(n, keys, func(i int) string {
				if i == 0 {
					return managedKeys(keys)
				}
				return fmt.Sprintf(`{"f:other%05d":{}}`, i)
			})
		}},
	}
}

// controlled is a review in which a controller owns keys of data, by an annotation with paths.
func controlled(keys int, paths string) string { return controlledBut(keys, paths, "") }

// controlledBut is controlled with recorded values.
func controlledBut(keys int, paths, applied string) string {
	fields := `{"f:data":` + managedKeys(keys) + `}`
	return grown{
		base: `{"data":` + keyed(keys, same(`"1"`)) + `}`, live: members("data", keyed(keys, same(`"2"`))),
		manifest: `{"data":` + keyed(keys, same(`"1"`)) + `}`, incoming: members("data", keyed(keys, same(`"1"`))),
		liveEntries:      []string{appliedFields(early), entry("my-operator", "Update", early, fields, "")},
		incomingEntries:  []string{appliedFields(late), entry(csa, "Update", late, fields, "")},
		controllerFields: paths, applied: applied,
	}.body()
}

func patternDimensions() map[string]dimension {
	const keys = 50
	paths := func(pattern func(i int) string) func(n int) string {
		return func(n int) string { return controlled(keys, joined(n, pattern)) }
	}
	return map[string]dimension{
		"paths of controller-fields": {from: 1000, to: 16000, body: paths(func(i int) string { return fmt.Sprintf(".data.other%05d", i) })},
		"paths of controller-fields, each of a key": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			return controlled(n, joined(n, func(i int) string { return fmt.Sprintf(".data.key%05d", i) }))
		}},
		"indexes in one path of controller-fields": {from: 5000, to: 80000, body: func(n int) string {
			return controlled(keys, ".a"+strings.Repeat("[0]", n))
		}},
		"names in one path of controller-fields": {from: 5000, to: 80000, body: func(n int) string {
			return controlled(keys, strings.Repeat(".a", n))
		}},
		"wildcards in one path of controller-fields": {from: 5000, to: 80000, body: func(n int) string {
			return controlled(keys, ".data"+strings.Repeat(".*", n))
		}},
		"equal patterns with a wildcard":        {from: 1000, to: 16000, keeps: true, body: paths(same(".data.*"))},
		"equal patterns with several wildcards": {from: 1000, to: 16000, body: paths(same(".data.*.*.*"))},
		"patterns that wildcards lead": {from: 500, to: 8000, body: paths(func(i int) string {
			return fmt.Sprintf(".*.*.*.x%d", i)
		})},
		"patterns with a wildcard, and keys": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			return controlled(n, joined(n, same(".data.*")))
		}},
	}
}

func ruleDimensions() map[string]dimension {
	const keys = 50
	rules := func(pattern func(i int) string) func(testing.TB, int) []ownership.Rule {
		return func(tb testing.TB, n int) []ownership.Rule {
			tb.Helper()
			all := make([]ownership.Rule, n)
			for i := range all {
				parsed, err := ownership.ParsePattern(pattern(i))
				if err != nil {
					tb.Fatal(err)
				}
				all[i] = ownership.Rule{Kinds: []schema.GroupKind{{Kind: "ConfigMap"}}, Fields: []ownership.Pattern{parsed}}
			}
			return all
		}
	}
	editable := func(testing.TB, int) []ownership.Rule {
		return []ownership.Rule{{
			Fields: []ownership.Pattern{{{PathElement: fieldpath.FieldNameElement("data")}}}, Writers: []string{ownership.AnyWriter}, Edit: ownership.EditApply,
		}}
	}
	recorded := func(n int) string {
		return `{` + joined(n, func(i int) string { return fmt.Sprintf(`".data.key%05d":{"`+csa+`":"Z3DoyzsKJt_b"}`, i) }) + `}`
	}
	body := func(int) string { return controlled(keys, "") }
	return map[string]dimension{
		"fields of a rule that remembers values": {from: 500, to: 8000, keeps: true, rules: editable, body: func(n int) string { return controlled(n, "") }},
		"recorded values": {from: 500, to: 8000, keeps: true, rules: editable, body: func(n int) string {
			return controlledBut(keys, "", recorded(n))
		}},
		"recorded managers": {from: 500, to: 8000, keeps: true, rules: editable, body: func(n int) string {
			return controlledBut(keys, "", `{".data.key00001":{`+joined(n, func(i int) string { return fmt.Sprintf(`"m%d":"x"`, i) })+"}}")
		}},
		"a record that is nested deeply": {from: 1000, to: 16000, keeps: true, rules: editable, body: func(n int) string {
			return controlledBut(keys, "", strings.Repeat(`{"a":`, n))
		}},
		"rules that fit":     {from: 64, to: 1024, outside: true, keeps: true, body: body, rules: rules(same(".data.*"))},
		"rules of one field": {from: 64, to: 1024, outside: true, keeps: true, body: body, rules: rules(func(i int) string { return fmt.Sprintf(".data.key%05d", i) })},
	}
}

// atomic is a write of an atomic field of which a controller owns what paths name.
func atomic(live, incoming, paths string) string {
	const fields = `{"f:data":{"f:list":{}}}`
	data := func(list string) string { return `{"list":` + list + `}` }
	return grown{
		base: `{"data":` + data(incoming) + `}`, live: members("data", data(live)), manifest: `{"data":` + data(incoming) + `}`, incoming: members("data", data(incoming)),
		liveEntries:      []string{appliedFields(early), entry("my-operator", "Update", early, fields, "")},
		incomingEntries:  []string{appliedFields(late), entry(csa, "Update", late, fields, "")},
		controllerFields: paths,
	}.body()
}

func atomicDimensions() map[string]dimension {
	list := func(n int, name func(i int) string, weight int) string {
		return "[" + joined(n, func(i int) string { return fmt.Sprintf(`{"to":{"name":%q},"weight":%d}`, name(i), weight) }) + "]"
	}
	each := func(i int) string { return fmt.Sprintf("n%05d", i) }
	weights := func(name func(i int) string, paths func(n int) string) func(n int) string {
		return func(n int) string { return atomic(list(n, name, 1), list(n, name, 2), paths(n)) }
	}
	const byName = ".data.list[to.name=*].weight"
	return map[string]dimension{
		"elements of an atomic list":                   {from: 250, to: 4000, keeps: true, body: weights(each, same(byName))},
		"elements of an atomic list of the same name":  {from: 250, to: 4000, keeps: true, body: weights(same("a"), same(byName))},
		"elements of an atomic list that have no name": {from: 250, to: 4000, keeps: true, body: weights(each, same(".data.list[*].weight"))},
		"elements of an atomic list that paths name": {from: 250, to: 4000, keeps: true, body: weights(each, func(n int) string {
			return joined(n, func(i int) string { return `.data.list[to.name="` + each(i) + `"].weight` })
		})},
		"names that paths give the elements of an atomic list": {from: 250, to: 4000, body: weights(each, func(n int) string {
			return joined(n, func(i int) string { return `.data.list[` + each(i) + `=*].weight` })
		})},
		"keys of an atomic map": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			return atomic(keyed(n, same("1")), keyed(n, same("2")), ".data.list.*")
		}},
		"depth of an atomic field": {from: 250, to: 4000, body: func(n int) string {
			return atomic(strings.Repeat(`[`, n)+"1"+strings.Repeat("]", n), strings.Repeat(`[`, n)+"2"+strings.Repeat("]", n), ".data.list"+strings.Repeat("[*]", n))
		}},
		"lists in an atomic list, of which paths name elements": {from: 60, to: 960, body: func(n int) string {
			lists := func(weight int) string {
				return "[" + joined(n, func(int) string { return list(1, each, weight) }) + "]"
			}
			return atomic(lists(1), lists(2), joined(n, func(i int) string { return `.data.list[*][to.name="` + each(i) + `"].weight` }))
		}},
	}
}

func listDimensions() map[string]dimension {
	list := func(key, field string, nth func(i int) string) dimension {
		element := func(value string) func(i int) string {
			return func(i int) string {
				if value == "" {
					return fmt.Sprintf(`{%q:%s}`, key, nth(i))
				}
				return fmt.Sprintf(`{%q:%s,%q:%s}`, key, nth(i), field, value)
			}
		}
		return dimension{from: 250, to: 4000, keeps: true, body: func(n int) string {
			spec := func(value string) string { return `{"items":[` + joined(n, element(value)) + `]}` }
			fields := `{"f:spec":{"f:items":{` + joined(n, func(i int) string {
				return encode("k:{"+encode(key)+":"+nth(i)+"}") + `:{"f:` + field + `":{}}`
			}) + `}}}`
			return grown{
				base: `{"spec":` + spec(`"1"`) + `}`, live: members("spec", spec(`"2"`)),
				manifest: `{"spec":` + spec("") + `}`, incoming: members("spec", spec("")),
				liveEntries: []string{appliedFields(early), edited(fields)}, incomingEntries: []string{appliedFields(late)},
			}.body()
		}}
	}
	name := func(i int) string { return fmt.Sprintf(`"name-%05d"`, i) }
	// An element of a list has a key of n fields, and nothing else is dropped but x.
	wideKey := func(n int) string {
		key := joined(n, func(i int) string { return fmt.Sprintf(`"k%05d":"1"`, i) })
		spec := func(x string) string { return `{"items":[{` + key + x + `}]}` }
		fields := `{"f:spec":{"f:items":{` + encode("k:{"+key+"}") + `:{"f:x":{}}}}}`
		return grown{
			base: `{"spec":` + spec(`,"x":"1"`) + `}`, live: members("spec", spec(`,"x":"2"`)),
			manifest: `{"spec":` + spec("") + `}`, incoming: members("spec", spec("")),
			liveEntries: []string{appliedFields(early), edited(fields)}, incomingEntries: []string{appliedFields(late)},
		}.body()
	}
	return map[string]dimension{
		"fields of the key of an element": {from: 250, to: 8000, keeps: true, body: wideKey},

		"containers": list("name", "imagePullPolicy", name),
		"env":        list("name", "value", name),
		"ports":      list("containerPort", "name", strconv.Itoa),
		"volumes":    list("name", "medium", name),
	}
}

func valueDimensions() map[string]dimension {
	finalizers := func(n int) string {
		return "[" + joined(n, func(i int) string { return fmt.Sprintf(`"example.com/f%05d"`, i) }) + "]"
	}
	one := func(value func(n int) string) func(n int) string {
		return func(n int) string {
			return grown{
				base: `{"data":{"k":"1"}}`, live: `"data":{"k":` + value(n) + `}`, manifest: `{"data":{}}`, incoming: `"data":{}`,
				liveEntries: []string{appliedFields(early), edited(`{"f:data":{"f:k":{}}}`)}, incomingEntries: []string{appliedFields(late)},
			}.body()
		}
	}
	return map[string]dimension{
		"values of a set": {from: 250, to: 4000, body: func(n int) string {
			values := joined(n, func(i int) string { return encode(fmt.Sprintf(`v:"example.com/f%05d"`, i)) + ":{}" })
			return grown{
				base: `{"metadata":{"finalizers":` + finalizers(n) + `}}`, live: finalizersMark, manifest: `{}`,
				finalizer:       `,"finalizers":` + finalizers(n),
				liveEntries:     []string{appliedFields(early), edited(`{"f:metadata":{"f:finalizers":{` + values + `}}}`)},
				incomingEntries: []string{appliedFields(late)},
			}.body()
		}},
		"length of a kept value":          {from: 40_000, to: 640_000, keeps: true, body: one(func(n int) string { return encode(strings.Repeat("x", n)) })},
		"length of an escaped kept value": {from: 20_000, to: 320_000, keeps: true, body: one(func(n int) string { return encode(strings.Repeat("\"\n<", n)) })},
		"length of a kept list": {from: 20_000, to: 320_000, keeps: true, body: one(func(n int) string {
			return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]"
		})},
		"length of an unrelated value in last-applied": {from: 20_000, to: 320_000, keeps: true, body: func(n int) string {
			long, err := json.Marshal(strings.Repeat("\"é\n", n/4))
			if err != nil {
				panic(err)
			}
			return grown{
				base: `{"data":{"k":"1"},"z":` + string(long) + `}`, live: `"data":{"k":"2"}`, manifest: `{"data":{},"z":` + string(long) + `}`,
				incoming: `"data":{}`, liveEntries: []string{appliedFields(early), edited(`{"f:data":{"f:k":{}}}`)},
				incomingEntries: []string{appliedFields(late)},
			}.body()
		}},
	}
}
