package webhook_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
)

// dimension is one way in which a review, or what it is decided by, can grow.
type dimension struct {
	// sizes are the smallest and the largest that are measured.
	from, to int
	body     func(n int) string
	// rules returns the rules of the handler; nil for none.
	rules func(n int) []ownership.Rule
	// keeps reports whether the smallest review must be patched or warned about: a handler that gives up on all of them proves nothing.
	keeps bool
	// outside reports that what grows is not in the body, or is the smaller part of it: the cost is compared with n, and memory
	// with nothing.
	outside bool
}

// grown is an apply of a ConfigMap that grows, as the API server writes it.
type grown struct {
	// was are the members of the object before it, is those after it, as JSON without braces. A value "V" is "1" in the base and "2"
	// in live.
	was, is string
	// base and manifest are those of last-applied, where these are others.
	base, manifest string
	// before and after are the managedFields entries in live and incoming, beside that with the annotation last-applied.
	before, after []string
	annotations   map[string]string
	metadata      string // of live, with a comma before it
	serverSide    bool   // without last-applied
	manager       string // of the write, where it is not kubectl apply
}

func (g grown) body() string {
	manager := cmp.Or(g.manager, csa)
	if g.serverSide {
		manager = "flux"
	}
	live := g.object(strings.ReplaceAll(g.was, `"V"`, `"2"`), cmp.Or(g.base, strings.ReplaceAll(g.was, `"V"`, `"1"`)), g.metadata, early, g.before)
	gvk := `{"group":"","version":"v1","kind":"ConfigMap"}`
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"review-uid","kind":` + gvk +
		`,"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{"username":"me"},"object":` + g.object(g.is, cmp.Or(g.manifest, g.is), "", late, g.after) +
		`,"oldObject":` + live + `,"dryRun":false,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":` + strconv.Quote(manager) + `}}}`
}

