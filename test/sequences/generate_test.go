package sequences_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/document"
)

// generator generates the steps of a sequence, each for the current object.
type generator struct {
	random *rand.Rand
	object *side
	// appliers are the verbs that apply the manifest.
	appliers []string
	scales   bool // the object has /scale and is often scaled
	declare  manifest
	// platform is the manifest of the platform, which applies it server-side.
	platform manifest
	// touched are the choices that other managers have written since the last apply.
	touched []string
	// focus are the choices that most steps of the sequence write.
	focus []string
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// chance returns true with the given probability in percent.
func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }

func (g *generator) kind() *kind { return g.object.kind }

// create generates the first step.
func (g *generator) create() step {
	g.first()
	w := step{verb: create, by: clientSide, saved: true, manifest: maps.Clone(g.declare), version: g.version()}
	switch g.appliers[0] {
	case serverApply:
		w = g.applied(serverApply)
	case helmUpgrade:
		w.by, w.saved = helm, false
	}
	if g.chance(25) {
		w.verb, w.by, w.saved = create, "kubectl-create", g.chance(30)
	}
	return w
}

// first generates the first manifest: a theme or choices that are close to each other in the grammar, because these are often
// related, and a few others.
func (g *generator) first() {
	k := g.kind()
	if len(k.Themes) > 0 && g.chance(50) {
		g.focus = slices.DeleteFunc(strings.Fields(pick(g.random, k.Themes)), func(at string) bool {
			return !slices.ContainsFunc(k.choices, func(s choice) bool { return s.at == at })
		})
	}
	middle := g.random.IntN(len(k.choices))
	for range 1 + g.random.IntN(3) {
		i := middle + g.random.IntN(9) - 4
		if g.chance(30) {
			i = g.random.IntN(len(k.choices))
		}
		g.focus = append(g.focus, k.choices[min(max(i, 0), len(k.choices)-1)].at)
	}
	if g.scales && k.Scaled {
		g.focus = append(g.focus, "spec/replicas")
	}
	g.declare, g.platform = manifest{}, manifest{}
	for _, s := range k.choices {
		if s.required || slices.Contains(g.focus, s.at) && g.chance(80) {
			g.declare[s.at] = pick(g.random, s.options)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(g.declare)) {
		g.provide(g.choice(at))
	}
}

// provide sets the choices that a choice requires.
func (g *generator) provide(s choice) {
	if s.needs == "" || g.kind().allowed(s, g.declare) {
		return
	}
	needed := g.choice(s.needs)
	g.focus = append(g.focus, s.needs)
	g.declare[s.needs] = pick(g.random, append(s.values, needed.options...)[:max(len(s.values), 1)])
	g.provide(needed)
}

func (g *generator) choice(at string) choice {
	i := slices.IndexFunc(g.kind().choices, func(s choice) bool { return s.at == at })
	return g.kind().choices[i]
}

// version returns the version that a client uses.
func (g *generator) version() string {
	if len(g.kind().Versions) == 0 {
		return ""
	}
	return pick(g.random, g.kind().Versions)
}

// next generates an apply of the next manifest, which mostly changes choices that other managers have written.
func (g *generator) next() step {
	for range 1 + g.random.IntN(3) {
		at := pick(g.random, g.focus)
		switch {
		case len(g.touched) > 0 && g.chance(65):
			at = pick(g.random, g.touched)
		case g.chance(10):
			at = pick(g.random, g.kind().choices).at
		}
		g.change(g.choice(at), g.declare)
	}
	g.touched = nil
	return g.applied(pick(g.random, g.appliers))
}

// applied returns an apply of the current manifest.
func (g *generator) applied(verb string) step {
	by := map[string]string{apply: clientSide, serverApply: kubectl, helmUpgrade: helm}[verb]
	return step{verb: verb, by: by, manifest: maps.Clone(g.declare), force: g.chance(80), version: g.version()}
}

func (g *generator) change(s choice, m manifest) {
	value, has := m[s.at]
	switch n := g.random.IntN(100); {
	case n < 5 && !s.required && !strings.HasPrefix(s.at, "metadata/"): // kubectl reads null as an empty text here
		m[s.at] = null{}
	case n < 55 && has && !s.required:
		delete(m, s.at)
	case n < 68 && has && !s.required:
		m[s.at] = g.pruned(value)
	default:
		m[s.at] = pick(g.random, s.options)
	}
}

// pruned returns a value without one of its fields.
func (g *generator) pruned(value any) any {
	members, ok := value.(map[string]any)
	if !ok || len(members) == 0 {
		return value
	}
	members = maps.Clone(members)
	name := pick(g.random, slices.Sorted(maps.Keys(members)))
	if inner, ok := members[name].(map[string]any); ok && len(inner) > 1 && g.chance(60) {
		members[name] = g.pruned(inner)
	} else {
		delete(members, name)
	}
	return members
}

// other generates a write of a user who does not apply the manifest.
func (g *generator) other() step {
	switch n := g.random.IntN(100); {
	case g.kind().Scaled && (n < 8 || g.scales && n < 30):
		return step{verb: scale, by: pick(g.random, []string{autoscaler, autoscaler, kubectl}), replicas: int64(g.random.IntN(12))}
	case n < 32 && len(g.kind().Rules) > 0:
		if w, ok := g.tuned(); ok {
			return w
		}
	case n < 42:
		at := pick(g.random, g.focus)
		g.change(g.choice(at), g.platform)
		g.touched = append(g.touched, at)
		return step{verb: serverApply, by: platform, manifest: maps.Clone(g.platform), force: g.chance(60), version: g.version()}
	case n < 45 && !slices.Contains(g.appliers, helmUpgrade): // Helm would take the annotation for its manifest
		broken := pick(g.random, []string{"", "null", "{", "[]", "{}", `{"spec":null}`})
		return step{verb: edit, by: "kubectl-annotate", sets: []setting{{at: "metadata/annotations/" + strings.Replace(lastApplied, "/", "~", 1), value: broken}}}
	case n < 49:
		return step{verb: replace, by: "kubectl-replace", manifest: maps.Clone(g.declare), saved: g.chance(30)}
	case n < 52:
		label := setting{at: "metadata/labels/ownership-handoff.io~mode", value: "off"}
		_, label.gone = g.object.live.GetLabels()[optin.Label]
		return step{verb: edit, by: "kubectl-label", sets: []setting{label}}
	case n < 56 && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, g.kind().Kind):
		return step{verb: edit, by: "kubectl-rollout", sets: []setting{{at: restartedAt, value: strconv.Itoa(g.random.IntN(60))}}}
	case n < 64 && g.kind().Kind == "Deployment":
		_, isPaused := document.Get(g.object.live.Object, place("spec/paused"))
		g.touched = append(g.touched, "spec/paused")
		return step{verb: edit, by: "kubectl-rollout", sets: []setting{{at: "spec/paused", value: true, gone: isPaused}}}
	}
	// The configuration does not list the last two.
	people := []string{"kubectl-patch", "kubectl-edit", "kubectl-set", "kubectl-label", "kubectl-annotate", "dashboard", "operator"}
	w := step{verb: edit, by: pick(g.random, people), version: g.version()}
	if g.chance(15) {
		w.verb, w.by = put, pick(g.random, []string{"kubectl-replace", "operator"})
	}
	at := pick(g.random, g.focus)
	if pod := g.kind().Pod; pod != "" && g.chance(20) { // what kubectl set sets
		at = pod + "spec/" + pick(g.random, []string{"serviceAccountName", "containers/name=a/image", "containers/name=a/env/name=FOO", "containers/name=a/resources"})
	} else if g.chance(10) {
		at = pick(g.random, g.kind().choices).at
	}
	g.touched = append(g.touched, at)
	w.sets = g.poke(g.choice(at), nil)
	if len(w.sets) > 0 && w.verb == edit && g.chance(50) {
		if by, _ := w.sets[0].setter(""); by != "" {
			w.by, w.sets = by, w.sets[:1]
		}
	}
	return w
}

