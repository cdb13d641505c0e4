package apply_test

// fieldEdits returns edits of single fields and of blocks.
func fieldEdits() map[string]edit {
	return map[string]edit{
		"a field that was missing is set":                       {kind: "Deployment", first: deployment(plain), second: deployment(plain, "minReadySeconds: 5")},
		"a field is changed":                                    {kind: "Deployment", first: deployment(plain, "replicas: 3"), second: deployment(plain, "replicas: 4")},
		"a field without a default is removed":                  {kind: "Deployment", first: deployment(plain, "minReadySeconds: 5"), second: deployment(plain)},
		"a field with a default is removed":                     {kind: "Deployment", first: deployment(plain, "replicas: 3"), second: deployment(plain), defaulted: true},
		"a field with a default becomes null":                   {kind: "Deployment", first: deployment(plain, "replicas: 3"), second: deployment(plain, "replicas: null"), defaulted: true},
		"a field that was always null clears another manager's": {kind: "Deployment", first: deployment(plain, "paused: null"), others: []string{`patch OBJECT -p {"spec":{"paused":true}}`}, second: deployment(plain, "paused: null")},
		"a null clears a field that another manager set": {
			kind: "Deployment", first: deployment(plain), others: []string{"scale OBJECT --replicas=7"},
			second: deployment(plain, "replicas: null"), defaulted: true,
		},
		"a null for a default, nothing changes": {kind: "Deployment", first: deployment(plain), second: deployment(plain, "progressDeadlineSeconds: null"), defaulted: true},
		"a field that another has scaled is set back by the same manifest": {
			kind: "Deployment", first: deployment(plain, "replicas: 3"), others: []string{"scale OBJECT --replicas=7"},
			second: deployment(plain, "replicas: 3"),
		},
		"a field that another has scaled stays where no manifest has it": {
			kind: "Deployment", first: deployment(plain), others: []string{"scale OBJECT --replicas=7"},
			second: deployment(plain, "minReadySeconds: 5"),
		},
		"a field that another has changed is removed with the manifest's": {
			kind: "Deployment", first: deployment(plain, "revisionHistoryLimit: 3"),
			others: []string{`patch OBJECT -p {"spec":{"revisionHistoryLimit":5}}`}, second: deployment(plain), defaulted: true,
		},
		"a field that another has removed already is removed, nothing changes": {
			kind: "Deployment", first: deployment(plain, "minReadySeconds: 5"),
			others: []string{`patch OBJECT -p {"spec":{"minReadySeconds":null}}`}, second: deployment(plain),
		},
		"a field that another has removed comes back": {
			kind: "Deployment", first: deployment(plain, "minReadySeconds: 5"),
			others: []string{`patch OBJECT -p {"spec":{"minReadySeconds":null}}`}, second: deployment(plain, "minReadySeconds: 5"),
		},
		"the manifest adopts another manager's value, nothing changes": {
			kind: "Deployment", first: deployment(plain), others: []string{"scale OBJECT --replicas=7"}, second: deployment(plain, "replicas: 7"),
		},
		"the same manifest again, nothing changes": {kind: "Deployment", first: deployment(plain, "replicas: 3"), second: deployment(plain, "replicas: 3")},
		"a boolean becomes its zero value":         {kind: "Deployment", first: deployment(plain, "paused: true"), second: deployment(plain, "paused: false"), defaulted: true},
		"a quantity is written differently, nothing changes": {
			kind: "Deployment", first: container("resources: {limits: {memory: 1Gi}}"), second: container("resources: {limits: {memory: 1024Mi}}"), defaulted: true,
		},
		"a block is removed":         {kind: "Deployment", first: container("readinessProbe: {httpGet: {path: /, port: 80}}"), second: container("")},
		"a block becomes null":       {kind: "Deployment", first: container("readinessProbe: {httpGet: {path: /, port: 80}}"), second: container("readinessProbe: null")},
		"a block is removed in part": {kind: "Deployment", first: container("readinessProbe: {periodSeconds: 3, httpGet: {path: /, port: 80}}"), second: container("readinessProbe: {httpGet: {path: /, port: 80}}"), defaulted: true},
		"a block becomes empty": {
			kind: "Deployment", first: container("securityContext: {runAsNonRoot: true, runAsUser: 5}"), second: container("securityContext: {}"),
		},
		"a block that was missing is set": {kind: "Deployment", first: container(""), second: container("livenessProbe: {tcpSocket: {port: 80}}"), defaulted: true},
		"a block is removed, with the field that another manager added": {
			kind: "Deployment", first: container("securityContext: {runAsNonRoot: true}"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"containers":[{"name":"app","securityContext":{"runAsUser":5}}]}}}}`},
			second: container(""),
		},
		"a number or a name becomes the other": {
			kind: "Deployment", first: container("readinessProbe: {httpGet: {path: /, port: 80}}"), second: container("readinessProbe: {httpGet: {path: /, port: http}}"),
		},
		"an affinity is removed whole": {
			kind:   "Deployment",
			first:  deployment(plain + ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}"),
			second: deployment(plain),
		},
	}
}

// mapEdits returns edits of maps with arbitrary keys: labels, annotations, data, quantities.
func mapEdits() map[string]edit {
	return map[string]edit{
		"labels: added, changed and removed": {kind: "ConfigMap", first: "metadata: {labels: {a: one, b: one}}", second: "metadata: {labels: {a: two, c: one}}"},
		"labels: another manager's stay":     {kind: "ConfigMap", first: "metadata: {labels: {a: one}}", others: []string{"label OBJECT theirs=one"}, second: "metadata: {labels: {b: one}}"},
		"labels: all are removed, and another manager's go with them": {
			kind: "Deployment", first: "metadata: {labels: {a: one}}\n" + deployment(plain), others: []string{"label OBJECT theirs=one"}, second: deployment(plain),
		},
		"labels: all are removed, but not the map, another manager's stays": {
			kind: "Deployment", first: "metadata: {labels: {a: one}}\n" + deployment(plain), others: []string{"label OBJECT theirs=one"}, second: "metadata: {labels: {}}\n" + deployment(plain),
		},
		"labels: a null clears another manager's": {
			// The merge leaves an empty map of labels, which the API server does not store.
			kind: "ConfigMap", first: "data: {a: one}", others: []string{"label OBJECT theirs=one"},
			second: "{metadata: {labels: {theirs: null}}, data: {a: one}}", defaulted: true,
		},
		"annotations: added, changed and removed, another manager's stay": {
			kind: "Service", first: "{metadata: {annotations: {a: one, b: one}}, spec: {ports: [{port: 80}]}}",
			others: []string{"annotate OBJECT seen=yes"}, second: "{metadata: {annotations: {a: two, c: one}}, spec: {ports: [{port: 80}]}}",
		},
		"annotations: one becomes null": {
			kind: "ConfigMap", first: "metadata: {annotations: {a: one, b: one}}", others: []string{"annotate OBJECT seen=yes"},
			second: "metadata: {annotations: {a: null, b: two}}",
		},
		"annotations: all are removed": {kind: "ConfigMap", first: "metadata: {annotations: {a: one}}", second: "data: {a: one}"},
		"data: added, changed and removed, another manager's stay": {
			kind: "ConfigMap", first: "data: {a: one, b: one}", others: []string{`patch OBJECT -p {"data":{"theirs":"one"}}`}, second: "data: {a: two, c: \"\"}",
		},
		"data: all is removed":             {kind: "ConfigMap", first: "data: {a: one}", second: "metadata: {}"},
		"data: the empty object":           {kind: "ConfigMap", first: "data: {a: one}", second: "data: {}", defaulted: true},
		"data: becomes null":               {kind: "ConfigMap", first: "data: {a: one}", second: "data: null"},
		"binary data replaces another":     {kind: "ConfigMap", first: "binaryData: {a: YQ==}", second: "binaryData: {a: Yg==, b: YQ==}"},
		"data moves to binary data":        {kind: "ConfigMap", first: "data: {a: one}", second: "binaryData: {a: YQ==}"},
		"secret data by its text":          {kind: "Secret", first: "stringData: {a: one}", second: "stringData: {a: two, b: one}", defaulted: true},
		"the node selector: all its kinds": {kind: "Deployment", first: deployment(plain + ", nodeSelector: {a: one, b: one}"), second: deployment(plain + ", nodeSelector: {a: two, c: one}")},
		"the node selector is removed, and another manager's entry goes with it": {
			kind: "Deployment", first: deployment(plain + ", nodeSelector: {a: one}"),
			others: []string{`patch OBJECT -p {"spec":{"template":{"spec":{"nodeSelector":{"theirs":"one"}}}}}`}, second: deployment(plain),
		},
		"quantities: added, changed and removed": {
			kind:   "Deployment",
			first:  container("resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 1}}"),
			second: container("resources: {requests: {cpu: 200m, ephemeral-storage: 1Gi}, limits: {memory: 2Gi}}"),
		},
		"quantities: all are removed, and another manager's go with them": {
			kind: "Deployment", first: container("resources: {requests: {cpu: 100m}}"), others: []string{"set resources OBJECT --limits=memory=1Gi"}, second: container(""), defaulted: true,
		},
		"quantities: the requests are removed, another manager's limits stay": {
			kind: "Deployment", first: container("resources: {requests: {cpu: 100m}}"), others: []string{"set resources OBJECT --limits=memory=1Gi"}, second: container("resources: {}"),
		},
		"the labels of pods: another manager's annotation stays": {
			kind:   "Deployment",
			first:  "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, v: one}}, spec: {" + plain + "}}}",
			others: []string{`patch OBJECT -p {"spec":{"template":{"metadata":{"annotations":{"theirs":"one"}}}}}`},
			second: "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, w: one}}, spec: {" + plain + "}}}",
		},
	}
}