func (g grown) object(members, applied, metadata, at string, entries []string) string {
	annotations := maps.Clone(g.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if !g.serverSide {
		annotations[lastApplied] = "{" + applied + "}"
		entries = append([]string{entry(csa, "Update", at, `{"f:metadata":{"f:annotations":{"f:`+lastApplied+`":{}}}}`, "")}, entries...)
	}
	if members != "" {
		members = "," + members
	}
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop","labels":{"` + optin.Label + `":"enforce"},"annotations":` + encode(annotations) +
		metadata + `,"managedFields":[` + strings.ReplaceAll(strings.Join(entries, ","), `"apiVersion":"apps/v1"`, `"apiVersion":"v1"`) + `]}` + members + `}`
}

// drops is an apply that drops what a person has changed.
func drops(was, is, fields string) grown {
	return grown{was: was, is: is, before: []string{entry("kubectl-edit", "Update", early, fields, "")}}
}

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

// keyed returns the member data with n keys, managedKeys the fields of these keys.
func keyed(n int, value string) string {
	return `"data":{` + joined(n, func(i int) string { return fmt.Sprintf(`"key%05d":%s`, i, value) }) + "}"
}

func managedKeys(n int) string {
	return `{"f:data":{` + joined(n, func(i int) string { return fmt.Sprintf(`"f:key%05d":{}`, i) }) + "}}"
}

func same(value string) func(int) string { return func(int) string { return value } }

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

func dimensions() map[string]dimension {
	all := map[string]dimension{}
	for _, some := range []map[string]dimension{
		deepDimensions(), keyDimensions(), entryDimensions(), patternDimensions(), ruleDimensions(), atomicDimensions(), listDimensions(), valueDimensions(), productDimensions(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// deepDimensions nest up to what the API server decodes, which is 10,000 levels.
func deepDimensions() map[string]dimension {
	deep := func(n int, innermost string) string { return `"x":` + nested(n, "a", "", innermost) }
	managed := func(n int, beside, innermost string) string {
		return `{"f:x":` + nested(n, "f:a", beside, innermost) + `}`
	}
	// A field is dropped, and its n parents stay in the manifest.
	droppedField := func(n int) string {
		return drops(deep(n, `{"k":"V"}`), deep(n, `{}`), managed(n, "", `{"f:k":{}}`)).body()
	}
	return map[string]dimension{
		"depth of the base":     {from: 600, to: 9600, body: func(n int) string { return grown{base: deep(n, "1")}.body() }},
		"depth of the manifest": {from: 600, to: 9600, body: func(n int) string { return grown{manifest: deep(n, "1")}.body() }},
		"depth and size of last-applied, at a write of a manager that no list names": {from: 600, to: 9600, body: func(n int) string {
			manifest, fields := `"x":`+nested(n, "a", "", strconv.Quote(strings.Repeat("z", 20*n))), `{"f:data":{"f:k":{}}}`
			return grown{
				was: `"data":{"k":"1"}`, is: `"data":{"k":"2"}`, base: manifest, manifest: manifest, manager: "unlisted",
				before: []string{entry("unlisted", "Update", early, fields, "")}, after: []string{entry("unlisted", "Update", late, fields, "")},
			}.body()
		}},
		"depth of base and manifest, which differ at the bottom": {from: 600, to: 9600, body: func(n int) string {
			return grown{base: deep(n, `{"x":1}`), manifest: deep(n, `{}`)}.body()
		}},
		"depth of base and manifest, which differ at each level": {from: 600, to: 9600, body: func(n int) string {
			return grown{base: `"x":` + nested(n, "a", `"k":1,`, "1"), manifest: `"x":` + nested(n, "a", `"k":2,`, "1")}.body()
		}},
		"depth of a dropped field whose parents leave the manifest": {from: 600, to: 9600, body: func(n int) string {
			return drops(deep(n, `"V"`), "", managed(n, "", "{}")).body()
		}},
		"depth of a kept field whose parents stay":                              {from: 15, to: 120, outside: true, keeps: true, body: droppedField},
		"depth of a dropped field whose parents stay, beyond what is looked at": {from: 600, to: 9600, body: droppedField},
		"depth, with a kept field at each level": {from: 100, to: 1600, keeps: true, body: func(n int) string {
			return drops(`"x":`+nested(n, "a", `"k":"V",`, `1`), `"x":`+nested(n, "a", ``, `1`), managed(n, `"f:k":{},`, `{}`)).body()
		}},
		"depth of managedFields": {from: 600, to: 9600, keeps: true, body: func(n int) string {
			of := `"f:y":` + nested(n, "f:a", "", "{}") + `}`
			g := drops(`"x":"V"`, "", `{"f:x":{},`+of)
			g.after = []string{entry("kubectl-edit", "Update", early, "{"+of, "")}
			return g.body()
		}},
	}
}

// controlled is a review in which a controller owns keys of data, by an annotation with paths.
func controlled(keys int, paths string) string { return controlledBut(keys, paths, "") }

// controlledBut is controlled with recorded values.
func controlledBut(keys int, paths, recorded string) string {
	annotations := map[string]string{}
	if paths != "" {
		annotations[ownership.ControllerFieldsAnnotation] = paths
	}
	if recorded != "" {
		annotations[ownership.AppliedAnnotation] = recorded
	}
	return grown{
		was: keyed(keys, `"V"`), is: keyed(keys, `"1"`), annotations: annotations,
		before: []string{entry("my-operator", "Update", early, managedKeys(keys), "")}, after: []string{entry(csa, "Update", late, managedKeys(keys), "")},
	}.body()
}

func keyDimensions() map[string]dimension {
	dropped := func(is string) func(n int) string {
		return func(n int) string { return drops(keyed(n, `"V"`), is, managedKeys(n)).body() }
	}
	return map[string]dimension{
		"dropped keys": {from: 500, to: 8000, keeps: true, body: dropped(`"data":{}`)},
		"dropped keys whose parent leaves the manifest":   {from: 500, to: 8000, keeps: true, body: dropped("")},
		"keys that nobody drops":                          {from: 500, to: 8000, body: func(n int) string { return drops(keyed(n, `"V"`), keyed(n, `"1"`), managedKeys(n)).body() }},
		"keys that a manifest sets and a controller owns": {from: 500, to: 8000, keeps: true, body: func(n int) string { return controlled(n, ".data.*") }},
		"keys that a server-side apply sets and a controller owns": {from: 500, to: 8000, keeps: true, body: func(n int) string {
			return grown{
				serverSide: true, annotations: map[string]string{ownership.ControllerFieldsAnnotation: ".data.*"}, was: keyed(n, `"V"`), is: keyed(n, `"1"`),
				before: []string{entry("my-operator", "Update", early, managedKeys(n), "")}, after: []string{entry("flux", "Apply", late, managedKeys(n), "")},
			}.body()
		}},
	}
}

func entryDimensions() map[string]dimension {
	const keys = 50
	body := func(n, keys int, fields func(i int) string) string {
		g := grown{was: keyed(keys, `"V"`), is: `"data":{}`}
		for i := range n {
			g.before = append(g.before, entry(fmt.Sprintf("person-%03d", i), "Update", early, fields(i), ""))
		}
		return g.body()
	}
	namespace := func(fields string, n int) string {
		owned := `{"manager":"m","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{` + fields + `,"f:` + optin.Label + `":{}}}}}`
		return namespaceReview("", "", `"labels":{"`+optin.Label+`":"x"},"managedFields":[`+joined(n, same(owned))+`]`)
	}
	return map[string]dimension{
		"entries that all manage the same fields": {from: 12, to: 192, keeps: true, body: func(n int) string { return body(n, keys, same(managedKeys(keys))) }},
		"entries that each manage a field":        {from: 48, to: 3072, keeps: true, body: func(n int) string { return body(n, n, numbered(`{"f:data":{"f:key%05d":{}}}`)) }},
		"entries that manage nothing": {from: 12, to: 192, keeps: true, body: func(n int) string {
			return body(n, keys, func(i int) string {
				if i == 0 {
					return managedKeys(keys)
				}
				return fmt.Sprintf(`{"f:data":{"f:other%05d":{}}}`, i)
			})
		}},
		"entries that look like the guard's": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			live, incoming := scaledBy7(), applied3().inMode("enforce")
			for i := range n {
				incoming.entries = append(incoming.entries, entry(fmt.Sprintf("scaler-%d", i), "Apply", early, managesReplicas, "scale"))
			}
			return update("my-operator", live, guarded(live, incoming)).body()
		}},
		"server-side appliers of replicas": {from: 250, to: 4000, body: func(n int) string {
			live, incoming, all := scaledBy7(), applied3().inMode("enforce"), make([]string, n) // Apply entries come first
			for i := range all {
				all[i] = entry(fmt.Sprintf("scaler-%d", i), "Apply", early, managesReplicas, "")
			}
			live.entries, incoming.entries = append(slices.Clip(all), live.entries...), append(slices.Clip(all), incoming.entries...)
			return update(csa, live, incoming).body()
		}},
		"fields of a namespace in reverse order, beside its label": {from: 2000, to: 32000, keeps: true, body: func(n int) string {
			return namespace(joined(n, func(i int) string { return fmt.Sprintf(`"f:a%05d":{}`, n-i) }), 1)
		}},
		"entries of a namespace with its label": {from: 250, to: 4000, keeps: true, body: func(n int) string { return namespace(`"f:a":{}`, n) }},
	}
}

func patternDimensions() map[string]dimension {
	const keys = 50
	paths := func(pattern func(i int) string) func(n int) string {
		return func(n int) string { return controlled(keys, joined(n, pattern)) }
	}
	one := func(begin, repeated string) func(n int) string {
		return func(n int) string { return controlled(keys, begin+strings.Repeat(repeated, n)) }
	}
	return map[string]dimension{
		"paths of controller-fields": {from: 1000, to: 16000, body: paths(numbered(".data.other%05d"))},
		"paths of controller-fields, each of a key": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			return controlled(n, joined(n, numbered(".data.key%05d")))
		}},
		"indexes in one path of controller-fields":   {from: 5000, to: 80000, body: one(".a", "[0]")},
		"names in one path of controller-fields":     {from: 5000, to: 80000, body: one("", ".a")},
		"wildcards in one path of controller-fields": {from: 5000, to: 80000, body: one(".data", ".*")},
		"equal patterns with a wildcard":             {from: 1000, to: 16000, keeps: true, body: paths(same(".data.*"))},
		"equal patterns with several wildcards":      {from: 1000, to: 16000, body: paths(same(".data.*.*.*"))},
		"patterns that wildcards lead":               {from: 500, to: 8000, body: paths(numbered(".*.*.*.x%d"))},
		"patterns with a wildcard, and keys":         {from: 250, to: 4000, keeps: true, body: func(n int) string { return controlled(n, joined(n, same(".data.*"))) }},
	}
}

