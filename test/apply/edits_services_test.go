package apply_test

import "strings"

// serviceEdits returns edits of Services and other networking kinds, autoscalers and disruption budgets.
func serviceEdits() map[string]edit {
	const backend = "backend: {service: {name: web, port: {number: 80}}}"
	rules := func(hosts ...string) string {
		texts := make([]string, len(hosts))
		for i, host := range hosts {
			texts[i] = "{host: " + host + ", http: {paths: [{path: /, pathType: Prefix, " + backend + "}]}}"
		}
		return "rules: [" + strings.Join(texts, ", ") + "]"
	}
	autoscaler := func(fields string) string {
		return "spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, " + fields + "}"
	}
	metric := func(name, value string) string {
		return "{type: Resource, resource: {name: " + name + ", target: {type: Utilization, averageUtilization: " + value + "}}}"
	}
	return map[string]edit{
		"service ports: added, changed and removed": {
			kind:   "Service",
			first:  "spec: {ports: [{name: a, port: 80}, {name: b, port: 81}, {name: c, port: 82, protocol: UDP}]}",
			second: "spec: {ports: [{name: d, port: 83}, {name: c, port: 82, protocol: TCP}, {name: e, port: 80, targetPort: http}]}", defaulted: true,
		},
		"service ports: another manager's stays": {
			kind: "Service", first: "spec: {ports: [{name: a, port: 80}]}", others: []string{`patch OBJECT -p {"spec":{"ports":[{"name":"theirs","port":90}]}}`},
			second: "spec: {ports: [{name: b, port: 81}, {name: a, port: 80}]}", defaulted: true,
		},
		"service ports: the target is removed, and stays at the default that it had": {
			kind: "Service", first: "spec: {ports: [{port: 80, targetPort: 8080}]}", second: "spec: {ports: [{port: 80}]}", defaulted: true,
		},
		"service ports: the number changes": {kind: "Service", first: "spec: {ports: [{port: 80}]}", second: "spec: {ports: [{port: 81}]}", defaulted: true},
		"service ports: two protocols on one port stay when the selector changes": {
			// If such a list itself changes, upstream loses a port: docs/merge-differences.md.
			kind:   "Service",
			first:  "spec: {selector: {app: a}, ports: [{name: a, port: 53, protocol: UDP, targetPort: 53}, {name: b, port: 53, protocol: TCP, targetPort: 53}]}",
			second: "spec: {selector: {app: b}, ports: [{name: a, port: 53, protocol: UDP, targetPort: 53}, {name: b, port: 53, protocol: TCP, targetPort: 53}]}",
		},
		"external addresses are atomic": {
			kind: "Service", first: "spec: {ports: [{port: 80}], externalIPs: [192.0.2.1, 192.0.2.2]}", others: []string{`patch OBJECT -p {"spec":{"externalIPs":["192.0.2.1","192.0.2.9"]}}`},
			second: "spec: {ports: [{port: 80}], externalIPs: [192.0.2.2, 192.0.2.3]}",
		},
		"the affinity of sessions: off, with its settings": {
			kind: "Service", first: "spec: {ports: [{port: 80}], sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}",
			second: "spec: {ports: [{port: 80}]}", defaulted: true,
		},
		"a selector: changed, another manager's entry stays": {
			kind: "Service", first: "spec: {ports: [{port: 80}], selector: {a: one, b: one}}", others: []string{`patch OBJECT -p {"spec":{"selector":{"theirs":"one"}}}`},
			second: "spec: {ports: [{port: 80}], selector: {a: two}}",
		},
		"a service opens a port of the nodes": {kind: "Service", first: "spec: {ports: [{port: 80}]}", second: "spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}", defaulted: true},
		"a service is published early, and inside its node": {
			kind: "Service", first: "spec: {ports: [{port: 80}]}", second: "spec: {ports: [{port: 80}], publishNotReadyAddresses: true, internalTrafficPolicy: Local}",
		},
		"rules of an ingress are atomic, another manager's annotation stays": {
			kind: "Ingress", first: "spec: {" + rules("a", "b") + "}", others: []string{"annotate OBJECT theirs=one"}, second: "spec: {" + rules("c", "a") + "}",
		},
		"TLS of an ingress is atomic": {
			kind: "Ingress", first: "spec: {tls: [{hosts: [a, b], secretName: s}], " + rules("a") + "}", second: "spec: {tls: [{hosts: [c, a], secretName: s}, {hosts: [d]}], " + rules("a") + "}",
		},
		"TLS of an ingress is removed, its class set": {
			kind: "Ingress", first: "spec: {tls: [{hosts: [a], secretName: s}], " + rules("a") + "}", second: "spec: {ingressClassName: c, " + rules("a") + "}",
		},
		"peers and ports of a network policy are atomic": {
			kind: "NetworkPolicy", first: "spec: {podSelector: {matchLabels: {a: one}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}",
			second: "spec: {podSelector: {matchLabels: {b: one}}, policyTypes: [Egress, Ingress], ingress: [{ports: [{port: 81}, {port: 80}]}]}", defaulted: true,
		},
		"metrics of an autoscaler are atomic": {
			kind: "HorizontalPodAutoscaler", first: autoscaler("metrics: [" + metric("cpu", "50") + "]"), second: autoscaler("metrics: [" + metric("memory", "60") + ", " + metric("cpu", "50") + "]"),
		},
		"metrics of an autoscaler are removed": {kind: "HorizontalPodAutoscaler", first: autoscaler("metrics: [" + metric("memory", "50") + "]"), second: autoscaler(""), defaulted: true},
		"an autoscaler: another manager's minimum stays, its behavior goes": {
			kind: "HorizontalPodAutoscaler", first: autoscaler("behavior: {scaleDown: {stabilizationWindowSeconds: 60}}"),
			others: []string{`patch OBJECT -p {"spec":{"minReplicas":2}}`}, second: autoscaler(""),
		},
		"an autoscaler: policies of a behavior": {
			kind:   "HorizontalPodAutoscaler",
			first:  autoscaler("behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}"),
			second: autoscaler("behavior: {scaleUp: {policies: [{type: Percent, value: 5, periodSeconds: 60}, {type: Pods, value: 1, periodSeconds: 60}]}}"),
		},
		"a disruption budget: one bound for the other": {kind: "PodDisruptionBudget", first: "spec: {minAvailable: 1, selector: {matchLabels: {a: one}}}", second: "spec: {maxUnavailable: 50%, selector: {matchLabels: {a: one}}}"},
		"a disruption budget: its selector is replaced, another manager's label too": {
			kind: "PodDisruptionBudget", first: "spec: {minAvailable: 1, selector: {matchLabels: {a: one}}}",
			others: []string{`patch OBJECT --type=merge -p {"spec":{"selector":{"matchLabels":{"theirs":"one"}}}}`}, second: "spec: {minAvailable: 1, selector: {matchLabels: {b: one}}}",
		},
	}
}
