package apply_test

// podEdit is an edit of a Deployment's pod spec beside its containers. Others are commands that run in between.
func podEdit(first, second string, others ...string) edit {
	return edit{kind: "Deployment", first: deployment(plain + ", " + first), second: deployment(plain + ", " + second), others: others}
}

// specEdit is an edit of a Deployment's spec beside its pod template.
func specEdit(first, second string) edit {
	return edit{kind: "Deployment", first: deployment(plain, first), second: deployment(plain, second)}
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
