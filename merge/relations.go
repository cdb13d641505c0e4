package merge

// relation is what the API server's validation demands of fields beside each other, in the types that are built in
// (k8s.io/kubernetes, pkg/apis/*/validation). It is told by the names on the way to an object, and so holds in whatever kind
// embeds the type, as a custom resource with a pod template does.
type relation struct {
	// object is what the path of the object ends with; "*" is any element of a list. At is where a path that starts at the
	// root has to be met as a whole.
	object []string
	whole  bool
	kinds  []string // with their groups; nil for any
	// members are those of the object that the relation is about; nil for all of them.
	members []string
	// broken returns the fields at fault, by their names below the object, each with the words of a warning; none where the
	// relation holds. A field at fault that is not kept does not matter.
	broken func(o map[string]any) []fault
	// undone is the same for what the API server has already dropped from the incoming object, because of a value there
	// that is not what it is to be; nil for nothing.
	undone func(o, incoming map[string]any) []fault
}

// fault is a field that breaks a relation, and why it gives way: "the manifest sets valueFrom".
type fault struct {
	names  []string
	reason string
}

// relations is the list. TestAcceptedWithoutHandoffIsAcceptedWithIt in test/accepted looks for those that are missing.
func relations() []relation {
	return append(unions(), append(podRelations(), kindRelations()...)...)
}

// unions are the objects of which one member at most can be set.
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
			object: []string{"spec"}, whole: true, kinds: []string{"policy/PodDisruptionBudget"},
			members: []string{"minAvailable", "maxUnavailable"}, broken: oneOf,
		})
}

// podRelations are those of pod templates and of the strategies that replace pods.
func podRelations() []relation {
	return []relation{
		{object: []string{"resources"}, members: []string{"requests", "limits"}, broken: requestsWithinLimits},
		{object: []string{"strategy"}, members: []string{"type", "rollingUpdate"}, broken: rollingUpdateOfItsType},
		{object: []string{"updateStrategy"}, members: []string{"type", "rollingUpdate"}, broken: rollingUpdateOfItsType},
		{object: []string{"rollingUpdate"}, members: []string{"maxSurge", "maxUnavailable"}, broken: someProgress},
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
			object: []string{"template", "spec"}, broken: fieldsOfWindows, members: []string{
				"os", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace", "securityContext", "containers", "initContainers",
			},
		},
	}
}

// kindRelations are those of single kinds.
func kindRelations() []relation {
	spec := []string{"spec"}
	return []relation{
		{
			object: spec, whole: true, kinds: []string{"autoscaling/HorizontalPodAutoscaler"},
			members: []string{"minReplicas", "maxReplicas", "metrics"}, broken: boundsOfAutoscaler,
		},
		{
			object: spec, whole: true, kinds: []string{"apps/Deployment"},
			members: []string{"progressDeadlineSeconds", "minReadySeconds"}, broken: deadlineAfterReady,
		},
		{
			object: spec, whole: true, kinds: []string{"apps/DaemonSet"}, members: []string{"updateStrategy"},
			broken: surgeOrUnavailable,
		},
		{
			object: spec, whole: true, kinds: []string{"/Service"}, members: serviceMembers(), broken: serviceType,
			undone: sessionAffinityOfManifest,
		},
		{object: spec, whole: true, kinds: []string{"/Service"}, members: []string{"ports"}, broken: servicePorts},
		{
			object: nil, whole: true, kinds: []string{"/ConfigMap"}, members: []string{"data", "binaryData"},
			broken: disjointData,
		},
		{object: spec, whole: true, kinds: []string{"batch/Job"}, members: jobMembers(), broken: jobSpec},
		{object: []string{"jobTemplate", "spec"}, members: jobMembers(), broken: jobSpec},
	}
}
