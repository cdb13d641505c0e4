package e2e_test

func batch() map[string]union {
	job := func(own, pod string) string {
		return fields(own, "template: {spec: {"+fields("restartPolicy: Never, containers: [{name: app, image: 'app:1'}]", pod)+"}}")
	}
	cron := func(own, pod string) string {
		return "schedule: '0 0 1 1 *', jobTemplate: {spec: {" + job(own, pod) + "}}"
	}
	const indexed = "completions: 2, completionMode: Indexed"
	table := map[string]union{}
	for name, c := range map[string]struct{ before, after, job string }{
		"NonIndexed to Indexed": {
			"completions: 2", indexed, refused + `spec.completionMode: Invalid value: "Indexed": field is immutable`,
		},
		"none to podFailurePolicy": {
			"", "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}",
			refused + `spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`,
		},
		"none to backoffLimitPerIndex": {
			indexed, indexed + ", backoffLimitPerIndex: 1",
			refused + "spec.backoffLimitPerIndex: Invalid value: 1: field is immutable",
		},
		"backoffLimitPerIndex to none": {
			indexed + ", backoffLimitPerIndex: 1", indexed,
			refused + "spec.backoffLimitPerIndex: Invalid value: null: field is immutable",
		},
		"completions to a work queue": {"", "parallelism: 2", keeps + ".completions"},
	} {
		suspended := func(own string) string { return job(fields("suspend: true", own), "") }
		table["Job, "+name] = union{kind: "Job", before: suspended(c.before), after: suspended(c.after), client: c.job, server: c.job}
		table["CronJob, "+name] = union{kind: "CronJob", before: cron(c.before, ""), after: cron(c.after, "")}
	}
	table["CronJob, volume, no source to configMap"] = union{
		kind: "CronJob", before: cron("", "volumes: [{name: v}]"), after: cron("", "volumes: [{name: v, configMap: {name: c}}]"),
		server: fixed + "spec.jobTemplate.spec.template.spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type",
	}
	return table
}

func services() map[string]union {
	const (
		lb, np, ext, local = "type: LoadBalancer", "type: NodePort", "type: ExternalName, externalName: example.com", "externalTrafficPolicy: Local"
		sticky             = "sessionAffinity: ClientIP"
		immutable          = refused + `spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`
	)
	table := map[string]union{}
	for name, c := range map[string]struct{ before, after, says string }{
		"ClusterIP to NodePort":            {"", np, ""},
		"ClusterIP to LoadBalancer":        {"", lb, ""},
		"ClusterIP to ExternalName":        {"", ext, ""},
		"ClusterIP to headless":            {"", "clusterIP: None", immutable},
		"headless to ClusterIP":            {"clusterIP: None", "", keeps + ".clusterIP .clusterIPs[0]"},
		"NodePort to ClusterIP":            {np, "type: ClusterIP", ""},
		"NodePort to the default":          {np, "", ""},
		"NodePort to headless":             {np, "clusterIP: None", immutable},
		"NodePort to ExternalName":         {np, ext, ""},
		"LoadBalancer to ClusterIP":        {lb, "type: ClusterIP", ""},
		"LoadBalancer to NodePort":         {lb, np, ""},
		"LoadBalancer to ExternalName":     {lb, ext, ""},
		"LoadBalancer, Local to Cluster":   {lb + ", " + local, lb, ""},
		"LoadBalancer, Local to ClusterIP": {lb + ", " + local, "type: ClusterIP", ""},
		"LoadBalancer without node ports":  {lb, lb + ", allocateLoadBalancerNodePorts: false", keeps + ".ports[0].nodePort"},
		"LoadBalancer, its class to none":  {lb + ", loadBalancerClass: a.b/c", "type: ClusterIP", ""},
		"ExternalName to ClusterIP":        {ext, "type: ClusterIP", ""},
		"ExternalName to the default":      {ext, "", ""},
		"affinity ClientIP to None":        {sticky, "sessionAffinity: None", ""},
		"affinity ClientIP to the default": {sticky, "", ""},
		"affinity with a timeout to None":  {sticky + ", sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}", "sessionAffinity: None", ""},
		"SingleStack to PreferDualStack":   {"", "ipFamilyPolicy: PreferDualStack", ""},
		"PreferDualStack to SingleStack":   {"ipFamilyPolicy: PreferDualStack", "ipFamilyPolicy: SingleStack", ""},
		"internal traffic to Local":        {"", "internalTrafficPolicy: Local", ""},
	} {
		of := func(own string) string { return fields("ports: [{port: 80}], selector: {app: web}", own) }
		table["Service, "+name] = union{kind: "Service", before: of(c.before), after: of(c.after), client: c.says, server: c.says}
	}
	return table
}

