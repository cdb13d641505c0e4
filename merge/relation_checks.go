package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// isSet reports whether a member of an object counts as set. To the API server's validation, an empty string is not set.
func isSet(v any) bool { return v != nil && v != "" }

// oneOf returns a fault for each member that is set, if more than one is.
func oneOf(o map[string]any) []fault {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if isSet(o[name]) {
			set = append(set, name)
		}
	}
	return exclusive(set)
}

// exclusive returns a fault for each of several names of which only one can be set.
func exclusive(names []string) []fault {
	if len(names) < 2 {
		return nil
	}
	faults := make([]fault, 0, len(names))
	for i, name := range names {
		faults = append(faults, fault{names: []string{name}, reason: "the manifest sets " + names[(i+1)%len(names)]})
	}
	return faults
}

// oneVolumeSource is oneOf for volumes, which have a name in addition to their source.
func oneVolumeSource(o map[string]any) []fault {
	o = maps.Clone(o)
	delete(o, "name")
	return oneOf(o)
}

// together returns a fault with the same reason for each of several members. A member is a dotted path.
func together(reason string, members ...string) []fault {
	faults := make([]fault, 0, len(members))
	for _, member := range members {
		faults = append(faults, fault{names: strings.Split(member, "."), reason: reason})
	}
	return faults
}

// at returns the value at a dotted path, nil if there is none.
func at(o map[string]any, path string) any {
	var v any = o
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// mapAt returns the object at a dotted path, nil if there is none.
func mapAt(o map[string]any, path string) map[string]any {
	object, _ := at(o, path).(map[string]any)
	return object
}

func quantityOf(v any) (q resource.Quantity, ok bool) {
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, v != nil && err == nil
}

// requestsWithinLimits finds requests that exceed their limits. Requests of extended resources and huge pages must equal them.
func requestsWithinLimits(o map[string]any) []fault {
	limits := mapAt(o, "limits")
	var faults []fault
	for name, v := range mapAt(o, "requests") {
		request, okRequest := quantityOf(v)
		limit, okLimit := quantityOf(limits[name])
		exact := strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
		if !okRequest || !okLimit || request.Cmp(limit) < 0 && !exact || request.Cmp(limit) == 0 {
			continue
		}
		ofRequest, ofLimit := "it exceeds limits."+name, "it is less than requests."+name
		if exact {
			ofRequest, ofLimit = "it must equal limits."+name, "it must equal requests."+name
		}
		faults = append(faults,
			fault{names: []string{"requests", name}, reason: ofRequest},
			fault{names: []string{"limits", name}, reason: ofLimit})
	}
	return faults
}

// rollingUpdateWithoutType finds a rollingUpdate beside a type other than RollingUpdate.
func rollingUpdateWithoutType(o map[string]any) []fault {
	strategy := o["type"]
	if o["rollingUpdate"] == nil || strategy == nil || strategy == "RollingUpdate" {
		return nil
	}
	return []fault{
		{names: []string{"rollingUpdate"}, reason: fmt.Sprintf("the manifest sets type %v", strategy)},
		{names: []string{"type"}, reason: "the manifest sets rollingUpdate"},
	}
}

// isZero reports whether an integer or a percentage is 0.
func isZero(v any) bool { return v == float64(0) || v == "0" || v == "0%" }

// noProgress finds a rolling update that can neither add nor remove a pod.
func noProgress(o map[string]any) []fault {
	if isZero(o["maxSurge"]) && isZero(o["maxUnavailable"]) {
		return together("maxSurge and maxUnavailable cannot both be 0", "maxSurge", "maxUnavailable")
	}
	return nil
}

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

// localhostProfile finds type Localhost without a localhostProfile, and a localhostProfile with another type.
func localhostProfile(o map[string]any) []fault {
	if isLocalhost := o["type"] == "Localhost"; o["type"] == nil || isLocalhost == isSet(o["localhostProfile"]) {
		return nil
	}
	return together("type and localhostProfile conflict", "type", "localhostProfile")
}

func privilegeEscalation(o map[string]any) []fault {
	if o["allowPrivilegeEscalation"] != false {
		return nil
	}
	added, _ := at(o, "capabilities.add").([]any)
	if o["privileged"] != true && !slices.Contains(added, any("SYS_ADMIN")) && !slices.Contains(added, any("CAP_SYS_ADMIN")) {
		return nil
	}
	return together("allowPrivilegeEscalation=false conflicts with privileged and SYS_ADMIN",
		"privileged", "allowPrivilegeEscalation", "capabilities.add")
}

func hostPID(o map[string]any) []fault {
	if o["hostPID"] == true && o["shareProcessNamespace"] == true {
		return together("hostPID and shareProcessNamespace cannot both be true", "hostPID", "shareProcessNamespace")
	}
	return nil
}

func hostUsers(o map[string]any) []fault {
	if o["hostUsers"] != false || o["hostNetwork"] != true && o["hostPID"] != true && o["hostIPC"] != true {
		return nil
	}
	return together("hostUsers=false conflicts with host namespaces", "hostUsers", "hostNetwork", "hostPID", "hostIPC")
}

func dnsPolicyNone(o map[string]any) []fault {
	servers, _ := at(o, "dnsConfig.nameservers").([]any)
	if o["dnsPolicy"] == "None" && len(servers) == 0 {
		return together("dnsPolicy None requires dnsConfig.nameservers", "dnsPolicy", "dnsConfig")
	}
	return nil
}

// hostNetworkPorts finds host ports that differ from the container port. With hostNetwork, they must be equal.
func hostNetworkPorts(o map[string]any) []fault {
	if o["hostNetwork"] != true {
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			for _, port := range objectsIn(c["ports"]) {
				if host := port["hostPort"]; host != nil && host != port["containerPort"] {
					return together("hostNetwork requires hostPort to equal containerPort",
						"hostNetwork", list+".*.ports.*.hostPort", list+".*.ports")
				}
			}
		}
	}
	return nil
}

