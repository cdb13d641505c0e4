package fieldtree_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

// rounds is how many generated texts each property test tries.
const rounds = 4000

func newRandom(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // no secret is made of them
}

// choose returns a number below a limit.
type choose func(of int) int

// byChoices returns the numbers that bytes stand for; zeros after the last.
func byChoices(choices []byte) choose {
	return func(of int) int {
		if len(choices) == 0 {
			return 0
		}
		choice := int(choices[0])
		choices = choices[1:]
		return choice % of
	}
}

// generator writes JSON texts with keyed lists, sets, nested lists, escaped names and white space.
type generator struct {
	random *rand.Rand
	out    bytes.Buffer
	plain  bool // as encoding/json writes it: no white space, names in order, nothing escaped
}

func generated(random *rand.Rand, plain bool) []byte {
	g := generator{random: random, plain: plain}
	g.object(4, nil)
	return g.out.Bytes()
}

func (g *generator) space() {
	if !g.plain {
		g.out.WriteString([]string{"", "", "", " ", "\n\t"}[g.random.IntN(5)])
	}
}

func (g *generator) token(text string) {
	g.space()
	g.out.WriteString(text)
	g.space()
}

// name writes a string, with its first character escaped now and then.
func (g *generator) name(name string) {
	quoted, _ := json.Marshal(name) //nolint:errchkjson // a string can always be encoded
	if !g.plain && name != "" && name[0] < 0x80 && g.random.IntN(4) == 0 {
		rest, _ := json.Marshal(name[1:]) //nolint:errchkjson // likewise
		quoted = slices.Concat([]byte(`"\u00`), []byte(strconv.FormatInt(int64(name[0])|0x100, 16)[1:]), rest[1:])
	}
	g.token(string(quoted))
}

func (g *generator) value(depth int) {
	switch kind := g.random.IntN(7); {
	case depth == 0 || kind < 2:
		g.scalar()
	case kind < 4:
		g.object(depth-1, nil)
	case kind == 4:
		g.list(func() { g.keyed(depth - 1) })
	case kind == 5:
		g.list(g.scalar)
	default:
		g.list(func() { g.value(depth - 1) })
	}
}

func (g *generator) scalar() {
	scalars := []string{"0", "1", "-2", "1.5", `"a"`, `"b"`, `"TCP"`, `""`, `"1"`, "true", "null", "1e2", "100", `"x\"/~"`}
	if g.plain {
		scalars = scalars[:11]
	}
	g.token(scalars[g.random.IntN(len(scalars))])
}

func (g *generator) object(depth int, first map[string]string) {
	names := []string{"a", "b", "name", "protocol", "port", "x/y", "m~n", `q"r`, "é", ""}
	g.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:g.random.IntN(5)]
	for name := range first {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !g.plain {
		g.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	g.token("{")
	for i, name := range names {
		if i > 0 {
			g.token(",")
		}
		g.name(name)
		g.token(":")
		if text, ok := first[name]; ok {
			g.token(text)
			continue
		}
		g.value(depth)
	}
	g.token("}")
}

// keyed writes an element of a keyed list.
func (g *generator) keyed(depth int) {
	key := map[string]string{"port": strconv.Itoa(g.random.IntN(3))}
	if g.random.IntN(2) == 0 {
		key["protocol"] = []string{`"TCP"`, `"UDP"`}[g.random.IntN(2)]
	}
	g.object(depth, key)
}

func (g *generator) list(element func()) {
	g.token("[")
	for i := range g.random.IntN(5) {
		if i > 0 {
			g.token(",")
		}
		element()
	}
	g.token("]")
}

// picker picks paths through a decoded value. All paths name the elements of one list in one way, as field managers do.
type picker struct {
	choose  choose
	namings map[string]func(element any, index int) fieldpath.PathElement
}

func newPicker(c choose) *picker {
	return &picker{choose: c, namings: map[string]func(any, int) fieldpath.PathElement{}}
}

// paths returns paths of which most lead somewhere in v.
func (p *picker) paths(v any, count int) []fieldpath.Path {
	var paths []fieldpath.Path
	for range count {
		if path := p.path(v); len(path) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

func (p *picker) path(v any) fieldpath.Path {
	var path fieldpath.Path
	for len(path) < 12 {
		switch in := v.(type) {
		case map[string]any:
			names := sortedNames(in)
			choice := p.choose(len(names) + 1)
			if choice == len(names) {
				return append(path, fieldpath.FieldNameElement("absent"))
			}
			path, v = append(path, fieldpath.FieldNameElement(names[choice])), in[names[choice]]
		case []any:
			if len(in) == 0 {
				return append(path, fieldpath.IndexElement(p.choose(2)))
			}
			index := p.choose(len(in))
			path, v = append(path, p.element(path.String(), in[index], index)), in[index]
		default:
			if p.choose(8) == 7 {
				return append(path, fieldpath.FieldNameElement("below"))
			}
			return path
		}
		if p.choose(4) == 3 {
			return path
		}
	}
	return path
}

func sortedNames(in map[string]any) []string {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// element names an element of a list in the list's own way: by its position, its value or the fields of a key.
func (p *picker) element(list string, element any, index int) fieldpath.PathElement {
	naming := p.namings[list]
	if naming == nil {
		naming = p.naming()
		p.namings[list] = naming
	}
	return naming(element, index)
}

func (p *picker) naming() func(element any, index int) fieldpath.PathElement {
	byIndex := func(_ any, index int) fieldpath.PathElement { return fieldpath.IndexElement(index) }
	fields := [][]string{nil, {"port", "protocol"}, {"name"}, {"port"}}[p.choose(4)]
	if fields == nil && p.choose(2) == 0 {
		return byIndex
	}
	return func(element any, _ int) fieldpath.PathElement {
		object, isObject := element.(map[string]any)
		if !isObject || fields == nil {
			return fieldpath.ValueElement(value.NewValueInterface(scalarOf(element)))
		}
		key := value.FieldList{}
		for _, name := range fields {
			v, ok := object[name]
			if !ok && name == "protocol" {
				v = "TCP"
			}
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(scalarOf(v))})
		}
		key.Sort()
		return fieldpath.PathElement{Key: &key}
	}
}

// scalarOf returns a decoded scalar as structured-merge-diff has it; a text for what is none.
func scalarOf(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
		return v.String()
	case string, bool, nil:
		return v
	default:
		return "no scalar"
	}
}

func compacted(tb testing.TB, text []byte) string {
	tb.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		tb.Fatalf("compacting: %v: %q", err, text)
	}
	return out.String()
}

