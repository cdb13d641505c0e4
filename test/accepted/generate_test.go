package accepted_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// generator generates the steps of a sequence, each for the current object.
type generator struct {
	random  *rand.Rand
	stage   *stage
	declare manifest
	// touched are the slots that other managers have written since the last apply.
	touched []string
	// focus are the slots that most steps of the sequence write.
	focus []string
}

func pick[T any](g *rand.Rand, from []T) T { return from[g.IntN(len(from))] }

// chance returns true with the given probability in percent.
func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }

// first generates the first manifest: slots that are close to each other in the grammar, because these are often related, and a
// few others.
func (g *generator) first() manifest {
	k := g.stage.kind
	middle := g.random.IntN(len(k.slots))
	for range 2 + g.random.IntN(3) {
		i := middle + g.random.IntN(9) - 4
		if g.chance(30) {
			i = g.random.IntN(len(k.slots))
		}
		g.focus = append(g.focus, k.slots[min(max(i, 0), len(k.slots)-1)].at)
	}
	g.declare = manifest{}
	for _, s := range k.slots {
		if s.required || slices.Contains(g.focus, s.at) && g.chance(80) {
			g.declare[s.at] = pick(g.random, s.options)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(g.declare)) {
		g.provide(g.slot(at))
	}
	return maps.Clone(g.declare)
}

// provide sets the slots that a slot requires.
func (g *generator) provide(s slot) {
	if s.needs == "" || g.stage.kind.allowed(s, g.declare) {
		return
	}
	needed := g.slot(s.needs)
	g.focus = append(g.focus, s.needs)
	g.declare[s.needs] = pick(g.random, append(s.values, needed.options...)[:max(len(s.values), 1)])
	g.provide(needed)
}

func (g *generator) slot(at string) slot {
	i := slices.IndexFunc(g.stage.kind.slots, func(s slot) bool { return s.at == at })
	return g.stage.kind.slots[i]
}

// next generates the next manifest, which mostly changes slots that other managers have written.
func (g *generator) next() manifest {
	for range 1 + g.random.IntN(3) {
		at := pick(g.random, g.focus)
		switch {
		case len(g.touched) > 0 && g.chance(65):
			at = pick(g.random, g.touched)
		case g.chance(10):
			at = pick(g.random, g.stage.kind.slots).at
		}
		g.change(g.slot(at))
	}
	g.touched = nil
	return maps.Clone(g.declare)
}

func (g *generator) change(s slot) {
	value, has := g.declare[s.at]
	switch n := g.random.IntN(100); {
	case n < 4 && !s.required && !strings.HasPrefix(s.at, "metadata/"): // kubectl reads null as an empty text here
		g.declare[s.at] = null{}
	case n < 50 && has && !s.required:
		delete(g.declare, s.at)
	case n < 65 && has && !s.required:
		g.declare[s.at] = g.pruned(value)
	default:
		g.declare[s.at] = pick(g.random, s.options)
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

// imperativeManagers returns the field managers of users who change a live object. The configuration lists all but the last.
func imperativeManagers() []string {
	return []string{"kubectl-patch", "kubectl-edit", "kubectl-set", "kubectl-patch", "kubectl-edit", "dashboard"}
}

// edit generates a user's change of the live object.
func (g *generator) edit() step {
	k := g.stage.kind
	switch {
	case k.scaled && g.chance(12):
		return step{by: pick(g.random, []string{scaler, scaler, "kubectl"}), scales: true, replicas: int64(g.random.IntN(12))}
	case len(k.ruled) > 0 && g.chance(25):
		if e, ok := g.control(); ok {
			return e
		}
	}
	e := step{by: pick(g.random, imperativeManagers())}
	if g.chance(12) {
		e.put, e.by = true, "kubectl-replace"
	}
	at := pick(g.random, g.focus)
	if g.chance(10) {
		at = pick(g.random, k.slots).at
	}
	g.touched = append(g.touched, at)
	e.sets = g.poke(g.slot(at), nil)
	return e
}

// poke generates changes of a slot in live: other values for one or all of its fields, or another option. If only is not nil, it
// restricts the fields.
func (g *generator) poke(s slot, only func(string) bool) (sets []setting) {
	if live, ok := getAt(g.stage.live.Object, strings.Split(s.at, "/")); ok && g.chance(80) {
		leaves := slices.DeleteFunc(leavesOf(s.at, live), func(l setting) bool { return only != nil && !only(l.at) })
		if len(leaves) > 0 {
			g.random.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
			if g.chance(75) {
				leaves = leaves[:1+g.random.IntN(min(2, len(leaves)))]
			}
			for _, l := range leaves {
				sets = append(sets, setting{at: l.at, value: g.other(l.at, l.value), gone: g.chance(6)})
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

// control generates a write of the controller to fields of its rules.
func (g *generator) control() (e step, ok bool) {
	var rules []ownership.Pattern
	for _, rule := range g.stage.kind.ruled {
		if pattern, err := ownership.ParsePattern(rule); err == nil {
			rules = append(rules, pattern)
		}
	}
	ruled := func(at string) bool {
		return slices.ContainsFunc(rules, func(p ownership.Pattern) bool { return p.Matches(pathOf(at)) })
	}
	candidates := slices.DeleteFunc(slices.Clone(g.focus), func(at string) bool {
		return !slices.ContainsFunc(rules, func(p ownership.Pattern) bool {
			return p.Matches(pathOf(at)) || len(p) > len(pathOf(at)) && p[:len(pathOf(at))].Matches(pathOf(at))
		})
	})
	if len(candidates) == 0 {
		return e, false
	}
	at := pick(g.random, candidates)
	sets := slices.DeleteFunc(g.poke(g.slot(at), ruled), func(s setting) bool { return !ruled(s.at) })
	g.touched = append(g.touched, at)
	return step{by: controller, sets: sets}, len(sets) > 0
}

// pathOf returns a place as a path.
func pathOf(at string) (p fieldpath.Path) {
	for _, name := range strings.Split(at, "/") {
		if key, value, ok := strings.Cut(name, "="); ok {
			p = append(p, fieldpath.PathElement{Key: fieldpath.KeyByFields(key, scalar(value))})
		} else {
			p = append(p, fieldpath.FieldNameElement(name))
		}
	}
	return p
}

// leavesOf returns the leaves of a value, with their values. A list is a leaf unless its elements have names.
func leavesOf(at string, value any) (found []setting) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !strings.Contains(name, "/") && !strings.HasSuffix(at, "/"+name+"="+fmt.Sprint(v[name])) {
				found = append(found, leavesOf(at+"/"+name, v[name])...)
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

// alternatives returns the valid values of a field with restricted values.
func alternatives(name string) []any {
	all := map[string][]any{
		"path": {"/p"}, "scheme": {"HTTP", "HTTPS"}, "imagePullPolicy": {"Always", "Never"}, "dnsPolicy": {"Default", "ClusterFirst"},
		"whenUnsatisfiable": {"DoNotSchedule", "ScheduleAnyway"}, "terminationMessagePolicy": {"File", "FallbackToLogsOnError"},
		"fieldPath": {"metadata.namespace", "spec.nodeName"}, "concurrencyPolicy": {"Forbid", "Replace"}, "schedule": {"0 9 1 1 *"},
		"whenDeleted": {"Retain", "Delete"}, "whenScaled": {"Retain", "Delete"}, "timeZone": {"Asia/Tokyo"}, "effect": {"NoExecute"},
		"selectPolicy": {"Max", "Min", "Disabled"}, "restartPolicy": {"Never", "OnFailure", "Always"}, "protocol": {"TCP", "UDP"},
		"operator": {"Exists"}, "type": {"RollingUpdate", "OnDelete", "Recreate", "RuntimeDefault", "NodePort", "ClusterIP", "LoadBalancer"},
		"internalTrafficPolicy": {"Local"}, "externalTrafficPolicy": {"Local"}, "sessionAffinity": {"ClientIP"}, "externalName": {"example.net"},
		"completionMode": {"Indexed"}, "unhealthyPodEvictionPolicy": {"AlwaysAllow"}, "image": {"a:9"}, "loadBalancerIP": {"192.0.2.8"},
		"one": {"eA==", "x"}, "two": {"eQ==", "y"}, "podReplacementPolicy": {"Failed"}, "targetPort": {int64(9090)}, "subPathExpr": {"$(BAR)"},
	}
	return all[name]
}

// other returns another value for a field, which is valid for most fields.
func (g *generator) other(at string, value any) any {
	name := at[strings.LastIndexByte(at, '/')+1:]
	if choices := alternatives(name); choices != nil && g.chance(90) {
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
		return g.otherList(at, v)
	default:
		return value
	}
}

func (g *generator) otherList(at string, list []any) any {
	changed := slices.Clone(list)
	if len(changed) == 0 {
		return changed
	}
	switch v := changed[0].(type) {
	case map[string]any:
		leaves := leavesOf(at, v)
		if len(leaves) == 0 {
			return changed
		}
		l := pick(g.random, leaves)
		element := cloneDeep(v)
		setAt(element, strings.Split(strings.TrimPrefix(l.at, at+"/"), "/"), g.other(l.at, l.value))
		changed[0] = element
	default:
		changed = append(changed, g.other(at, v))
	}
	return changed
}
