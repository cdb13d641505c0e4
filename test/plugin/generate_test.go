package plugin_test

import "math/rand/v2"

// generator generates manifests. It is deterministic for a seed.
type generator struct{ random *rand.Rand }

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