// treeOf returns a tree with the paths, and the node of each.
func treeOf(paths ...fieldpath.Path) (*fieldtree.Tree, []*fieldtree.Node) {
	tree := &fieldtree.Tree{}
	nodes := make([]*fieldtree.Node, len(paths))
	for i, path := range paths {
		nodes[i] = tree.Add(path)
	}
	return tree, nodes
}

func parsed(tb testing.TB, text []byte) ownership.Object {
	tb.Helper()
	o, err := ownership.ParseObject(text)
	if err != nil {
		tb.Fatalf("parsing: %v: %q", err, text)
	}
	return o
}

// indexed returns a path that leads somewhere with all elements of lists named by their positions.
func indexed(tb testing.TB, o ownership.Object, path fieldpath.Path) fieldpath.Path {
	tb.Helper()
	by := slices.Clone(path)
	for i, element := range path {
		if element.FieldName != nil {
			continue
		}
		pointer := o.Locate(path[:i+1]).Pointer
		index, err := strconv.Atoi(pointer[strings.LastIndexByte(pointer, '/')+1:])
		if err != nil {
			tb.Fatalf("%s is at %s: %v", path, pointer, err)
		}
		by[i] = fieldpath.IndexElement(index)
	}
	return by
}

// offsetIn returns where a part of a text starts.
func offsetIn(text, part []byte) int {
	return int(reflect.ValueOf(part).Pointer() - reflect.ValueOf(text).Pointer())
}

// withoutPaths cuts paths out one by one, from the last in the text to the first. With emptied, it also cuts out the
// fields of which nothing is left then, unless keep says otherwise.
func withoutPaths(tb testing.TB, text []byte, paths []fieldpath.Path, emptied bool, keep func(fieldpath.Path) bool) []byte {
	tb.Helper()
	o := parsed(tb, text)
	type place struct {
		path       fieldpath.Path
		start, end int
	}
	var places []place
	for _, path := range paths {
		if found := o.Locate(path).Value; found != nil {
			at := offsetIn(text, found)
			places = append(places, place{indexed(tb, o, path), at, at + len(found)})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.start != b.start {
			return b.start - a.start
		}
		return b.end - a.end
	})
	for i, p := range places {
		isInside := slices.ContainsFunc(places, func(q place) bool {
			return q.start <= p.start && p.end <= q.end && (q.start < p.start || p.end < q.end)
		})
		if isInside || i > 0 && places[i-1].start == p.start && places[i-1].end == p.end {
			continue
		}
		text = ownership.Cut(text, p.path)
		for above := p.path[:len(p.path)-1]; emptied && len(above) > 0; above = above[:len(above)-1] {
			left := compacted(tb, parsed(tb, text).Value(above))
			if left != "{}" && left != "[]" || above[len(above)-1].FieldName == nil || keep != nil && keep(above) {
				break
			}
			text = ownership.Cut(text, above)
		}
	}
	return text
}
