package apply_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// generator generates manifests from parts that the API server accepts, so that most edits are stored.
type generator struct{ random *rand.Rand }

func (g generator) one(of ...any) any       { return of[g.random.IntN(len(of))] }
func (g generator) likely(one, in int) bool { return g.random.IntN(in) < one }

// fields returns a random subset of the members of an object.
func (g generator) fields(members map[string]func() any) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if g.likely(1, 2) {
			object[name] = members[name]()
		}
	}
	return object
}

// some returns a random subset of the elements in random order.
func (g generator) some(elements ...func() any) []any {
	list := []any{}
	for _, i := range g.random.Perm(len(elements)) {
		if g.likely(3, 5) {
			list = append(list, elements[i]())
		}
	}
	return list
}

func constant(value any) func() any { return func() any { return value } }

func (g generator) words() func() any {
	return func() any {
		return g.fields(map[string]func() any{
			"a": func() any { return g.one("1", "2") }, "b": func() any { return g.one("1", "2") }, "c.d": func() any { return g.one("", "x") },
		})
	}
}

func (g generator) container(name string) func() any {
	variable := func(name string) func() any {
		return func() any {
			if g.likely(1, 4) {
				return map[string]any{"name": name, "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}}}
			}
			return map[string]any{"name": name, "value": g.one("1", "2", "3")}
		}
	}
	port := func(number int64) func() any {
		return func() any {
			p := map[string]any{"containerPort": number}
			if g.likely(1, 2) {
				p["name"] = fmt.Sprintf("p%d", number)
			}
			return p
		}
	}
	return func() any {
		c := g.fields(map[string]func() any{
			"args":            func() any { return g.some(constant("--a"), constant("--b"), constant("--c")) },
			"env":             func() any { return g.some(variable("A"), variable("B"), variable("C"), variable("D")) },
			"ports":           func() any { return g.some(port(80), port(81), port(82)) },
			"imagePullPolicy": func() any { return g.one("Always", "IfNotPresent") },
			"workingDir":      func() any { return g.one("/", "/srv") },
			"stdin":           func() any { return g.one(true, false) },
			"resources": func() any {
				return g.fields(map[string]func() any{"limits": func() any {
					return g.fields(map[string]func() any{"cpu": func() any { return g.one("1", "2000m") }, "memory": func() any { return g.one("1Gi", "64Mi") }})
				}})
			},
		})
		c["name"], c["image"] = name, g.one("registry.invalid/app:1", "registry.invalid/app:2")
		return c
	}
}

func (g generator) volume(name string) func() any {
	return func() any {
		v := map[string]any{"name": name}
		switch g.random.IntN(4) {
		case 0:
			v["emptyDir"] = map[string]any{}
		case 1:
			v["hostPath"] = g.one(map[string]any{"path": "/x"}, map[string]any{"path": "/y", "type": "Directory"})
		case 2:
			v["configMap"] = map[string]any{"name": g.one("a", "b")}
		default:
			v["emptyDir"] = map[string]any{"medium": "Memory"}
		}
		return v
	}
}

func (g generator) pod() map[string]any {
	spec := g.fields(map[string]func() any{
		"volumes":                       func() any { return g.some(g.volume("v"), g.volume("w"), g.volume("x")) },
		"initContainers":                func() any { return g.some(g.container("init"), g.container("wait")) },
		"nodeSelector":                  g.words(),
		"terminationGracePeriodSeconds": func() any { return g.one(int64(10), int64(30)) },
		"securityContext": func() any {
			return g.fields(map[string]func() any{"runAsUser": constant(int64(7)), "fsGroup": constant(int64(8))})
		},
		"imagePullSecrets": func() any {
			return g.some(constant(map[string]any{"name": "s"}), constant(map[string]any{"name": "t"}))
		},
		"tolerations": func() any {
			return g.some(constant(map[string]any{"key": "a", "operator": "Exists"}), constant(map[string]any{"key": "b", "operator": "Exists"}))
		},
		"hostAliases": func() any {
			return g.some(constant(map[string]any{"ip": "10.0.0.1", "hostnames": []any{"a"}}), constant(map[string]any{"ip": "10.0.0.2", "hostnames": []any{"b", "c"}}))
		},
	})
	spec["containers"] = append(g.some(g.container("web"), g.container("log"), g.container("mesh")), g.container("app")())
	return spec
}

// manifest returns a manifest of a kind, without a name.
func (g generator) manifest(kind string) map[string]any {
	m := map[string]any{"metadata": g.fields(map[string]func() any{"labels": g.words(), "annotations": g.words()})}
	switch kind {
	case "ConfigMap":
		maps.Copy(m, g.fields(map[string]func() any{"data": g.words(), "binaryData": func() any { return g.fields(map[string]func() any{"e": constant("eA==")}) }}))
	case "Service":
		port := func(number int64) func() any {
			return func() any {
				p := map[string]any{"port": number, "name": fmt.Sprintf("p%d", number)}
				maps.Copy(p, g.fields(map[string]func() any{"targetPort": func() any { return g.one(int64(8080), "http") }, "appProtocol": constant("http")}))
				return p
			}
		}
		spec := g.fields(map[string]func() any{"selector": g.words(), "sessionAffinity": func() any { return g.one("None", "ClientIP") }, "publishNotReadyAddresses": constant(true)})
		spec["ports"] = append(g.some(port(80), port(81), port(82)), port(83)())
		m["spec"] = spec
	case "Gadget":
		m["spec"] = g.fields(map[string]func() any{
			"size": func() any { return g.one(int64(1), int64(2)) }, "args": func() any { return g.some(constant("a"), constant("b")) }, "labels": g.words(),
		})
	case "ServiceAccount":
		maps.Copy(m, g.fields(map[string]func() any{
			"secrets": func() any {
				return g.some(constant(map[string]any{"name": "a"}), constant(map[string]any{"name": "b"}), constant(map[string]any{"name": "c"}))
			},
			"imagePullSecrets": func() any {
				return g.some(constant(map[string]any{"name": "a"}), constant(map[string]any{"name": "b"}))
			},
			"automountServiceAccountToken": func() any { return g.one(true, false) },
		}))
	default:
		m["spec"] = g.workload(kind)
	}
	return m
}

func (g generator) workload(kind string) map[string]any {
	spec := g.fields(map[string]func() any{"minReadySeconds": func() any { return g.one(int64(1), int64(5)) }, "revisionHistoryLimit": func() any { return g.one(int64(1), int64(5)) }})
	if g.likely(1, 2) {
		spec["replicas"] = g.one(int64(0), int64(1), int64(3))
	}
	switch kind {
	case "Deployment":
		if g.likely(1, 2) {
			spec["strategy"] = g.one(
				map[string]any{"type": "Recreate"}, map[string]any{"type": "RollingUpdate"}, map[string]any{},
				map[string]any{"rollingUpdate": map[string]any{"maxSurge": int64(2)}}, map[string]any{"rollingUpdate": map[string]any{"maxUnavailable": "50%"}},
			)
		}
	case "StatefulSet":
		spec["serviceName"] = "web"
		if g.likely(1, 2) {
			spec["updateStrategy"] = g.one(map[string]any{"type": "OnDelete"}, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(1)}})
		}
	default:
	}
	spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": "web"}}
	spec["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": g.pod()}
	return spec
}