// editableData is a rule for data whose manifest can set new values.
func editableData() ownership.Rule {
	return ownership.Rule{
		Fields: fieldpattern.MustParse(".data"), Writers: []string{ownership.AnyWriter}, Edit: ownership.EditApply,
	}
}

func ruleDimensions() map[string]dimension {
	const keys = 50
	rules := func(pattern func(i int) string) func(n int) []ownership.Rule {
		return func(n int) []ownership.Rule {
			all := make([]ownership.Rule, n)
			for i := range all {
				all[i] = ownership.Rule{Kinds: []schema.GroupKind{{Kind: "ConfigMap"}}, Fields: fieldpattern.MustParse(pattern(i))}
			}
			return all
		}
	}
	editable := func(int) []ownership.Rule { return []ownership.Rule{editableData()} }
	recorded := func(text func(n int) string) dimension {
		return dimension{from: 500, to: 8000, keeps: true, rules: editable, body: func(n int) string { return controlledBut(keys, "", text(n)) }}
	}
	body := func(int) string { return controlled(keys, "") }
	return map[string]dimension{
		"fields of a rule that remembers values": {from: 500, to: 8000, keeps: true, rules: editable, body: func(n int) string { return controlled(n, "") }},
		"recorded values": recorded(func(n int) string {
			return `{` + joined(n, numbered(`".data.key%05d":{"`+csa+`":"Z3DoyzsKJt_b"}`)) + `}`
		}),
		"recorded managers":              recorded(func(n int) string { return `{".data.key00001":{` + joined(n, numbered(`"m%d":"x"`)) + "}}" }),
		"a record that is nested deeply": recorded(func(n int) string { return strings.Repeat(`{"a":`, n) }),
		"rules that fit":                 {from: 64, to: 1024, outside: true, keeps: true, body: body, rules: rules(same(".data.*"))},
		"rules of one field":             {from: 64, to: 1024, outside: true, keeps: true, body: body, rules: rules(numbered(".data.key%05d"))},
	}
}

