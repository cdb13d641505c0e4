package apply_test

// containerEdits are of the list of containers, and of lists that are atomic.
func containerEdits() map[string]edit {
	return map[string]edit{
		"containers: one is added":   {kind: "Deployment", first: deployment("containers: [{name: a, image: i}]"), second: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), defaulted: true},
		"containers: one is removed": {kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), second: deployment("containers: [{name: b, image: i}]")},
		"containers: two are changed, one of them by another as well": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), others: []string{"set image OBJECT b=theirs"},
			second: deployment("containers: [{name: a, image: 'i:2'}, {name: b, image: 'i:2'}]"),
		},
		"containers: the order changes": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}, {name: c, image: i}]"),
			second: deployment("containers: [{name: c, image: i}, {name: a, image: i}, {name: b, image: i}]"),
		},
		"containers: another manager's stays, with one added": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}]"), others: []string{addContainer},
			second: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), defaulted: true,
		},
		"containers: another manager's stays, with one added in front": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}]"), others: []string{addContainer},
			second: deployment("containers: [{name: b, image: i}, {name: a, image: i}]"), defaulted: true,
		},
		"containers: another manager's stays where one goes and one comes": {
			// The documentation's own example, with the order that kubectl gives: docs/merge-differences.md.
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), others: []string{addContainer},
			second: deployment("containers: [{name: b, image: i}, {name: c, image: i}]"), defaulted: true,
		},
		"containers: another manager's stays where the order changes": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), others: []string{addContainer},
			second: deployment("containers: [{name: b, image: i}, {name: a, image: i}]"),
		},
		"containers: all are others": {kind: "Deployment", first: deployment("containers: [{name: a, image: i}, {name: b, image: i}]"), second: deployment("containers: [{name: c, image: i}]"), defaulted: true},
		"containers: another manager's stays where the manifest adopts it": {
			kind: "Deployment", first: deployment("containers: [{name: a, image: i}]"), others: []string{addContainer},
			second: deployment("containers: [{name: theirs, image: j}, {name: a, image: i}]"),
		},
		"initial containers: added in front, changed and removed": {
			kind:  "Deployment",
			first: deployment(plain + ", initContainers: [{name: a, image: i}, {name: b, image: i}]"), second: deployment(plain + ", initContainers: [{name: c, image: i}, {name: b, image: j}]"), defaulted: true,
		},
		"initial containers: the list is removed": {kind: "Deployment", first: deployment(plain + ", initContainers: [{name: a, image: i}]"), second: deployment(plain)},
		"initial containers: the list is removed, and another manager's goes with it": {
			kind: "Deployment", first: deployment(plain + ", initContainers: [{name: a, image: i}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"initContainers":[{"name":"theirs","image":"i"}]}}}}`}, second: deployment(plain),
		},
		"initial containers: the list becomes empty, another manager's stays": {
			kind: "Deployment", first: deployment(plain + ", initContainers: [{name: a, image: i}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"initContainers":[{"name":"theirs","image":"i"}]}}}}`}, second: deployment(plain + ", initContainers: []"),
		},
		"initial containers: the list becomes empty": {
			kind: "Deployment", first: deployment(plain + ", initContainers: [{name: a, image: i}]"), second: deployment(plain + ", initContainers: []"), defaulted: true,
		},
		"initial containers: the list becomes null": {kind: "Deployment", first: deployment(plain + ", initContainers: [{name: a, image: i}]"), second: deployment(plain + ", initContainers: null")},
		"arguments are atomic":                      {kind: "Deployment", first: container("args: [a, b]"), second: container("args: [a, c, b]")},
		"arguments: another manager's go": {
			kind: "Deployment", first: container("args: [a, b]"), others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"containers":[{"name":"app","args":["a","b","theirs"]}]}}}}`},
			second: container("args: [a, b]"),
		},
		"a command is removed, arguments become empty": {kind: "Deployment", first: container("command: [a], args: [a, b]"), second: container("args: []"), defaulted: true},
	}
}

// addContainer is the command by which another adds a container.
const addContainer = `patch OBJECT -p {"spec":{"template":{"spec":{"containers":[{"name":"theirs","image":"i"}]}}}}`

// keyedListEdits are of the other lists in a container.
func keyedListEdits() map[string]edit {
	return map[string]edit{
		"env: added, changed, removed and reordered": {
			kind:   "Deployment",
			first:  container("env: [{name: A, value: one}, {name: B, value: one}, {name: C, value: one}]"),
			second: container("env: [{name: D, value: one}, {name: C, value: two}, {name: A, value: one}]"),
		},
		"env: another manager's stays":                     {kind: "Deployment", first: container("env: [{name: A, value: one}]"), others: []string{"set env OBJECT THEIRS=one"}, second: container("env: [{name: B, value: one}, {name: A, value: two}]")},
		"env: removed, and another manager's goes with it": {kind: "Deployment", first: container("env: [{name: A, value: one}]"), others: []string{"set env OBJECT THEIRS=one"}, second: container("")},
		"env: becomes empty, another manager's stays":      {kind: "Deployment", first: container("env: [{name: A, value: one}]"), others: []string{"set env OBJECT THEIRS=one"}, second: container("env: []")},
		"env: another manager's value is overwritten": {
			kind: "Deployment", first: container("env: [{name: A, value: one}]"), others: []string{"set env OBJECT A=theirs"}, second: container("env: [{name: A, value: one}]"),
		},
		"env: a value becomes a reference": {
			kind: "Deployment", first: container("env: [{name: A, value: one}]"), second: container("env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"),
		},
		"env: a reference becomes a value": {
			kind: "Deployment", first: container("env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"), second: container("env: [{name: A, value: one}]"),
		},
		"env: a reference becomes another": {
			kind: "Deployment", first: container("env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]"), second: container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), defaulted: true,
		},
		"env: a value is removed": {kind: "Deployment", first: container("env: [{name: A, value: one}]"), second: container("env: [{name: A}]")},
		"sources of env are atomic": {
			kind: "Deployment", first: container("envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: b}}]"), second: container("envFrom: [{prefix: X_, secretRef: {name: c}}, {configMapRef: {name: a}}]"),
		},
		"mounts: added, moved, removed": {
			kind:   "Deployment",
			first:  container("volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, subPath: b}]", "volumes: [{name: v, emptyDir: {}}]"),
			second: container("volumeMounts: [{name: v, mountPath: /c}, {name: v, mountPath: /b, readOnly: true}]", "volumes: [{name: v, emptyDir: {}}]"),
		},
		"mounts and volumes: another manager's stay": {
			kind: "Deployment", first: container("volumeMounts: [{name: v, mountPath: /a}]", "volumes: [{name: v, emptyDir: {}}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"volumes":[{"name":"theirs","emptyDir":{}}],"containers":[{"name":"app","volumeMounts":[{"name":"theirs","mountPath":"/theirs"}]}]}}}}`},
			second: container("volumeMounts: [{name: w, mountPath: /b}]", "volumes: [{name: w, emptyDir: {}}]"),
		},
		"devices: added and removed": {
			kind:   "Deployment",
			first:  container("volumeDevices: [{name: v, devicePath: /dev/a}]", "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"),
			second: container("volumeDevices: [{name: v, devicePath: /dev/b}]", "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"),
		},
		"container ports: added, changed and removed, of two protocols": {
			kind:   "Deployment",
			first:  container("ports: [{containerPort: 80, protocol: TCP}, {containerPort: 53, protocol: UDP}, {containerPort: 81}]"),
			second: container("ports: [{containerPort: 82, protocol: UDP}, {containerPort: 53, protocol: TCP}, {containerPort: 80, name: http}]"), defaulted: true,
		},
		"container ports: another manager's stays": {
			kind: "Deployment", first: container("ports: [{containerPort: 80}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"containers":[{"name":"app","ports":[{"containerPort":9090,"name":"metrics"}]}]}}}}`},
			second: container("ports: [{containerPort: 81}]"), defaulted: true,
		},
		"container ports: one number for two protocols stays where something else changes": {
			// Where such a list itself changes, upstream loses a port: docs/merge-differences.md.
			kind:   "Deployment",
			first:  container("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]"),
			second: container("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}], args: [a]"),
		},
		"resize policies are atomic": {
			kind: "Deployment", first: container("resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]"),
			second:        container("resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]"),
			droppedBefore: 33, // InPlacePodVerticalScaling was off by default
		},
	}
}
