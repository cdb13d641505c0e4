package merge

// relation is a rule of the API server's validation about several fields of one object, for built-in types
// (k8s.io/kubernetes, pkg/apis/*/validation). The object is recognized by the field names of its path, so the rule also
// applies in other kinds that embed the type, such as a custom resource with a pod template.
type relation struct {
	// object is the end of the object's path; "*" is any element of a list. If fromRoot is set, it is the whole path.
	object   []string
	fromRoot bool
	kinds    []string // as "group/kind"; nil for any
	// members are the object's members that the rule concerns; nil for all of them.
	members []string
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
// missing ones.
func relations() []relation {
	return append(unions(), append(podRelations(), kindRelations()...)...)
}

// unions returns the relations of objects of which at most one member can be set.
func unions() []relation {
	handlers := []string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"}
	var all []relation
	for _, u := range []struct {
		object  []string
		members []string
	}{
		{[]string{"env", "*"}, []string{"value", "valueFrom"}},
		{[]string{"valueFrom"}, []string{"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"}},
		{[]string{"livenessProbe"}, handlers},
		{[]string{"readinessProbe"}, handlers},
		{[]string{"startupProbe"}, handlers},
		{[]string{"postStart"}, handlers},
		{[]string{"preStop"}, handlers},
		{[]string{"volumeMounts", "*"}, []string{"subPath", "subPathExpr"}},
		{[]string{"backend"}, []string{"service", "resource"}},
		{[]string{"defaultBackend"}, []string{"service", "resource"}},
		{[]string{"service", "port"}, []string{"name", "number"}},
	} {
		all = append(all, relation{object: u.object, members: u.members, broken: oneOf})
	}
	return append(all,
		relation{object: []string{"volumes", "*"}, broken: oneVolumeSource},
		relation{
			object: []string{"spec"}, fromRoot: true, kinds: []string{"policy/PodDisruptionBudget"},
			members: []string{"minAvailable", "maxUnavailable"}, broken: oneOf,
		})
}

// podRelations returns the relations of pod templates and of rollout strategies.
func podRelations() []relation {
	return []relation{
		{object: []string{"resources"}, members: []string{"requests", "limits"}, broken: requestsWithinLimits},
		{object: []string{"strategy"}, members: []string{"type", "rollingUpdate"}, broken: rollingUpdateWithoutType},
		{object: []string{"updateStrategy"}, members: []string{"type", "rollingUpdate"}, broken: rollingUpdateWithoutType},
		{object: []string{"rollingUpdate"}, members: []string{"maxSurge", "maxUnavailable"}, broken: noProgress},
		{object: []string{"seccompProfile"}, members: []string{"type", "localhostProfile"}, broken: localhostProfile},
		{object: []string{"appArmorProfile"}, members: []string{"type", "localhostProfile"}, broken: localhostProfile},
		{
			object: []string{"securityContext"}, members: []string{"privileged", "allowPrivilegeEscalation", "capabilities"},
			broken: privilegeEscalation,
		},
		{object: []string{"template", "spec"}, members: []string{"hostPID", "shareProcessNamespace"}, broken: hostPID},
		{object: []string{"template", "spec"}, members: []string{"dnsPolicy", "dnsConfig"}, broken: dnsPolicyNone},
		{
			object: []string{"template", "spec"}, broken: hostNetworkPorts,
			members: []string{"hostNetwork", "containers", "initContainers"},
		},
		{object: []string{"template", "spec"}, members: []string{"hostNetwork", "hostUsers", "hostPID", "hostIPC"}, broken: hostUsers},
		{object: []string{"containers", "*"}, members: []string{"ports"}, broken: uniquePortNames},
		{
			object: []string{"initContainers", "*"}, broken: sidecarOnly,
			members: []string{"restartPolicy", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"},
		},
		{
			object: []string{"template", "spec"}, broken: sleepWithinGrace,
			members: []string{"terminationGracePeriodSeconds", "containers", "initContainers"},
		},
		{object: []string{"template", "spec"}, members: []string{"resources", "containers"}, broken: withinPodResources},
		{
			object: []string{"template", "spec"}, broken: fieldsOfOtherOS, members: []string{
				"os", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace", "securityContext", "containers", "initContainers",
			},
		},
	}
}

// kindRelations returns the relations of single kinds.
func kindRelations() []relation {
	spec := []string{"spec"}
	return []relation{
		{
			object: spec, fromRoot: true, kinds: []string{"autoscaling/HorizontalPodAutoscaler"},
			members: []string{"minReplicas", "maxReplicas", "metrics"}, broken: autoscalerBounds,
		},
		{
			object: spec, fromRoot: true, kinds: []string{"apps/Deployment"},
			members: []string{"progressDeadlineSeconds", "minReadySeconds"}, broken: deadlineAfterReady,
		},
		{
			object: spec, fromRoot: true, kinds: []string{"apps/DaemonSet"}, members: []string{"updateStrategy"},
			broken: surgeOrUnavailable,
		},
		{
			object: spec, fromRoot: true, kinds: []string{"/Service"}, members: serviceMembers(), broken: serviceType,
			dropped: sessionAffinityDropped,
		},
		{object: spec, fromRoot: true, kinds: []string{"/Service"}, members: []string{"ports"}, broken: servicePorts},
		{
			object: nil, fromRoot: true, kinds: []string{"/ConfigMap"}, members: []string{"data", "binaryData"},
			broken: disjointData,
		},
		{object: spec, fromRoot: true, kinds: []string{"batch/Job"}, members: jobMembers(), broken: jobSpec},
		{object: []string{"jobTemplate", "spec"}, members: jobMembers(), broken: jobSpec},
	}
}
