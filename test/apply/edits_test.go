package apply_test

// edit is a change of a manifest: the first manifest is applied, another manager writes, and the second manifest is applied.
type edit struct {
	// first and second are the manifests as YAML, without apiVersion, kind and name.
	first, second string
	// other is a kubectl command that runs in between, with OBJECT for the object, or empty. Its arguments are separated by spaces.
	other string
}

// template returns a manifest of a Deployment with a pod spec, spec one with other fields of its spec.
func template(pod string) string { return spec(pod, "") }

func spec(pod, others string) string {
	return "spec: {" + others + "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {" + pod + "}}}"
}

// app returns a manifest of a Deployment whose container has the given fields, and strategy one with a strategy.
func app(fields string) string {
	return template("volumes: [{name: v, emptyDir: {}}], containers: [{name: app, image: registry.invalid/app, " + fields + "}]")
}

const plain = "containers: [{name: app, image: registry.invalid/app}]"

func strategy(text string) string { return spec(plain, "strategy: "+text+", ") }

// patchPod returns a strategic merge patch of a pod spec.
func patchPod(pod string) string { return `patch OBJECT -p {"spec":{"template":{"spec":` + pod + `}}}` }

const (
	addContainer     = `patch OBJECT -p {"spec":{"template":{"spec":{"containers":[{"name":"theirs","image":"i"}]}}}}`
	addInitContainer = `patch OBJECT -p {"spec":{"template":{"spec":{"initContainers":[{"name":"theirs","image":"i"}]}}}}`
	addVariable      = "set env OBJECT THEIRS=one"
)