// atomic is a write of an atomic field of which a controller owns what paths name. "V" is what it changes.
func atomic(list, paths string) string {
	const fields = `{"f:data":{"f:list":{}}}`
	return grown{
		was: `"data":{"list":` + list + `}`, is: `"data":{"list":` + strings.ReplaceAll(list, `"V"`, `"1"`) + `}`,
		before:      []string{entry("my-operator", "Update", early, fields, "")},
		after:       []string{entry(csa, "Update", late, fields, "")},
		annotations: map[string]string{ownership.ControllerFieldsAnnotation: paths},
	}.body()
}

// productDimensions grow in two ways at the same time, of which each alone costs nothing.
func productDimensions() map[string]dimension {
	volumes := func(n int, more string) string {
		return `"spec":{"template":{"spec":{"volumes":[` + joined(n, func(i int) string { return fmt.Sprintf(`{"name":"v%d","emptyDir":{}%s}`, i, more) }) + `]}}}`
	}
	return map[string]dimension{
		"fields of an element with a long key": {from: 250, to: 2000, body: func(n int) string {
			key, fields := strings.Repeat("x", 100*n), joined(n, numbered(`"f%04d":"V"`))
			g := drops(`"spec":{"items":[{"name":"`+key+`",`+fields+`}]}`, `"spec":{"items":[{"name":"`+key+`"}]}`,
				`{"f:spec":{"f:items":{`+encode(`k:{"name":"`+key+`"}`)+`:{`+joined(n, numbered(`"f:f%04d":{}`))+`}}}}`)
			g.base, g.manifest = `"spec":{}`, `"spec":{}`
			return g.body()
		}},
		"fields of an element with a long key, in another API version": {from: 250, to: 2000, keeps: true, body: func(n int) string {
			element := encode(`k:{"name":"` + strings.Repeat("x", 100*n) + `"}`)
			g := grown{was: `"data":{"k":"V"}`, is: `"data":{"k":"1"}`, after: []string{entry(csa, "Update", late, `{"f:data":{"f:k":{}}}`, "")}}
			g.before = []string{entry("my-operator", "Update", early, `{"f:spec":{"f:items":{`+element+`:{`+joined(n, numbered(`"f:f%04d":{}`))+`}}}}`, "")}
			g.annotations = map[string]string{ownership.ControllerFieldsAnnotation: ".data.k"}
			return strings.Replace(g.body(), `"manager":"my-operator","operation":"Update","apiVersion":"v1"`, `"manager":"my-operator","operation":"Update","apiVersion":"v2"`, 1)
		}},
		"names that paths give an element with a long key": {from: 250, to: 2000, keeps: true, body: func(n int) string {
			return atomic(`[{"a":"`+strings.Repeat("x", 100*n)+`","w":"V"}]`, joined(n, numbered(`.data.list[a=*,b%05d=*].w`)))
		}},
		"keys of elements, and names that paths give them": {from: 60, to: 960, body: func(n int) string {
			g := drops(`"a":"V"`, `"a":"1"`, `{"f:a":{`+joined(4*n, func(i int) string { return encode(fmt.Sprintf(`k:{"a":%d}`, i)) + ":{}" })+`}}`)
			g.annotations = map[string]string{ownership.ControllerFieldsAnnotation: joined(n, numbered(`.a[x%d=*].b`))}
			return g.body()
		}},
		"elements that a path covers, names that paths give them, and entries": {from: 100, to: 800, body: func(n int) string {
			set := `{"f:a":{` + joined(4*n, func(i int) string { return encode(fmt.Sprintf(`k:{"a":%d}`, i)) + ":{}" }) + `}}`
			g := grown{serverSide: true, was: `"data":{"k":"1"}`, is: `"data":{"k":"2"}`, after: []string{entry("flux", "Apply", late, `{"f:data":{"f:k":{}}}`, "")}}
			g.annotations = map[string]string{ownership.ControllerFieldsAnnotation: joined(n, numbered(`.a[x%d=*].b`)) + ",.a[*],.data.k"}
			for i := range 8 {
				g.before = append(g.before, entry(fmt.Sprintf("m%d", i), "Apply", early, set, ""))
			}
			g.after = append(slices.Clip(g.before), g.after...)
			return g.body()
		}},
		"elements of an atomic list, and entries that manage it": {from: 125, to: 2000, body: func(n int) string {
			list := "[" + joined(n, func(i int) string { return fmt.Sprintf(`{"a":%d,"w":"V"}`, i) }) + "]"
			g := grown{was: `"data":{"list":` + list + `}`, is: `"data":{"list":` + strings.ReplaceAll(list, `"V"`, `"1"`) + `}`}
			g.annotations, g.after = map[string]string{ownership.ControllerFieldsAnnotation: ".data.list[a=*].w"}, []string{entry(csa, "Update", late, `{"f:data":{"f:list":{}}}`, "")}
			for i := range n {
				g.before = append(g.before, entry(fmt.Sprintf("op-%05d", i), "Apply", early, `{"f:data":{"f:list":{}}}`, ""))
			}
			return g.body()
		}},
		"volumes with stale defaults, and entries": {from: 125, to: 2000, keeps: true, body: func(n int) string {
			g := grown{serverSide: true, was: volumes(n, ""), is: volumes(n, `,"hostPath":{"path":"/"}`)}
			for i := range n {
				g.before = append(g.before, entry(fmt.Sprintf("m%d", i), "Apply", early, `{"f:metadata":{"f:labels":{"f:a":{}}}}`, ""))
			}
			g.after = append(slices.Clip(g.before), entry("flux", "Apply", late, `{"f:spec":{"f:template":{"f:spec":{"f:volumes":{`+joined(n, func(i int) string {
				return encode(fmt.Sprintf(`k:{"name":"v%d"}`, i)) + `:{".":{},"f:name":{},"f:hostPath":{"f:path":{}}}`
			})+`}}}}}`, ""))
			return strings.NewReplacer(`"ConfigMap"`, `"Deployment"`, `"group":""`, `"group":"apps"`).Replace(g.body())
		}},
	}
}

