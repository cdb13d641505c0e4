package plugin_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
)

// generator generates manifests in many styles of YAML. It is deterministic for a seed.
type generator struct{ random *rand.Rand }

func newGenerator(seed uint64, n int) generator {
	return generator{rand.New(rand.NewPCG(seed, uint64(n)))}
}

func (g generator) maybe(o map[string]any, name string, values ...any) {
	if g.random.IntN(3) > 0 {
		o[name] = values[g.random.IntN(len(values))]
	}
}

type (
	object = map[string]any
	list   = []any
)

// manifest returns an object of a kind with random fields. Immutable fields depend only on the name.
func (g generator) manifest(kind, name string) object {
	metadata := object{"name": name}
	g.maybe(metadata, "annotations", object{"team": "all of us and some more"}, object{"team": "us", "note": "first line\nsecond line\n"}, object{"note": `it's "quoted" here`})
	g.maybe(metadata, "labels", object{"tier": "front"})
	o := object{"kind": kind, "metadata": metadata}
	switch kind {
	case "Deployment":
		o["apiVersion"], o["spec"] = "apps/v1", g.deployment(name)
	case "Service":
		o["apiVersion"], o["spec"] = "v1", g.service()
	default:
		o["apiVersion"] = "v1"
		data := object{}
		for _, key := range []string{"a", "b.c", "size", "text"} {
			g.maybe(data, key, "one", "two words", "a longer text of some more words", "lines\nand lines\n", "trailing\n\n", "# no comment", "yes", "12", "")
		}
		g.maybe(o, "data", data)
	}
	return o
}