// objectsIn returns the elements of a list that are objects.
func objectsIn(v any) []map[string]any {
	list, _ := v.([]any)
	objects := make([]map[string]any, 0, len(list))
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// repeated reports whether two objects of a list have the same value for a member. Empty values and 0 do not count.
func repeated(list any, member string) bool {
	seen := map[any]bool{}
	for _, o := range objectsIn(list) {
		v := o[member]
		if isSet(v) && !isZero(v) && seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}

func uniquePortNames(o map[string]any) []fault {
	if repeated(o["ports"], "name") {
		return together("the manifest uses its name for another port", "ports.*.name")
	}
	return nil
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

func jobMembers() []string {
	return []string{
		"completionMode", "completions", "backoffLimitPerIndex", "maxFailedIndexes", "successPolicy", "podFailurePolicy",
		"podReplacementPolicy", "template",
	}
}

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

// sidecarOnly finds probes and lifecycle handlers of init containers that are not sidecars (restartPolicy: Always).
func sidecarOnly(o map[string]any) []fault {
	if o["restartPolicy"] == "Always" {
		return nil
	}
	var faults []fault
	for _, member := range []string{"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} {
		if o[member] != nil {
			faults = append(faults, together("restartPolicy is not Always", member)...)
		}
	}
	return faults
}

// sleepWithinGrace finds lifecycle handlers whose sleep action is longer than the grace period.
func sleepWithinGrace(o map[string]any) []fault {
	grace, ok := o["terminationGracePeriodSeconds"].(float64)
	if !ok {
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			for _, handler := range []string{"preStop", "postStart"} {
				if sleep, _ := at(c, "lifecycle."+handler+".sleep.seconds").(float64); sleep > grace {
					return together("a sleep action exceeds terminationGracePeriodSeconds",
						"terminationGracePeriodSeconds", list+".*.lifecycle")
				}
			}
		}
	}
	return nil
}

// withinPodResources finds pod-level requests below the sum of the containers' requests, and pod-level limits below a
// container's limit.
func withinPodResources(o map[string]any) []fault {
	for name, v := range mapAt(o, "resources.requests") {
		whole, ok := quantityOf(v)
		var sum resource.Quantity
		for _, c := range objectsIn(o["containers"]) {
			request, _ := quantityOf(mapAt(c, "resources.requests")[name])
			sum.Add(request)
		}
		if ok && sum.Cmp(whole) > 0 {
			return together("the containers' requests exceed the pod's", "resources", "containers.*.resources")
		}
	}
	for name, v := range mapAt(o, "resources.limits") {
		whole, ok := quantityOf(v)
		for _, c := range objectsIn(o["containers"]) {
			limit, _ := quantityOf(mapAt(c, "resources.limits")[name])
			if ok && limit.Cmp(whole) > 0 {
				return together("a container's limit exceeds the pod's", "resources", "containers.*.resources")
			}
		}
	}
	return nil
}

// fieldsOfOtherOS finds fields of Linux in a pod for Windows, and fields of Windows in a pod for Linux.
func fieldsOfOtherOS(o map[string]any) []fault {
	osName := at(o, "os.name")
	var faults []fault
	refuse := func(in map[string]any, path string, members ...string) {
		for _, member := range members {
			if in[member] != nil {
				faults = append(faults, together(fmt.Sprintf("os.name is %v", osName), path+member)...)
			}
		}
	}
	excluded := []string{
		"appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
		"runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "capabilities", "readOnlyRootFilesystem", "privileged",
		"allowPrivilegeEscalation", "procMount", "seLinuxChangePolicy",
	}
	switch osName {
	case "windows":
		refuse(o, "", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace")
		refuse(mapAt(o, "securityContext"), "securityContext.", excluded...)
	case "linux":
		refuse(mapAt(o, "securityContext"), "securityContext.", "windowsOptions")
		excluded = []string{"windowsOptions"}
	default:
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			refuse(mapAt(c, "securityContext"), list+".*.securityContext.", excluded...)
		}
	}
	return append(faults, together("another field conflicts with os.name", "os")...)[:len(faults)+min(1, len(faults))]
}

// sessionAffinityDropped finds a kept session affinity that the manifest turns off. The API server has already dropped
// sessionAffinityConfig from the incoming object, so it cannot be kept.
func sessionAffinityDropped(o, incoming map[string]any) []fault {
	if o["sessionAffinity"] == "ClientIP" && incoming["sessionAffinity"] == "None" {
		return together("the manifest sets sessionAffinity None", "sessionAffinity", "sessionAffinityConfig")
	}
	return nil
}

func serviceMembers() []string {
	return []string{
		"type", "externalTrafficPolicy", "healthCheckNodePort", "loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges",
		"allocateLoadBalancerNodePorts", "internalTrafficPolicy", "externalIPs", "externalName", "sessionAffinity",
		"sessionAffinityConfig", "ports", "clusterIP",
	}
}

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