func autoscalers() map[string]union {
	resource := func(target string) string {
		return "metrics: [{type: Resource, resource: {name: cpu, target: {" + target + "}}}]"
	}
	const (
		external  = "metrics: [{type: External, external: {metric: {name: m}, target: {type: Value, value: 1}}}]"
		perPod    = "metrics: [{type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1}}}]"
		container = "metrics: [{type: ContainerResource, containerResource: {name: cpu, container: app, target: {type: Utilization, averageUtilization: 50}}}]"
		up        = "behavior: {scaleUp: {stabilizationWindowSeconds: 5}}"
	)
	table := map[string]union{}
	for name, change := range map[string][2]string{
		"the default metric to another": {"", perPod},
		"Utilization to AverageValue":   {resource("type: Utilization, averageUtilization: 50"), resource("type: AverageValue, averageValue: 1")},
		"Resource to ContainerResource": {resource("type: Utilization, averageUtilization: 50"), container},
		"Resource to External":          {resource("type: Utilization, averageUtilization: 50"), external},
		"a behavior to none":            {up, ""},
		"scaleUp to scaleDown":          {up, "behavior: {scaleDown: {stabilizationWindowSeconds: 5}}"},
		"scaling up to Disabled":        {up, "behavior: {scaleUp: {selectPolicy: Disabled}}"},
	} {
		of := func(own string) string {
			return fields("scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, maxReplicas: 5", own)
		}
		table["HorizontalPodAutoscaler, "+name] = union{kind: "HorizontalPodAutoscaler", before: of(change[0]), after: of(change[1])}
	}
	return table
}

func others() map[string]union {
	const (
		port  = "defaultBackend: {service: {name: s, port: {number: 80}}}"
		claim = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
		block = refused + "spec: Forbidden: spec is immutable after creation"
		types = keeps + ".policyTypes[1]"
	)
	return map[string]union{
		"HorizontalPodAutoscaler v1, the default metric to a target": {
			kind: "HorizontalPodAutoscaler", apiVersion: "autoscaling/v1",
			before: "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, maxReplicas: 5",
			after:  "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, maxReplicas: 5, targetCPUUtilizationPercentage: 50",
		},
		"PodDisruptionBudget, minAvailable to maxUnavailable": {
			kind: "PodDisruptionBudget", before: "minAvailable: 1", after: "maxUnavailable: 1",
		},
		"Ingress, a backend's port number to its name": {
			kind: "Ingress", before: port, after: "defaultBackend: {service: {name: s, port: {name: http}}}",
		},
		"Ingress, service to resource": {
			kind: "Ingress", before: port, after: "defaultBackend: {resource: {apiGroup: a.example.com, kind: K, name: other}}",
		},
		"NetworkPolicy, ingress to egress": {
			kind: "NetworkPolicy", before: "podSelector: {}, ingress: [{}]", after: "podSelector: {}, egress: [{}]",
			client: types, server: types,
		},
		"PersistentVolumeClaim, Filesystem to Block": {
			kind: "PersistentVolumeClaim", before: claim, after: claim + ", volumeMode: Block", client: block, server: block,
		},
	}
}