func (g generator) deployment(name string) object {
	spec := object{"selector": object{"matchLabels": object{"app": name}}}
	g.maybe(spec, "replicas", 0, 1, 3)
	g.maybe(spec, "minReadySeconds", 5, 7)
	g.maybe(spec, "revisionHistoryLimit", 2, 3)
	g.maybe(spec, "paused", true)
	g.maybe(spec, "strategy", object{"rollingUpdate": object{"maxSurge": 2}}, object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": "30%", "maxUnavailable": 0}})
	pod := object{"containers": list{g.container("a")}}
	if g.random.IntN(2) == 0 {
		pod["containers"] = list{g.container("a"), g.container("b")}
	}
	selector := object{"matchLabels": object{"app": name}}
	spread := func(skew int, unsatisfiable string) object {
		return object{"maxSkew": skew, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": unsatisfiable, "labelSelector": selector}
	}
	g.maybe(pod, "topologySpreadConstraints", list{spread(1, "DoNotSchedule"), spread(2, "ScheduleAnyway")}, list{spread(1, "DoNotSchedule")})
	g.maybe(pod, "nodeSelector", object{"disk": "ssd"}, object{"disk": "hdd", "zone": "a"})
	g.maybe(pod, "terminationGracePeriodSeconds", 10, 20)
	g.maybe(pod, "tolerations", list{object{"key": "a", "operator": "Exists"}})
	spec["template"] = object{"metadata": object{"labels": object{"app": name}}, "spec": pod}
	return spec
}

func (g generator) container(name string) object {
	c := object{"name": name, "image": []string{"registry.invalid/a:1", "registry.invalid/a:2"}[g.random.IntN(2)]}
	g.maybe(c, "args", list{"serve", "--all of it"}, list{"--x"})
	g.maybe(c, "env", list{object{"name": "A", "value": "1 and more"}, object{"name": "B", "value": "2"}}, list{object{"name": "A", "value": "other"}})
	g.maybe(c, "ports", list{object{"containerPort": 53, "protocol": "UDP"}, object{"containerPort": 53}},
		list{object{"containerPort": 53, "protocol": "UDP", "name": "dns-" + name}, object{"containerPort": 53, "name": "tcp-" + name}, object{"containerPort": 80}},
		list{object{"containerPort": 80, "name": "http-" + name}})
	g.maybe(c, "resources", object{"requests": object{"cpu": "100m"}}, object{"limits": object{"memory": "64Mi", "cpu": "1"}, "requests": object{"memory": "32Mi"}})
	g.maybe(c, "imagePullPolicy", "Always", "Never")
	return c
}

func (g generator) service() object {
	spec := object{"selector": object{"app": "x"}}
	spec["ports"] = []list{
		{object{"name": "dns", "port": 53, "protocol": "UDP"}, object{"name": "dns-tcp", "port": 53}},
		{object{"name": "dns", "port": 53, "protocol": "UDP"}, object{"name": "dns-tcp", "port": 53, "protocol": "TCP"}, object{"name": "http", "port": 80, "targetPort": 8080}},
		{object{"port": 80}},
	}[g.random.IntN(3)]
	g.maybe(spec, "sessionAffinity", "ClientIP", "None")
	g.maybe(spec, "publishNotReadyAddresses", true)
	return spec
}

// yaml returns an object as YAML in random styles.
func (g generator) yaml(o object) string {
	var b strings.Builder
	if g.random.IntN(4) == 0 {
		b.WriteString("# a comment\n---\n")
	}
	g.block(&b, o, "")
	return b.String()
}

func (g generator) block(b *strings.Builder, o object, indent string) {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	g.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names {
		if i > 0 {
			b.WriteString(indent)
			if g.random.IntN(12) == 0 {
				b.WriteString("# about " + name + ": it is\n" + indent)
			}
		}
		b.WriteString(name + ":")
		g.valueOf(b, o[name], indent)
	}
}

// valueOf writes the value of a key at an indentation.
func (g generator) valueOf(b *strings.Builder, v any, indent string) {
	inner := indent + "  "
	switch v := v.(type) {
	case object:
		if len(v) == 0 || g.random.IntN(6) == 0 {
			b.WriteString(" " + g.flow(v, inner) + "\n")
			return
		}
		b.WriteString("\n" + inner)
		g.block(b, v, inner)
	case list:
		if g.random.IntN(6) == 0 {
			b.WriteString(" " + g.flow(v, inner) + "\n")
			return
		}
		dash := []string{indent, inner}[g.random.IntN(2)]
		b.WriteString("\n")
		for _, element := range v {
			b.WriteString(dash + "-")
			if o, ok := element.(object); ok && g.random.IntN(8) > 0 {
				b.WriteString([]string{" ", " ", " ", "\n" + dash + "  ", " # which\n" + dash + "  "}[g.random.IntN(5)])
				g.block(b, o, dash+"  ")
				continue
			}
			if text, ok := element.(string); ok {
				b.WriteString(" " + g.scalar(text, dash+"  ") + "\n")
				continue
			}
			b.WriteString(" " + g.flow(element, dash+"  ") + "\n")
		}
	case string:
		if strings.Contains(v, "\n") {
			b.WriteString(g.literal(v, inner))
			return
		}
		comment := []string{"", "", "", " # why"}[g.random.IntN(4)]
		b.WriteString([]string{" ", " ", " ", "\n" + inner}[g.random.IntN(4)] + g.scalar(v, inner) + comment + "\n")
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}

// literal returns a text as a literal block scalar.
func (g generator) literal(text, indent string) string {
	body := strings.TrimRight(text, "\n")
	chomp := map[int]string{0: "-", 1: "", 2: "+"}[len(text)-len(body)]
	return " |" + chomp + "\n" + indent + strings.ReplaceAll(body, "\n", "\n"+indent) + strings.Repeat("\n", max(1, len(text)-len(body)))
}

// scalar returns a text as a scalar in a random valid style, possibly folded between words.
func (g generator) scalar(text, indent string) string {
	plain := text != "" && !strings.ContainsAny(text, `"'#:`) && text != "yes" && text != "12" && text != "1" && text != "2" && text[0] != '-'
	quoted := printable.Quote(text)
	written := []string{quoted, "'" + strings.ReplaceAll(text, "'", "''") + "'"}[g.random.IntN(2)]
	if plain && g.random.IntN(2) == 0 {
		written = text
	}
	if g.random.IntN(2) == 0 && !strings.Contains(text, "  ") {
		words := strings.Split(written, " ")
		at := g.random.IntN(len(words))
		if at > 0 && words[at][0] != '#' {
			written = strings.Join(words[:at], " ") + "\n" + indent + " " + strings.Join(words[at:], " ")
		}
	}
	return written
}

// flow returns a value in flow style, possibly over several lines.
func (g generator) flow(v any, indent string) string {
	comma := []string{", ", ", ", ",\n" + indent + " "}[g.random.IntN(3)]
	switch v := v.(type) {
	case object:
		parts := make([]string, 0, len(v))
		for name, part := range v {
			parts = append(parts, name+": "+g.flow(part, indent+" "))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, comma) + "}"
	case list:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = g.flow(part, indent+" ")
		}
		return "[" + strings.Join(parts, comma) + "]"
	default:
		if text, ok := v.(string); ok {
			return printable.Quote(text)
		}
		return fmt.Sprint(v)
	}
}