// poke generates changes of a choice in live: other values for one or all of its fields, or another option. If only is not nil, it
// restricts the fields.
func (g *generator) poke(s choice, only func(string) bool) (sets []setting) {
	if live, ok := document.Get(g.object.live.Object, place(s.at)); ok && g.chance(80) {
		leaves := slices.DeleteFunc(leavesOf(s.at, live), func(l setting) bool {
			return only != nil && !only(l.at) || strings.HasSuffix(l.at, "/nodePort") // allocated
		})
		if len(leaves) > 0 {
			g.random.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
			if g.chance(75) {
				leaves = leaves[:1+g.random.IntN(min(2, len(leaves)))]
			}
			for _, l := range leaves {
				sets = append(sets, setting{at: l.at, value: g.otherValue(l.at, l.value), gone: g.chance(6)})
			}
			return sets
		}
	}
	option := pick(g.random, s.options)
	if members, ok := option.(map[string]any); ok && g.chance(70) {
		return leavesOf(s.at, members)
	}
	if _, isMap := option.(map[string]any); isMap && only != nil {
		return nil
	}
	return []setting{{at: s.at, value: option}}
}

// tuned generates a write of the controller to fields of its rules.
func (g *generator) tuned() (w step, ok bool) {
	ruled := func(at string) bool { return g.kind().isRuled(pathOf(at)) }
	candidates := slices.DeleteFunc(slices.Clone(g.focus), func(at string) bool {
		return !slices.ContainsFunc(g.kind().ruled, func(r *regexp.Regexp) bool {
			return r.MatchString(pathOf(at)) || strings.HasPrefix(r.String(), "^"+regexp.QuoteMeta(pathOf(at)))
		})
	})
	if len(candidates) == 0 {
		return w, false
	}
	at := pick(g.random, candidates)
	sets := slices.DeleteFunc(g.poke(g.choice(at), ruled), func(s setting) bool { return !ruled(s.at) })
	g.touched = append(g.touched, at)
	return step{verb: edit, by: tuner, sets: sets, version: g.version()}, len(sets) > 0
}