func atomicDimensions() map[string]dimension {
	elements := func(n int, name func(i int) string) string {
		return "[" + joined(n, func(i int) string { return fmt.Sprintf(`{"to":{"name":%q},"weight":"V"}`, name(i)) }) + "]"
	}
	each := numbered("n%05d")
	weights := func(keeps bool, name func(i int) string, paths func(n int) string) dimension {
		return dimension{from: 250, to: 4000, keeps: keeps, body: func(n int) string { return atomic(elements(n, name), paths(n)) }}
	}
	ofEach := func(format string) func(n int) string {
		return func(n int) string { return joined(n, numbered(format)) }
	}
	const byName = ".data.list[to.name=*].weight"
	return map[string]dimension{
		"elements of an atomic list":                           weights(true, each, same(byName)),
		"elements of an atomic list of the same name":          weights(true, same("a"), same(byName)),
		"elements of an atomic list that have no name":         weights(true, each, same(".data.list[*].weight")),
		"elements of an atomic list that paths name":           weights(true, each, ofEach(`.data.list[to.name="n%05d"].weight`)),
		"names that paths give the elements of an atomic list": weights(false, each, ofEach(`.data.list[n%05d=*].weight`)),
		"keys of an atomic map": {from: 250, to: 4000, keeps: true, body: func(n int) string {
			return atomic(strings.TrimPrefix(keyed(n, `"V"`), `"data":`), ".data.list.*")
		}},
		"depth of an atomic field": {from: 250, to: 4000, body: func(n int) string {
			return atomic(strings.Repeat(`[`, n)+`"V"`+strings.Repeat("]", n), ".data.list"+strings.Repeat("[*]", n))
		}},
		"lists in an atomic list, of which paths name elements": {from: 60, to: 960, body: func(n int) string {
			return atomic("["+joined(n, same(elements(1, each)))+"]", joined(n, numbered(`.data.list[*][to.name="n%05d"].weight`)))
		}},
	}
}

