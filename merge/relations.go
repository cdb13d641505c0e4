package merge

// relation is a rule of the API server's validation about several fields of one object, for built-in types
// (k8s.io/kubernetes, pkg/apis/*/validation). The object is recognized by the field names of its path, so the rule also
// applies in other kinds that embed the type, such as a custom resource with a pod template.
type relation struct {
	// object is the end of the object's path, with dots; "*" is any element of a list. If fromRoot is set, it is the whole path.
	object   string
	fromRoot bool
	kind     string // as "group/kind"; empty for any
	// members are the object's members that the rule concerns, separated by spaces; empty for all of them.
	members string
	// broken returns the fields that break the rule, none if the object satisfies it. Fields that are not kept have no
	// effect.
	broken func(o map[string]any) []fault
	// dropped returns the kept fields that cannot take effect, because the API server has already dropped fields that
	// belong to them from the incoming object; nil if the rule has no such fields.
	dropped func(o, incoming map[string]any) []fault
}

// fault is a field that breaks a relation, and the reason that a warning gives for not keeping it.
type fault struct {
	names  []string // path of the field in the object
	reason string   // as "the manifest sets valueFrom"
}

// relations returns all relations. TestAppliesDifferFromThoseWithoutHandoffOnlyInKeptFields in test/accepted looks for
// missing ones. It is a table of strings, and is not allocated for each write that it is read for.
func relations() [37]relation { //nolint:funlen // a table
	const probe = "exec httpGet tcpSocket grpc sleep"
	return [...]relation{
		// Unions: at most one member can be set.
		{object: "env.*", members: "value valueFrom", broken: oneOf},
		{object: "valueFrom", members: "fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef", broken: oneOf},
		{object: "livenessProbe", members: probe, broken: oneOf},
		{object: "readinessProbe", members: probe, broken: oneOf},
		{object: "startupProbe", members: probe, broken: oneOf},
		{object: "postStart", members: probe, broken: oneOf},
		{object: "preStop", members: probe, broken: oneOf},
		{object: "volumeMounts.*", members: "subPath subPathExpr", broken: oneOf},
		{object: "backend", members: "service resource", broken: oneOf},
		{object: "defaultBackend", members: "service resource", broken: oneOf},
		{object: "service.port", members: "name number", broken: oneOf},
		{object: "volumes.*", broken: oneVolumeSource},
		{
			object: "spec", fromRoot: true, kind: "policy/PodDisruptionBudget", members: "minAvailable maxUnavailable", broken: oneOf,
		},
		// Pod templates and rollout strategies.
		{object: "resources", members: "requests limits", broken: requestsWithinLimits},
		{object: "strategy", members: "type rollingUpdate", broken: rollingUpdateWithoutType},
		{object: "updateStrategy", members: "type rollingUpdate", broken: rollingUpdateWithoutType},
		{object: "rollingUpdate", members: "maxSurge maxUnavailable", broken: noProgress},
		{object: "seccompProfile", members: "type localhostProfile", broken: localhostProfile},
		{object: "appArmorProfile", members: "type localhostProfile", broken: localhostProfile},
		{
			object: "securityContext", members: "privileged allowPrivilegeEscalation capabilities",
			broken: privilegeEscalation,
		},
		{object: "template.spec", members: "hostPID shareProcessNamespace", broken: hostPID},
		{object: "template.spec", members: "dnsPolicy dnsConfig", broken: dnsPolicyNone},
		{
			object: "template.spec", broken: hostNetworkPorts,
			members: "hostNetwork containers initContainers",
		},
		{object: "template.spec", members: "hostNetwork hostUsers hostPID hostIPC", broken: hostUsers},
		{object: "containers.*", members: "ports", broken: uniquePortNames},
		{
			object: "initContainers.*", broken: sidecarOnly,
			members: "restartPolicy livenessProbe readinessProbe startupProbe lifecycle",
		},
		{
			object: "template.spec", broken: sleepWithinGrace,
			members: "terminationGracePeriodSeconds containers initContainers",
		},
		{object: "template.spec", members: "resources containers", broken: withinPodResources},
		{
			object: "template.spec", broken: fieldsOfOtherOS,
			members: "os hostPID hostIPC hostUsers shareProcessNamespace securityContext containers initContainers",
		},
		// Single kinds.
		{
			object: "spec", fromRoot: true, kind: "autoscaling/HorizontalPodAutoscaler",
			members: "minReplicas maxReplicas metrics", broken: autoscalerBounds,
		},
		{
			object: "spec", fromRoot: true, kind: "apps/Deployment",
			members: "progressDeadlineSeconds minReadySeconds", broken: deadlineAfterReady,
		},
		{
			object: "spec", fromRoot: true, kind: "apps/DaemonSet", members: "updateStrategy",
			broken: surgeOrUnavailable,
		},
		{
			object: "spec", fromRoot: true, kind: "/Service", members: serviceMembers, broken: serviceType,
			dropped: sessionAffinityDropped,
		},
		{object: "spec", fromRoot: true, kind: "/Service", members: "ports", broken: servicePorts},
		{
			fromRoot: true, kind: "/ConfigMap", members: "data binaryData",
			broken: disjointData,
		},
		{object: "spec", fromRoot: true, kind: "batch/Job", members: jobMembers, broken: jobSpec},
		{object: "jobTemplate.spec", members: jobMembers, broken: jobSpec},
	}
}