var (
	elementOfPlace = regexp.MustCompile(`/([A-Za-z]+)=([^/]*)`)
	numericKey     = regexp.MustCompile(`="(\d+)"]`)
)

// pathOf returns a place as the text of a path.
func pathOf(at string) string {
	path := elementOfPlace.ReplaceAllString("."+at, `[$1="$2"]`)
	path = numericKey.ReplaceAllString(path, "=$1]")
	return strings.ReplaceAll(strings.ReplaceAll(path, "/", "."), "~", "/")
}

// leavesOf returns the leaves of a value, with their values. A list is a leaf unless its elements have names.
func leavesOf(at string, value any) (found []setting) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !strings.HasSuffix(at, "/"+name+"="+fmt.Sprint(v[name])) {
				found = append(found, leavesOf(at+"/"+strings.ReplaceAll(name, "/", "~"), v[name])...)
			}
		}
		return found
	case []any:
		for _, element := range v {
			members, _ := element.(map[string]any)
			name, ok := members["name"].(string)
			if !ok {
				return []setting{{at: at, value: value}}
			}
			rest := maps.Clone(members)
			delete(rest, "name")
			found = append(found, leavesOf(at+"/name="+name, rest)...)
		}
		return found
	default:
		return []setting{{at: at, value: value}}
	}
}

var (
	quantity = regexp.MustCompile(`^(\d+)(m|Ki|Mi|Gi|%)$`)
	base64d  = regexp.MustCompile(`^[A-Za-z]{2}==$`)
)

// otherValue returns another value for a field, which is valid for most fields.
func (g *generator) otherValue(at string, value any) any {
	name := at[strings.LastIndexByte(at, '/')+1:]
	if choices := cluster.alternatives[name]; choices != nil && g.chance(90) {
		return pick(g.random, choices)
	}
	switch v := value.(type) {
	case bool:
		return !v
	case int64:
		return pick(g.random, []int64{v + 1, v + 2, v * 2, v + 10, max(v-1, 0), v/2 + 1})
	case string:
		if q := quantity.FindStringSubmatch(v); q != nil {
			var n int
			_, _ = fmt.Sscan(q[1], &n)
			return fmt.Sprint(pick(g.random, []int{n * 2, n * 5, n/2 + 1, n + 10}), q[2])
		}
		if base64d.MatchString(v) {
			return "cGVy"
		}
		if _, isNumber := scalar(v).(int64); isNumber {
			return pick(g.random, []string{"3", "7"})
		}
		return v + "p"
	case []any:
		if len(v) == 0 {
			return v
		}
		changed := slices.Clone(v)
		element, isMap := changed[0].(map[string]any)
		if leaves := leavesOf("", element); isMap && len(leaves) > 0 {
			element = runtime.DeepCopyJSON(element)
			l := pick(g.random, leaves)
			document.Set(element, place(l.at[1:]), g.otherValue(l.at, l.value))
			changed[0] = element
			return changed
		}
		return append(changed, g.otherValue(at, v[0]))
	default:
		return value
	}
}