func listDimensions() map[string]dimension {
	// Elements with a key, and another field that is dropped.
	list := func(key, field string, nth func(i int) string) dimension {
		return dimension{from: 250, to: 4000, keeps: true, body: func(n int) string {
			items := func(more string) string {
				return `"spec":{"items":[` + joined(n, func(i int) string { return fmt.Sprintf(`{%q:%s%s}`, key, nth(i), more) }) + `]}`
			}
			return drops(items(`,"`+field+`":"V"`), items(""), `{"f:spec":{"f:items":{`+joined(n, func(i int) string {
				return encode("k:{"+encode(key)+":"+nth(i)+"}") + `:{"f:` + field + `":{}}`
			})+`}}}`).body()
		}}
	}
	name := numbered(`"name-%05d"`)
	return map[string]dimension{
		"containers": list("name", "imagePullPolicy", name),
		"env":        list("name", "value", name),
		"ports":      list("containerPort", "name", strconv.Itoa),
		"volumes":    list("name", "medium", name),
		"fields of the key of an element": {from: 60, to: 960, keeps: true, body: func(n int) string {
			key := joined(n, numbered(`"k%05d":"1"`))
			return drops(`"spec":{"items":[{`+key+`,"x":"V"}]}`, `"spec":{"items":[{`+key+`}]}`, `{"f:spec":{"f:items":{`+encode("k:{"+key+"}")+`:{"f:x":{}}}}}`).body()
		}},
	}
}

func valueDimensions() map[string]dimension {
	one := func(from int, value func(n int) string) dimension {
		return dimension{from: from, to: 16 * from, keeps: true, body: func(n int) string {
			g := drops(`"data":{"k":`+value(n)+`}`, `"data":{}`, `{"f:data":{"f:k":{}}}`)
			g.base = `"data":{"k":"1"}`
			return g.body()
		}}
	}
	return map[string]dimension{
		"length of a kept value":          one(40_000, func(n int) string { return encode(strings.Repeat("x", n)) }),
		"length of an escaped kept value": one(20_000, func(n int) string { return encode(strings.Repeat("\"\n<", n)) }),
		"length of a kept list":           one(20_000, func(n int) string { return "[" + joined(n, same("1")) + "]" }),
		"length of an unrelated value in last-applied": {from: 20_000, to: 320_000, keeps: true, body: func(n int) string {
			long := `,"z":` + encode(strings.Repeat("\"é\n", n/4))
			g := drops(`"data":{"k":"V"}`, `"data":{}`, `{"f:data":{"f:k":{}}}`)
			g.base, g.manifest = `"data":{"k":"1"}`+long, `"data":{}`+long
			return g.body()
		}},
		"values of a set": {from: 250, to: 4000, body: func(n int) string {
			finalizers := `"finalizers":[` + joined(n, numbered(`"example.com/f%05d"`)) + "]"
			values := joined(n, func(i int) string { return encode(fmt.Sprintf(`v:"example.com/f%05d"`, i)) + ":{}" })
			g := drops("", "", `{"f:metadata":{"f:finalizers":{`+values+`}}}`)
			g.base, g.metadata = `"metadata":{`+finalizers+`}`, ","+finalizers
			return g.body()
		}},
	}
}