// deployments are edits of a Deployment, for which kubectl sends a strategic merge patch.
var deployments = map[string]edit{
	"containers: one is added":                                       {template("containers: [{name: a, image: i}]"), template("containers: [{name: a, image: i}, {name: b, image: i}]"), ""},
	"containers: one is removed":                                     {template("containers: [{name: a, image: i}, {name: b, image: i}]"), template("containers: [{name: b, image: i}]"), ""},
	"containers: two are changed, one of them by another as well":    {template("containers: [{name: a, image: i}, {name: b, image: i}]"), template("containers: [{name: a, image: 'i:2'}, {name: b, image: 'i:2'}]"), "set image OBJECT b=theirs"},
	"containers: the order changes":                                  {template("containers: [{name: a, image: i}, {name: b, image: i}, {name: c, image: i}]"), template("containers: [{name: c, image: i}, {name: a, image: i}, {name: b, image: i}]"), ""},
	"containers: another manager's stays, with one added in front":   {template("containers: [{name: a, image: i}]"), template("containers: [{name: b, image: i}, {name: a, image: i}]"), addContainer},
	"containers: another manager's stays, one goes and one comes":    {template("containers: [{name: a, image: i}, {name: b, image: i}]"), template("containers: [{name: b, image: i}, {name: c, image: i}]"), addContainer},
	"containers: another manager's stays where the order changes":    {template("containers: [{name: a, image: i}, {name: b, image: i}]"), template("containers: [{name: b, image: i}, {name: a, image: i}]"), addContainer},
	"containers: the manifest adopts another manager's":              {template("containers: [{name: a, image: i}]"), template("containers: [{name: theirs, image: j}, {name: a, image: i}]"), addContainer},
	"initial containers: added in front, changed and removed":        {template(plain + ", initContainers: [{name: a, image: i}, {name: b, image: i}]"), template(plain + ", initContainers: [{name: c, image: i}, {name: b, image: j}]"), ""},
	"initial containers: the list is removed, with another's":        {template(plain + ", initContainers: [{name: a, image: i}]"), template(plain), addInitContainer},
	"initial containers: the list becomes empty, and another's stay": {template(plain + ", initContainers: [{name: a, image: i}]"), template(plain + ", initContainers: []"), addInitContainer},
	"initial containers: the list becomes empty":                     {template(plain + ", initContainers: [{name: a, image: i}]"), template(plain + ", initContainers: []"), ""},
	"initial containers: the list becomes null":                      {template(plain + ", initContainers: [{name: a, image: i}]"), template(plain + ", initContainers: null"), ""},

	"arguments: another manager's go":                   {app("args: [a, b]"), app("args: [a, b]"), patchPod(`{"containers":[{"name":"app","args":["a","b","theirs"]}]}`)},
	"a command is removed, arguments become empty":      {app("command: [a], args: [a, b]"), app("args: []"), ""},
	"env: added, changed, removed and reordered":        {app("env: [{name: A, value: one}, {name: B, value: one}, {name: C, value: one}]"), app("env: [{name: D, value: one}, {name: C, value: two}, {name: A, value: one}]"), ""},
	"env: another manager's stays":                      {app("env: [{name: A, value: one}]"), app("env: [{name: B, value: one}, {name: A, value: two}]"), addVariable},
	"env: removed, with another manager's":              {app("env: [{name: A, value: one}]"), app(""), addVariable},
	"env: becomes empty, and another manager's stays":   {app("env: [{name: A, value: one}]"), app("env: []"), addVariable},
	"env: another manager's value is overwritten":       {app("env: [{name: A, value: one}]"), app("env: [{name: A, value: one}]"), "set env OBJECT A=theirs"},
	"env: a value becomes a reference":                  {app("env: [{name: A, value: one}]"), app("env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"), ""},
	"env: a reference becomes another":                  {app("env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"), app("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), ""},
	"sources of env are atomic":                         {app("envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: b}}]"), app("envFrom: [{prefix: X_, secretRef: {name: c}}, {configMapRef: {name: a}}]"), ""},
	"mounts: added, moved, removed":                     {app("volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, subPath: b}]"), app("volumeMounts: [{name: v, mountPath: /c}, {name: v, mountPath: /b, readOnly: true}]"), ""},
	"ports: added, changed and removed, two protocols":  {app("ports: [{containerPort: 80, protocol: TCP}, {containerPort: 53, protocol: UDP}, {containerPort: 81}]"), app("ports: [{containerPort: 82, protocol: UDP}, {containerPort: 53, protocol: TCP}, {containerPort: 80, name: http}]"), ""},
	"ports: another manager's stays":                    {app("ports: [{containerPort: 80}]"), app("ports: [{containerPort: 81}]"), patchPod(`{"containers":[{"name":"app","ports":[{"containerPort":9090,"name":"metrics"}]}]}`)},
	"ports: an unchanged list with one number twice":    {app("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]"), app("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}], args: [a]"), ""},
	"a probe: its kind is switched, which is no union":  {app("readinessProbe: {httpGet: {path: /, port: 80}}"), app("readinessProbe: {tcpSocket: {port: 80}}"), ""},
	"the strategy: a default is removed with the type":  {template(plain), strategy("{type: Recreate}"), ""},
	"the strategy: a field is removed with the type":    {strategy("{type: RollingUpdate, rollingUpdate: {maxSurge: 2}}"), strategy("{type: Recreate}"), ""},
	"the strategy: back to a rolling update":            {strategy("{type: Recreate}"), strategy("{rollingUpdate: {maxSurge: 2}}"), ""},
	"the strategy: an empty object keeps the fields":    {template(plain), strategy("{}"), `patch OBJECT -p {"spec":{"strategy":{"rollingUpdate":{"maxSurge":5}}}}`},
	"the strategy: removed":                             {strategy("{type: Recreate}"), template(plain), ""},
	"the strategy: becomes null":                        {strategy("{type: Recreate}"), strategy("null"), ""},
	"the strategy: a number becomes a percentage":       {strategy("{rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}"), strategy("{rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}"), ""},
	"volumes: a type is switched":                       {template(plain + ", volumes: [{name: v, emptyDir: {}}]"), template(plain + ", volumes: [{name: v, configMap: {name: c}}]"), ""},
	"volumes: a type is switched after another chose":   {template(plain + ", volumes: [{name: v, emptyDir: {}}]"), template(plain + ", volumes: [{name: v, configMap: {name: c}}]"), patchPod(`{"volumes":[{"$retainKeys":["name","secret"],"name":"v","secret":{"secretName":"s"}}]}`)},
	"volumes: added, changed, removed and reordered":    {template(plain + ", volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: c, items: [{key: x, path: x}]}}, {name: d, secret: {secretName: s}}]"), template(plain + ", volumes: [{name: e, hostPath: {path: /e}}, {name: d, secret: {secretName: s}}, {name: b, configMap: {name: c, items: [{key: z, path: x}]}}]"), ""},
	"volumes: sources of a projection are atomic":       {template(plain + ", volumes: [{name: v, projected: {sources: [{configMap: {name: a}}, {configMap: {name: b}}]}}]"), template(plain + ", volumes: [{name: v, projected: {sources: [{secret: {name: c}}, {configMap: {name: a}}]}}]"), ""},
	"volumes: all are removed, with another manager's":  {template(plain + ", volumes: [{name: v, emptyDir: {}}]"), template(plain), patchPod(`{"volumes":[{"name":"theirs","emptyDir":{}}]}`)},
	"finalizers: a set keeps another manager's":         {"metadata: {finalizers: [e.org/a]}, " + template(plain), "metadata: {finalizers: [e.org/b, e.org/a]}, " + template(plain), `patch OBJECT -p {"metadata":{"finalizers":["e.org/theirs"]}}`},
	"labels: added and removed, another manager's stay": {"metadata: {labels: {a: one}}, " + template(plain), "metadata: {labels: {b: one}}, " + template(plain), "label OBJECT theirs=one"},
}

// gadgetEdits are edits of a custom resource, for which kubectl sends a JSON merge patch: only server-side apply uses the list types
// of its schema.
var gadgetEdits = map[string]edit{
	"fields are set, changed and removed":                    {"spec: {size: 3, ratio: 0.5}", "spec: {ratio: 1.25, labels: {a: one}}", ""},
	"a field becomes null":                                   {"spec: {size: 3, ratio: 0.5}", "spec: {size: 3, ratio: null}", ""},
	"another manager's field and map entry stay":             {"spec: {labels: {a: one}}", "spec: {labels: {b: one}}", `patch OBJECT --type=merge -p {"spec":{"ratio":1.5,"labels":{"theirs":"one"}}}`},
	"an atomic map merges all the same":                      {"spec: {selector: {a: one}}", "spec: {selector: {b: one}}", `patch OBJECT --type=merge -p {"spec":{"selector":{"theirs":"one"}}}`},
	"a list by keys loses another manager's":                 {"spec: {listeners: [{port: 80}]}", "spec: {listeners: [{port: 81, name: a}, {port: 80}]}", `patch OBJECT --type=merge -p {"spec":{"listeners":[{"port":80},{"port":90}]}}`},
	"a set loses another manager's":                          {"spec: {hosts: [a, b]}", "spec: {hosts: [c, a]}", `patch OBJECT --type=merge -p {"spec":{"hosts":["a","b","theirs"]}}`},
	"a list is removed, another becomes empty":               {"spec: {args: [a], hosts: [a]}", "spec: {hosts: []}", ""},
	"objects without a schema merge":                         {"spec: {free: {a: {b: 1, c: 1}, l: [{x: 1}]}}", "spec: {free: {a: {b: 2}, l: [{z: 1}, {x: 1}], m: null}}", `patch OBJECT --type=merge -p {"spec":{"free":{"a":{"theirs":1}}}}`},
	"a null that was there before clears nothing":            {"spec: {free: {a: 1, m: null}}", "spec: {free: {a: 2, m: null}}", `patch OBJECT --type=merge -p {"spec":{"free":{"m":5}}}`},
	"the whole spec is removed":                              {"spec: {size: 3, args: [a]}", "metadata: {labels: {a: one}}", ""},
	"an object becomes a list":                               {"spec: {free: {a: {b: 1}}}", "spec: {free: {a: [1]}}", ""},
	"finalizers lose another manager's":                      {"metadata: {finalizers: [e.org/a]}", "metadata: {finalizers: [e.org/b, e.org/a]}", `patch OBJECT --type=merge -p {"metadata":{"finalizers":["e.org/a","e.org/theirs"]}}`},
	"the same manifest resets a size, and nothing else":      {"spec: {size: 3}", "spec: {size: 3}", `patch OBJECT --type=merge -p {"spec":{"size":7,"ratio":1.5}}`},
	"the same manifest beside another manager's field stays": {"spec: {size: 3}", "spec: {size: 3}", `patch OBJECT --type=merge -p {"spec":{"ratio":1.5}}`},
}
