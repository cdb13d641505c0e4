package apply_test

// podEdit is an edit of a Deployment's pod spec beside its containers. Others are commands that run in between.
func podEdit(first, second string, others ...string) edit {
	return edit{kind: "Deployment", first: deployment(plain + ", " + first), second: deployment(plain + ", " + second), others: others}
}

// specEdit is an edit of a Deployment's spec beside its pod template.
func specEdit(first, second string) edit {
	return edit{kind: "Deployment", first: deployment(plain, first), second: deployment(plain, second)}
}

// podEdits are of the lists of a pod beside its containers.
func podEdits() map[string]edit {
	return map[string]edit{
		"pull secrets: added and removed, another manager's stays": podEdit(
			"imagePullSecrets: [{name: a}, {name: b}]",
			"imagePullSecrets: [{name: c}, {name: b}]",
			`patch OBJECT -p {"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"theirs"}]}}}}`,
		),
		"pull secrets: the order changes": podEdit("imagePullSecrets: [{name: a}, {name: b}]", "imagePullSecrets: [{name: b}, {name: a}]"),
		"host aliases: added, changed and removed": podEdit(
			"hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}, {ip: 10.0.0.2, hostnames: [a]}]",
			"hostAliases: [{ip: 10.0.0.3, hostnames: [a]}, {ip: 10.0.0.1, hostnames: [b]}]",
		),
		"host aliases: another manager's stays": podEdit(
			"hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]",
			"hostAliases: [{ip: 10.0.0.2, hostnames: [a]}]",
			`patch OBJECT -p {"spec":{"template":{"spec":{"hostAliases":[{"ip":"10.0.0.9","hostnames":["theirs"]}]}}}}`,
		),
		"spread constraints: added, changed and removed": podEdit(
			"topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, {topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
			"topologySpreadConstraints: [{topologyKey: host, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, {topologyKey: zone, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]",
		),
		"spread constraints: another manager's stays": podEdit(
			"topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
			"topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
			`patch OBJECT -p {"spec":{"template":{"spec":{"topologySpreadConstraints":[{"topologyKey":"theirs","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"}]}}}}`,
		),
		"tolerations are atomic": podEdit(
			"tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}]",
			"tolerations: [{key: b, operator: Exists, effect: NoSchedule}, {key: a, operator: Exists}]",
			`patch OBJECT -p {"spec":{"template":{"spec":{"tolerations":[{"key":"theirs","operator":"Exists"}]}}}}`,
		),
		"another manager's tolerations go with the manifest's": {
			kind: "Deployment", first: deployment(plain + ", tolerations: [{key: a, operator: Exists}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"tolerations":[{"key":"theirs","operator":"Exists"}]}}}}`},
			second: deployment(plain),
		},
		"name servers, search domains and options of a resolver": podEdit(
			"dnsPolicy: None, dnsConfig: {nameservers: [10.0.0.1], searches: [a, b], options: [{name: x, value: one}]}",
			"dnsPolicy: None, dnsConfig: {nameservers: [10.0.0.1, 10.0.0.2], searches: [b], options: [{name: z}]}",
		),
		"terms of an affinity are atomic": podEdit(
			"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: a}}]}}",
			"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 2, podAffinityTerm: {topologyKey: b}}, {weight: 1, podAffinityTerm: {topologyKey: a}}]}}",
		),
		"sysctls and groups of a security context": podEdit(
			"securityContext: {fsGroup: 1, supplementalGroups: [1, 2], sysctls: [{name: kernel.shm_rmid_forced, value: '0'}]}",
			"securityContext: {supplementalGroups: [3, 1], sysctls: [{name: kernel.shm_rmid_forced, value: '1'}]}",
		),
		"capabilities are atomic": {
			kind:   "Deployment",
			first:  container("securityContext: {capabilities: {add: [A, B], drop: [ALL]}}"),
			second: container("securityContext: {capabilities: {add: [C, A]}}"),
		},
		"a pod's labels and image, and its token's volume stays": {
			kind: "Pod", first: "{metadata: {labels: {a: one}}, spec: {" + plain + "}}",
			second: "{metadata: {labels: {b: one}}, spec: {containers: [{name: app, image: registry.invalid/other}]}}",
		},
		"a pod gets a toleration and a deadline": {
			kind: "Pod", first: "spec: {" + plain + "}",
			second: "spec: {activeDeadlineSeconds: 60, tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: a, operator: Exists}], " + plain + "}",
		},
		"a pod loses one of its gates and another manager's label stays": {
			kind: "Pod", first: "spec: {schedulingGates: [{name: example.com/a}, {name: example.com/b}], " + plain + "}",
			others: []string{"label OBJECT theirs=one"}, second: "spec: {schedulingGates: [{name: example.com/b}], nodeSelector: {a: one}, " + plain + "}",
		},
	}
}

// unionEdits returns edits of unions.
func unionEdits() map[string]edit {
	return map[string]edit{
		"the strategy: a defaulted field is removed with the type": {kind: "Deployment", first: deployment(plain), second: deployment(plain, "strategy: {type: Recreate}")},
		"the strategy: a set field is removed with the type": specEdit(
			"strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}",
			"strategy: {type: Recreate}",
		),
		"the strategy: back to a rolling update": {kind: "Deployment", first: deployment(plain, "strategy: {type: Recreate}"), second: deployment(plain, "strategy: {rollingUpdate: {maxSurge: 2}}"), defaulted: true},
		"the strategy: a part is removed, and the type is defaulted": {
			kind:   "Deployment",
			first:  deployment(plain, "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}"),
			second: deployment(plain, "strategy: {rollingUpdate: {maxUnavailable: 1}}"), defaulted: true,
		},
		"the strategy: an empty object keeps the fields, nothing changes": {
			kind: "Deployment", first: deployment(plain), others: []string{`patch OBJECT -p {"spec":{"strategy":{"rollingUpdate":{"maxSurge":5}}}}`},
			second: deployment(plain, "strategy: {}"),
		},
		"the strategy: removed":      {kind: "Deployment", first: deployment(plain, "strategy: {type: Recreate}"), second: deployment(plain), defaulted: true},
		"the strategy: becomes null": {kind: "Deployment", first: deployment(plain, "strategy: {type: Recreate}"), second: deployment(plain, "strategy: null"), defaulted: true},
		"the strategy: a number becomes a percentage": specEdit(
			"strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}",
			"strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}",
		),
		"volumes: a type is switched": {
			kind: "Deployment", first: deployment(plain + ", volumes: [{name: v, emptyDir: {}}]"), second: deployment(plain + ", volumes: [{name: v, configMap: {name: c}}]"), defaulted: true,
		},
		"volumes: a type is switched after another manager chose a third": podEdit(
			"volumes: [{name: v, emptyDir: {}}]",
			"volumes: [{name: v, configMap: {name: c, defaultMode: 420}}]",
			`patch OBJECT -p {"spec":{"template":{"spec":{"volumes":[{"$retainKeys":["name","secret"],"name":"v","secret":{"secretName":"s"}}]}}}}`,
		),
		"volumes: added in front, changed, removed and reordered": {
			kind:   "Deployment",
			first:  deployment(plain + ", volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: c, items: [{key: x, path: x}]}}, {name: d, secret: {secretName: s}}]"),
			second: deployment(plain + ", volumes: [{name: e, hostPath: {path: /e}}, {name: d, secret: {secretName: s}}, {name: b, configMap: {name: c, items: [{key: z, path: x}]}}]"), defaulted: true,
		},
		"volumes: a field in a volume is removed": podEdit("volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]", "volumes: [{name: v, emptyDir: {}}]"),
		"volumes: sources of a projection are atomic": podEdit(
			"volumes: [{name: v, projected: {sources: [{configMap: {name: a}}, {configMap: {name: b}}]}}]",
			"volumes: [{name: v, projected: {sources: [{secret: {name: c}}, {configMap: {name: a}}]}}]",
		),
		"volumes: all are removed, and another manager's goes with them": {
			kind: "Deployment", first: deployment(plain + ", volumes: [{name: v, emptyDir: {}}]"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"volumes":[{"name":"theirs","emptyDir":{}}]}}}}`}, second: deployment(plain),
		},
		"a probe: its kind is switched, which is no union for strategicpatch": {
			kind: "Deployment", first: container("readinessProbe: {httpGet: {path: /, port: 80}}"), second: container("readinessProbe: {tcpSocket: {port: 80}}"),
		},
	}
}
