package merge

import "slices"

// surgeOrUnavailable finds a DaemonSet's maxSurge beside its maxUnavailable. Only one of the two can be nonzero.
func surgeOrUnavailable(o map[string]any) []fault {
	rolling := mapAt(o, "updateStrategy.rollingUpdate")
	surge, unavailable := rolling["maxSurge"], rolling["maxUnavailable"]
	if surge == nil || unavailable == nil || isZero(surge) || isZero(unavailable) {
		return nil
	}
	return together("maxSurge and maxUnavailable cannot both be nonzero",
		"updateStrategy.rollingUpdate.maxSurge", "updateStrategy.rollingUpdate.maxUnavailable")
}

func servicePorts(o map[string]any) []fault {
	var faults []fault
	if repeated(o["ports"], "name") {
		faults = together("the manifest uses its name for another port", "ports.*.name")
	}
	if repeated(o["ports"], "nodePort") {
		faults = append(faults, together("the manifest uses it for another port", "ports.*.nodePort")...)
	}
	return faults
}

// autoscalerBounds finds minReplicas above maxReplicas, and minReplicas 0 without a metric that works without pods.
func autoscalerBounds(o map[string]any) []fault {
	least, okLeast := o["minReplicas"].(float64)
	most, okMost := o["maxReplicas"].(float64)
	switch {
	case okLeast && okMost && least > most:
		return []fault{
			{names: []string{"minReplicas"}, reason: "it exceeds maxReplicas"},
			{names: []string{"maxReplicas"}, reason: "it is less than minReplicas"},
		}
	case okLeast && least == 0 && !slices.ContainsFunc(objectsIn(o["metrics"]), worksWithoutPods):
		return together("minReplicas=0 requires an Object or External metric", "minReplicas", "metrics")
	default:
		return nil
	}
}

func worksWithoutPods(metric map[string]any) bool {
	return metric["type"] == "Object" || metric["type"] == "External"
}

func deadlineAfterReady(o map[string]any) []fault {
	deadline, ok := o["progressDeadlineSeconds"].(float64)
	ready, _ := o["minReadySeconds"].(float64)
	if !ok || deadline > ready {
		return nil
	}
	return []fault{
		{names: []string{"progressDeadlineSeconds"}, reason: "it must be greater than minReadySeconds"},
		{names: []string{"minReadySeconds"}, reason: "it must be less than progressDeadlineSeconds"},
	}
}

// disjointData finds keys of a ConfigMap that are in both data and binaryData.
func disjointData(o map[string]any) []fault {
	binary := mapAt(o, "binaryData")
	var faults []fault
	for key := range mapAt(o, "data") {
		if _, both := binary[key]; both {
			faults = append(faults, fault{names: []string{"data", key}, reason: "the manifest sets it in binaryData"},
				fault{names: []string{"binaryData", key}, reason: "the manifest sets it in data"})
		}
	}
	return faults
}

const jobMembers = "completionMode completions backoffLimitPerIndex maxFailedIndexes successPolicy podFailurePolicy " +
	"podReplacementPolicy template"

// jobSpec finds members of a Job that its completion mode or its pod failure policy does not allow.
func jobSpec(o map[string]any) []fault {
	var faults []fault
	indexed := o["completionMode"] == "Indexed"
	for _, member := range []string{"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"} {
		if !indexed && o[member] != nil {
			faults = append(faults, together("completionMode is not Indexed", member)...)
		}
	}
	if indexed && o["completions"] == nil {
		faults = append(faults, together("completionMode Indexed requires completions", "completionMode")...)
	}
	if o["maxFailedIndexes"] != nil && o["backoffLimitPerIndex"] == nil {
		faults = append(faults, together("it requires backoffLimitPerIndex", "maxFailedIndexes")...)
	}
	if o["podFailurePolicy"] == nil {
		return faults
	}
	if at(o, "template.spec.restartPolicy") != "Never" {
		faults = append(faults, together("podFailurePolicy requires restartPolicy Never",
			"podFailurePolicy", "template.spec.restartPolicy")...)
	}
	if policy := o["podReplacementPolicy"]; policy != nil && policy != "Failed" {
		faults = append(faults, together("podFailurePolicy requires podReplacementPolicy Failed",
			"podFailurePolicy", "podReplacementPolicy")...)
	}
	return faults
}

// sessionAffinityDropped finds a kept session affinity that the manifest turns off. The API server has already dropped
// sessionAffinityConfig from the incoming object, so it cannot be kept.
func sessionAffinityDropped(o, incoming map[string]any) []fault {
	if o["sessionAffinity"] == "ClientIP" && incoming["sessionAffinity"] == "None" {
		return together("the manifest sets sessionAffinity None", "sessionAffinity", "sessionAffinityConfig")
	}
	return nil
}

const serviceMembers = "type externalTrafficPolicy healthCheckNodePort loadBalancerClass loadBalancerIP " +
	"loadBalancerSourceRanges allocateLoadBalancerNodePorts internalTrafficPolicy externalIPs externalName " +
	"sessionAffinity sessionAffinityConfig ports clusterIP"

// serviceType finds members that the type of a Service does not allow.
func serviceType(o map[string]any) []fault {
	kind, _ := o["type"].(string)
	balanced := kind == "LoadBalancer"
	external := balanced || kind == "NodePort"
	var faults []fault
	refuse := func(allowed bool, members ...string) {
		for _, member := range members {
			if !allowed && o[member] != nil {
				faults = append(faults, together("the Service type is "+kind, member)...)
			}
		}
	}
	refuse(external || o["externalIPs"] != nil, "externalTrafficPolicy")
	refuse(balanced, "healthCheckNodePort", "loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges",
		"allocateLoadBalancerNodePorts")
	refuse(kind != "ExternalName", "internalTrafficPolicy")
	refuse(kind == "ExternalName" || kind == "", "externalName")
	if !external && slices.ContainsFunc(objectsIn(o["ports"]), func(p map[string]any) bool { return p["nodePort"] != nil }) {
		faults = append(faults, together("the Service type is "+kind, "ports.*.nodePort")...)
	}
	return append(faults, serviceValues(o, kind)...)
}

// serviceValues finds members of a Service whose values conflict.
func serviceValues(o map[string]any, kind string) (faults []fault) {
	if o["sessionAffinityConfig"] != nil && o["sessionAffinity"] != "ClientIP" {
		faults = together("sessionAffinity is not ClientIP", "sessionAffinityConfig", "sessionAffinity")
	}
	if (kind == "LoadBalancer" || kind == "NodePort") && o["clusterIP"] == "None" {
		faults = append(faults, together("clusterIP is None", "type")...)
	}
	if kind == "ExternalName" && !isSet(o["externalName"]) {
		faults = append(faults, together("type ExternalName requires externalName", "type")...)
	}
	if kind == "LoadBalancer" && o["healthCheckNodePort"] != nil && o["externalTrafficPolicy"] != "Local" {
		faults = append(faults, together("externalTrafficPolicy is not Local", "healthCheckNodePort", "externalTrafficPolicy")...)
	}
	return faults
}