// edited returns a copy of a manifest with changes from another one.
func (g generator) edited(value, fresh any) any {
	if fresh != nil && g.likely(1, 12) {
		return fresh
	}
	switch v := value.(type) {
	case map[string]any:
		f, _ := fresh.(map[string]any)
		return g.editedObject(v, f)
	case []any:
		f, _ := fresh.([]any)
		return g.editedList(v, f)
	default:
		if fresh != nil && g.likely(1, 4) {
			return fresh
		}
		return value
	}
}

func (g generator) editedObject(value, fresh map[string]any) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		needed := slices.Contains([]string{"name", "image", "containerPort", "port", "ip", "key", "operator", "hostnames", "selector", "template", "containers", "serviceName", "spec", "metadata"}, name)
		switch {
		case !needed && g.likely(1, 8):
		case !needed && g.likely(1, 30):
			object[name] = nil
		case name == "template":
			object[name] = g.editedTemplate(value[name], fresh[name])
		case name == "selector" || name == "name" || name == "serviceName":
			object[name] = value[name]
		default:
			object[name] = g.edited(value[name], fresh[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if _, has := value[name]; !has && g.likely(1, 3) {
			object[name] = fresh[name]
		}
	}
	return object
}

// editedTemplate keeps the labels of a workload's pods, which must match its selector.
func (g generator) editedTemplate(value, fresh any) any {
	v, _ := value.(map[string]any)
	f, _ := fresh.(map[string]any)
	spec, _ := v["spec"].(map[string]any)
	freshSpec, _ := f["spec"].(map[string]any)
	return map[string]any{"metadata": v["metadata"], "spec": g.editedObject(spec, freshSpec)}
}

func (g generator) editedList(value, fresh []any) []any {
	list := []any{}
	has := map[string]bool{}
	for _, element := range slices.Concat(value, fresh) {
		key := keyOf(element)
		if has[key] || key != "app" && g.likely(1, 4) {
			continue
		}
		has[key] = true
		if object, ok := element.(map[string]any); ok {
			element = g.editedObject(object, nil)
		}
		list = append(list, element)
	}
	if g.likely(1, 3) {
		g.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

// keyOf returns the key of a list element.
func keyOf(element any) string {
	object, ok := element.(map[string]any)
	if !ok {
		return fmt.Sprint(element)
	}
	for _, key := range []string{"containerPort", "port", "name", "ip", "key"} {
		if value, has := object[key]; has {
			return fmt.Sprint(value)
		}
	}
	return fmt.Sprint(object)
}
