package accepted_test

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds returns all kinds of the grammar.
func kinds() []kind {
	return slices.Concat(workloads(), batch(), configuration(), networking(), policies())
}

func gvk(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// metadataSlots returns the slots for labels and annotations of every kind.
func metadataSlots() []slot {
	return []slot{
		options("metadata/labels/team", "a", "b"),
		options("metadata/labels/tier", "x", "z"),
		options("metadata/annotations/note", "k", "m"),
	}
}

func templateRules(prefix string) []string {
	return []string{
		prefix + ".spec.containers[*].resources", prefix + ".spec.nodeSelector", prefix + ".spec.containers[*].livenessProbe",
		prefix + ".spec.volumes[*]", prefix + ".spec.containers[*].env[*]", prefix + ".spec.containers[*].securityContext",
	}
}

const (
	selected = "{spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: a}]}}}}"
	never    = "spec: {template: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: a}]}}}"
)

func workloads() []kind {
	replicas := options("spec/replicas", "3", "1", "0", "5")
	ready := options("spec/minReadySeconds", "5", "0", "50", "300")
	history := options("spec/revisionHistoryLimit", "3", "5")
	rolling := []string{
		"{type: RollingUpdate}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 1}}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}",
		"{rollingUpdate: {maxUnavailable: 50%}}", "{type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "{type: Recreate}",
	}
	all := []kind{
		{
			gvk: gvk("apps", "v1", "Deployment"), base: selected, scaled: true,
			slots: []slot{
				replicas, ready, history, options("spec/strategy", rolling...), options("spec/progressDeadlineSeconds", "600", "100", "20"),
				options("spec/paused", "true", "false"),
			},
			ruled: []string{".spec.strategy", ".spec.minReadySeconds"},
		},
		{
			gvk: gvk("apps", "v1", "StatefulSet"), base: selected, scaled: true,
			slots: []slot{
				replicas, ready, history, options("spec/updateStrategy",
					"{type: RollingUpdate}", "{type: RollingUpdate, rollingUpdate: {partition: 2}}", "{rollingUpdate: {partition: 1}}", "{type: OnDelete}"),
				options("spec/persistentVolumeClaimRetentionPolicy", "{whenDeleted: Delete, whenScaled: Retain}", "{whenDeleted: Retain, whenScaled: Delete}"),
				options("spec/ordinals", "{start: 1}", "{start: 2}"),
			},
			ruled: []string{".spec.updateStrategy"},
		},
		{
			gvk: gvk("apps", "v1", "DaemonSet"), base: selected,
			slots: []slot{
				ready, history, options("spec/updateStrategy",
					"{type: RollingUpdate}", "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}",
					"{type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}", "{type: OnDelete}"),
			},
			ruled: []string{".spec.updateStrategy"},
		},
		{gvk: gvk("apps", "v1", "ReplicaSet"), base: selected, scaled: true, slots: []slot{replicas, ready}},
		{
			gvk: gvk("", "v1", "ReplicationController"), scaled: true, slots: []slot{replicas, ready},
			base: "{spec: {selector: {app: x}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: a}]}}}}",
		},
	}
	for i := range all {
		all[i].slots = slices.Concat(metadataSlots(), all[i].slots, podSlots("spec/template/"))
		all[i].ruled = append(all[i].ruled, templateRules(".spec.template")...)
	}
	return all
}

func batch() []kind {
	job := []slot{
		options("parallelism", "1", "2", "3"), options("backoffLimit", "3", "6"), options("activeDeadlineSeconds", "60", "90"),
		options("ttlSecondsAfterFinished", "10", "20"),
	}
	indexed := []slot{
		options("completions", "2", "4", "5"), options("completionMode", "NonIndexed", "Indexed").with("completions"),
		options("backoffLimitPerIndex", "1", "2").when("completionMode", "Indexed"), options("maxFailedIndexes", "1", "2").with("backoffLimitPerIndex"),
		options("podFailurePolicy",
			"{rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}", "{rules: [{action: FailJob, onExitCodes: {operator: In, values: [3]}}]}").when("template/spec/restartPolicy", "Never"),
		options("podReplacementPolicy", "Failed", "TerminatingOrFailed"),
		options("successPolicy", "{rules: [{succeededCount: 1}]}", "{rules: [{succeededIndexes: '0'}]}").when("completionMode", "Indexed"),
		options("suspend", "true", "false"),
		options("template/spec/restartPolicy", "Never", "OnFailure").always(),
	}
	under := func(prefix string, slots []slot) []slot {
		all := make([]slot, 0, len(slots))
		for _, s := range slots {
			all = append(all, s.under(prefix))
		}
		return all
	}
	return []kind{
		{
			gvk:  gvk("batch", "v1", "CronJob"),
			base: "{spec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {containers: [{name: a}]}}}}}}",
			slots: slices.Concat(metadataSlots(), []slot{
				options("spec/schedule", "'0 0 1 1 *'", "'0 5 1 1 *'").always(), options("spec/timeZone", "Etc/UTC", "Europe/Berlin"),
				options("spec/concurrencyPolicy", "Allow", "Forbid", "Replace"), options("spec/suspend", "true", "false"),
				options("spec/startingDeadlineSeconds", "60", "90"), options("spec/successfulJobsHistoryLimit", "1", "5"),
			}, under("spec/jobTemplate/spec/", slices.Concat(job, indexed)), podSlots("spec/jobTemplate/spec/template/")),
			ruled: append([]string{".spec.suspend", ".spec.jobTemplate.spec.parallelism", ".spec.jobTemplate.spec.completions"}, templateRules(".spec.jobTemplate.spec.template")...),
		},
		{
			gvk: gvk("batch", "v1", "Job"), base: "{" + never + "}",
			slots: slices.Concat(metadataSlots(), under("spec/", job), []slot{
				options("spec/suspend", "true").always(), options("spec/template/spec/containers/name=a/image", "'a:1'").always(),
				resourceSlots("spec/containers/name=a/")[0].under("spec/template/"), options("spec/template/spec/nodeSelector", "{disk: ssd}", "{disk: hdd, zone: a}"),
				options("spec/template/metadata/annotations", "{note: x}", "{note: yy, extra: z}"),
			}),
			ruled: []string{".spec.parallelism", ".spec.template.spec.containers[*].resources"},
		},
	}
}

func configuration() []kind {
	account := []slot{
		options("automountServiceAccountToken", "true", "false"), options("secrets/name=one", "{}"), options("secrets/name=two", "{}"),
		options("imagePullSecrets/name=one", "{}"), options("imagePullSecrets/name=two", "{}"),
	}
	return []kind{
		{
			gvk: gvk("", "v1", "ConfigMap"), ruled: []string{".data.tuned"},
			slots: append(metadataSlots(),
				options("data", "{one: a}", "{one: a, two: b}", "{one: c, two: b, three: d}", "{tuned: t}", "{tuned: t, one: a}"),
				options("binaryData", "{five: YQ==}", "{six: Yg==}", "{four: Yw==, five: YQ==}", "{one: YQ==}"), options("immutable", "false")),
		},
		{
			gvk: gvk("", "v1", "Secret"), ruled: []string{".data.tuned"},
			slots: append(metadataSlots(),
				options("data", "{one: YQ==}", "{one: YQ==, two: Yg==}", "{username: YQ==, password: Yg==}", "{tuned: YQ==, username: YQ==}"),
				options("stringData", "{one: a}", "{two: b, three: c}"), options("immutable", "false")),
		},
		{gvk: gvk("", "v1", "ServiceAccount"), slots: append(metadataSlots(), account...), ruled: []string{".secrets[*]"}},
		{
			gvk:  gvk("", "v1", "PersistentVolumeClaim"),
			base: "{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}", slots: metadataSlots(),
		},
		{
			gvk: gvk("", "v1", "PodTemplate"), base: "{template: {metadata: {labels: {app: x}}, spec: {containers: [{name: a}]}}}",
			slots: append(metadataSlots(), podSlots("template/")...), ruled: templateRules(".template"),
		},
	}
}

func networking() []kind {
	return []kind{
		{
			gvk: gvk("", "v1", "Service"), ruled: []string{".spec.ports[*].nodePort", ".spec.externalTrafficPolicy", ".spec.sessionAffinity"},
			slots: append(metadataSlots(),
				options("spec/type", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"), options("spec/externalName", "example.com", "example.org").when("spec/type", "ExternalName"),
				options("spec/clusterIP", "None").when("spec/type", "ClusterIP"), options("spec/selector", "{app: x}", "{app: yy, tier: z}"),
				options("spec/ports/port=80", "{name: http, protocol: TCP}", "{name: http, protocol: TCP, targetPort: 8080}", "{name: http, protocol: TCP, appProtocol: h2}").always(),
				options("spec/ports/port=81", "{name: more, protocol: TCP}", "{name: more, protocol: UDP}"),
				options("spec/externalTrafficPolicy", "Cluster", "Local").when("spec/type", "NodePort", "LoadBalancer"), options("spec/internalTrafficPolicy", "Cluster", "Local"),
				options("spec/sessionAffinity", "ClientIP", "None"), options("spec/sessionAffinityConfig", "{clientIP: {timeoutSeconds: 50}}").when("spec/sessionAffinity", "ClientIP"),
				options("spec/loadBalancerSourceRanges", "[10.0.0.0/8]", "[10.1.0.0/16]").when("spec/type", "LoadBalancer"), options("spec/loadBalancerClass", "a.b/c").when("spec/type", "LoadBalancer"),
				options("spec/allocateLoadBalancerNodePorts", "false", "true").when("spec/type", "LoadBalancer"), options("spec/publishNotReadyAddresses", "true", "false"),
				options("spec/externalIPs", "['192.0.2.1']", "['192.0.2.2']"), options("spec/ipFamilyPolicy", "SingleStack", "PreferDualStack"),
				options("spec/trafficDistribution", "PreferClose"), options("spec/ports/port=82", "{name: fixed, protocol: TCP, nodePort: 0}", "{name: fixed, protocol: TCP}"), options("spec/loadBalancerIP", "192.0.2.9")),
		},
		{
			gvk: gvk("networking.k8s.io", "v1", "Ingress"), base: "{spec: {rules: [{host: z.example.com}]}}", ruled: []string{".spec.tls", ".spec.defaultBackend"},
			slots: append(metadataSlots(),
				options("spec/ingressClassName", "nginx", "haproxy"),
				options("spec/defaultBackend", "{service: {name: s, port: {number: 80}}}", "{service: {name: s, port: {name: http}}}", "{resource: {apiGroup: a.example.com, kind: K, name: r}}"),
				options("spec/rules", "[{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]", "[{host: b.example.com}]"),
				options("spec/tls", "[{hosts: [a.example.com], secretName: s}]", "[{secretName: t}]")),
		},
		{
			gvk: gvk("networking.k8s.io", "v1", "NetworkPolicy"), base: "{spec: {podSelector: {}}}", ruled: []string{".spec.egress"},
			slots: append(metadataSlots(),
				options("spec/podSelector", "{matchLabels: {app: x}}", "{matchLabels: {app: yy}}", "{matchExpressions: [{key: app, operator: Exists}]}"),
				options("spec/ingress", "[{}]", "[{from: [{podSelector: {}}]}]", "[{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80, endPort: 90}]}]"),
				options("spec/egress", "[{}]", "[{to: [{namespaceSelector: {}}], ports: [{port: 53, protocol: UDP}]}]"),
				options("spec/policyTypes", "[Ingress]", "[Egress]", "[Ingress, Egress]")),
		},
	}
}

func policies() []kind {
	const target = "{spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}"
	resource := func(target string) string {
		return "[{type: Resource, resource: {name: cpu, target: {" + target + "}}}]"
	}
	return []kind{
		{
			gvk: gvk("autoscaling", "v2", "HorizontalPodAutoscaler"), base: target, ruled: []string{".spec.minReplicas", ".spec.maxReplicas"},
			slots: append(metadataSlots(),
				options("spec/minReplicas", "2", "3", "8"), options("spec/maxReplicas", "5", "9", "20").always(),
				options("spec/metrics", resource("type: Utilization, averageUtilization: 50"), resource("type: AverageValue, averageValue: 100m"),
					"[{type: External, external: {metric: {name: m}, target: {type: Value, value: '1'}}}]"),
				options("spec/behavior", "{scaleUp: {stabilizationWindowSeconds: 5}}", "{scaleDown: {stabilizationWindowSeconds: 5, selectPolicy: Disabled}}",
					"{scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 5}]}, scaleDown: {selectPolicy: Min}}")),
		},
		{
			gvk: gvk("policy", "v1", "PodDisruptionBudget"), base: "{spec: {}}", ruled: []string{".spec.minAvailable", ".spec.maxUnavailable"},
			slots: append(metadataSlots(),
				options("spec/minAvailable", "1", "2", "50%"), options("spec/maxUnavailable", "1", "2", "50%"),
				options("spec/selector", "{matchLabels: {app: x}}", "{matchLabels: {app: x, tier: yy}}"), options("spec/unhealthyPodEvictionPolicy", "AlwaysAllow", "IfHealthyBudget")),
		},
		{
			gvk: gvk("", "v1", "ResourceQuota"), base: "{spec: {}}", ruled: []string{".spec.hard"},
			slots: append(metadataSlots(),
				options("spec/hard", "{pods: '4'}", "{requests.cpu: '4', limits.cpu: '8'}", "{pods: '4', requests.memory: 1Gi}", "{count/configmaps: '1000'}"),
				options("spec/scopeSelector", "{matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}")),
		},
		{
			gvk: gvk("", "v1", "LimitRange"), ruled: []string{".spec.limits"},
			slots: append(metadataSlots(),
				options("spec/limits", "[{type: Container, default: {cpu: 200m}, defaultRequest: {cpu: 100m}}]", "[{type: Container, max: {cpu: '1'}, min: {cpu: 10m}}]",
					"[{type: PersistentVolumeClaim, max: {storage: 2Gi}}]", "[{type: Pod, max: {cpu: '2'}}, {type: Container, default: {memory: 1Gi}}]").always()),
		},
		{
			gvk: gvk("rbac.authorization.k8s.io", "v1", "Role"), ruled: []string{".rules"},
			slots: append(metadataSlots(),
				options("rules", "[{apiGroups: [''], resources: [pods], verbs: [get]}]", "[{apiGroups: [''], resources: [pods], verbs: [get, list]}, {apiGroups: [apps], resources: ['*'], verbs: [get]}]")),
		},
	}
}
