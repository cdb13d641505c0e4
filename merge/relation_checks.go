package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// isSet reports whether a member of an object counts as set: validation takes an empty string for none.
func isSet(v any) bool { return v != nil && v != "" }

// oneOf returns the members that are set, where they are more than one.
func oneOf(o map[string]any) []fault {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if isSet(o[name]) {
			set = append(set, name)
		}
	}
	return exclusive(set)
}

// exclusive returns a fault for each of several names that exclude each other.
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

// oneVolumeSource is oneOf for volumes, which have a name beside their source.
func oneVolumeSource(o map[string]any) []fault {
	o = maps.Clone(o)
	delete(o, "name")
	return oneOf(o)
}

// together returns a fault for each of several members.
func together(reason string, members ...string) []fault {
	faults := make([]fault, 0, len(members))
	for _, member := range members {
		faults = append(faults, fault{names: strings.Split(member, "."), reason: reason})
	}
	return faults
}

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

func mapAt(o map[string]any, path string) map[string]any {
	object, _ := at(o, path).(map[string]any)
	return object
}

func quantityOf(v any) (q resource.Quantity, ok bool) {
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, v != nil && err == nil
}

// requestsWithinLimits finds requests that are over their limits; those of extended resources and huge pages must be equal to
// them.
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
		faults = append(faults,
			fault{names: []string{"requests", name}, reason: "it is over limits." + name},
			fault{names: []string{"limits", name}, reason: "it is below requests." + name})
	}
	return faults
}

func rollingUpdateOfItsType(o map[string]any) []fault {
	strategy := o["type"]
	if o["rollingUpdate"] == nil || strategy == nil || strategy == "RollingUpdate" {
		return nil
	}
	return []fault{
		{names: []string{"rollingUpdate"}, reason: fmt.Sprintf("the manifest sets type %v", strategy)},
		{names: []string{"type"}, reason: "the manifest sets rollingUpdate"},
	}
}

// isZero reports whether an int or percentage is nothing.
func isZero(v any) bool { return v == float64(0) || v == "0" || v == "0%" }

func someProgress(o map[string]any) []fault {
	if isZero(o["maxSurge"]) && isZero(o["maxUnavailable"]) {
		return together("both would be 0", "maxSurge", "maxUnavailable")
	}
	return nil
}

// surgeOrUnavailable is of DaemonSets, which allow one of the two.
func surgeOrUnavailable(o map[string]any) []fault {
	rolling := mapAt(o, "updateStrategy.rollingUpdate")
	surge, unavailable := rolling["maxSurge"], rolling["maxUnavailable"]
	if surge == nil || unavailable == nil || isZero(surge) || isZero(unavailable) {
		return nil
	}
	return together("maxSurge excludes maxUnavailable",
		"updateStrategy.rollingUpdate.maxSurge", "updateStrategy.rollingUpdate.maxUnavailable")
}

func localhostProfile(o map[string]any) []fault {
	if isLocalhost := o["type"] == "Localhost"; o["type"] == nil || isLocalhost == isSet(o["localhostProfile"]) {
		return nil
	}
	return together("type and localhostProfile do not fit", "type", "localhostProfile")
}

func privilegeEscalation(o map[string]any) []fault {
	if o["allowPrivilegeEscalation"] != false {
		return nil
	}
	added, _ := at(o, "capabilities.add").([]any)
	if o["privileged"] != true && !slices.Contains(added, any("SYS_ADMIN")) && !slices.Contains(added, any("CAP_SYS_ADMIN")) {
		return nil
	}
	return together("it excludes allowPrivilegeEscalation=false", "privileged", "allowPrivilegeEscalation", "capabilities.add")
}

func hostPID(o map[string]any) []fault {
	if o["hostPID"] == true && o["shareProcessNamespace"] == true {
		return together("hostPID excludes shareProcessNamespace", "hostPID", "shareProcessNamespace")
	}
	return nil
}

func hostUsers(o map[string]any) []fault {
	if o["hostUsers"] != false || o["hostNetwork"] != true && o["hostPID"] != true && o["hostIPC"] != true {
		return nil
	}
	return together("hostUsers=false excludes host namespaces", "hostUsers", "hostNetwork", "hostPID", "hostIPC")
}

func dnsPolicyNone(o map[string]any) []fault {
	servers, _ := at(o, "dnsConfig.nameservers").([]any)
	if o["dnsPolicy"] == "None" && len(servers) == 0 {
		return together("dnsPolicy None needs nameservers", "dnsPolicy", "dnsConfig")
	}
	return nil
}

// hostNetworkPorts finds host ports that are not the container's: with hostNetwork they have to be.
func hostNetworkPorts(o map[string]any) []fault {
	if o["hostNetwork"] != true {
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			for _, port := range objectsIn(c["ports"]) {
				if host := port["hostPort"]; host != nil && host != port["containerPort"] {
					return together("hostNetwork needs hostPort to be containerPort",
						"hostNetwork", list+".*.ports.*.hostPort", list+".*.ports")
				}
			}
		}
	}
	return nil
}

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

// repeated reports whether two objects of a list have the same value of a member.
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
		return together("the manifest gives its name to another port", "ports.*.name")
	}
	return nil
}

func servicePorts(o map[string]any) []fault {
	var faults []fault
	if repeated(o["ports"], "name") {
		faults = together("the manifest gives its name to another port", "ports.*.name")
	}
	if repeated(o["ports"], "nodePort") {
		faults = append(faults, together("the manifest gives it to another port", "ports.*.nodePort")...)
	}
	return faults
}

func boundsOfAutoscaler(o map[string]any) []fault {
	least, okLeast := o["minReplicas"].(float64)
	most, okMost := o["maxReplicas"].(float64)
	switch {
	case okLeast && okMost && least > most:
		return []fault{
			{names: []string{"minReplicas"}, reason: "it is over maxReplicas"},
			{names: []string{"maxReplicas"}, reason: "it is below minReplicas"},
		}
	case okLeast && least == 0 && !slices.ContainsFunc(objectsIn(o["metrics"]), countsWithoutPods):
		return together("minReplicas=0 needs an object or external metric", "minReplicas", "metrics")
	default:
		return nil
	}
}

func countsWithoutPods(metric map[string]any) bool {
	return metric["type"] == "Object" || metric["type"] == "External"
}

func deadlineAfterReady(o map[string]any) []fault {
	deadline, ok := o["progressDeadlineSeconds"].(float64)
	ready, _ := o["minReadySeconds"].(float64)
	if !ok || deadline > ready {
		return nil
	}
	return []fault{
		{names: []string{"progressDeadlineSeconds"}, reason: "it is not over minReadySeconds"},
		{names: []string{"minReadySeconds"}, reason: "it is not below progressDeadlineSeconds"},
	}
}

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

// jobSpec finds members of a Job that its completion mode or its pod failure policy has no place for.
func jobSpec(o map[string]any) []fault {
	var faults []fault
	indexed := o["completionMode"] == "Indexed"
	for _, member := range []string{"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"} {
		if !indexed && o[member] != nil {
			faults = append(faults, together("completionMode is not Indexed", member)...)
		}
	}
	if indexed && o["completions"] == nil {
		faults = append(faults, together("completionMode Indexed needs completions", "completionMode")...)
	}
	if o["maxFailedIndexes"] != nil && o["backoffLimitPerIndex"] == nil {
		faults = append(faults, together("it needs backoffLimitPerIndex", "maxFailedIndexes")...)
	}
	if o["podFailurePolicy"] == nil {
		return faults
	}
	if at(o, "template.spec.restartPolicy") != "Never" {
		faults = append(faults, together("podFailurePolicy needs restartPolicy Never",
			"podFailurePolicy", "template.spec.restartPolicy")...)
	}
	if policy := o["podReplacementPolicy"]; policy != nil && policy != "Failed" {
		faults = append(faults, together("podFailurePolicy needs podReplacementPolicy Failed",
			"podFailurePolicy", "podReplacementPolicy")...)
	}
	return faults
}

// sidecarOnly is of init containers: only those that restart can have probes and handlers.
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

// sleepWithinGrace finds handlers that sleep longer than the grace period.
func sleepWithinGrace(o map[string]any) []fault {
	grace, ok := o["terminationGracePeriodSeconds"].(float64)
	if !ok {
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			for _, handler := range []string{"preStop", "postStart"} {
				if sleep, _ := at(c, "lifecycle."+handler+".sleep.seconds").(float64); sleep > grace {
					return together("a handler sleeps longer than terminationGracePeriodSeconds",
						"terminationGracePeriodSeconds", list+".*.lifecycle")
				}
			}
		}
	}
	return nil
}

// withinPodResources compares the resources of a pod with what its containers request together.
func withinPodResources(o map[string]any) []fault {
	for name, v := range mapAt(o, "resources.requests") {
		whole, ok := quantityOf(v)
		var sum resource.Quantity
		for _, c := range objectsIn(o["containers"]) {
			request, _ := quantityOf(mapAt(c, "resources.requests")[name])
			sum.Add(request)
		}
		if ok && sum.Cmp(whole) > 0 {
			return together("the containers request more than the pod", "resources", "containers.*.resources")
		}
	}
	for name, v := range mapAt(o, "resources.limits") {
		whole, ok := quantityOf(v)
		for _, c := range objectsIn(o["containers"]) {
			limit, _ := quantityOf(mapAt(c, "resources.limits")[name])
			if ok && limit.Cmp(whole) > 0 {
				return together("a container's limit is over the pod's", "resources", "containers.*.resources")
			}
		}
	}
	return nil
}

// fieldsOfWindows finds fields that a pod for Windows cannot have, and those of Windows in another.
func fieldsOfWindows(o map[string]any) []fault {
	system := at(o, "os.name")
	var faults []fault
	refuse := func(in map[string]any, path string, members ...string) {
		for _, member := range members {
			if in[member] != nil {
				faults = append(faults, together(fmt.Sprintf("os.name is %v", system), path+member)...)
			}
		}
	}
	ofLinux := []string{
		"appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
		"runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "capabilities", "readOnlyRootFilesystem", "privileged",
		"allowPrivilegeEscalation", "procMount", "seLinuxChangePolicy",
	}
	switch system {
	case "windows":
		refuse(o, "", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace")
		refuse(mapAt(o, "securityContext"), "securityContext.", ofLinux...)
	case "linux":
		refuse(mapAt(o, "securityContext"), "securityContext.", "windowsOptions")
		ofLinux = []string{"windowsOptions"}
	default:
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range objectsIn(o[list]) {
			refuse(mapAt(c, "securityContext"), list+".*.securityContext.", ofLinux...)
		}
	}
	return append(faults, together("a field excludes it", "os")...)[:len(faults)+min(1, len(faults))]
}

// sessionAffinityOfManifest finds an affinity that the manifest switches off: the API server drops its configuration before
// anybody can keep it.
func sessionAffinityOfManifest(o, incoming map[string]any) []fault {
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

// serviceType finds members that the type of a Service has no place for.
func serviceType(o map[string]any) []fault {
	kind, _ := o["type"].(string)
	balanced := kind == "LoadBalancer"
	external := balanced || kind == "NodePort"
	var faults []fault
	refuse := func(allowed bool, members ...string) {
		for _, member := range members {
			if !allowed && o[member] != nil {
				faults = append(faults, together("the type of the Service is "+kind, member)...)
			}
		}
	}
	refuse(external || o["externalIPs"] != nil, "externalTrafficPolicy")
	refuse(balanced, "healthCheckNodePort", "loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges",
		"allocateLoadBalancerNodePorts")
	refuse(kind != "ExternalName", "internalTrafficPolicy")
	refuse(kind == "ExternalName" || kind == "", "externalName")
	if !external && slices.ContainsFunc(objectsIn(o["ports"]), func(p map[string]any) bool { return p["nodePort"] != nil }) {
		faults = append(faults, together("the type of the Service is "+kind, "ports.*.nodePort")...)
	}
	return append(faults, serviceValues(o, kind)...)
}

// serviceValues finds members of a Service whose values do not go together.
func serviceValues(o map[string]any, kind string) (faults []fault) {
	if o["sessionAffinityConfig"] != nil && o["sessionAffinity"] != "ClientIP" {
		faults = together("sessionAffinity is not ClientIP", "sessionAffinityConfig", "sessionAffinity")
	}
	if (kind == "LoadBalancer" || kind == "NodePort") && o["clusterIP"] == "None" {
		faults = append(faults, together("clusterIP is None", "type")...)
	}
	if kind == "ExternalName" && !isSet(o["externalName"]) {
		faults = append(faults, together("ExternalName needs externalName", "type")...)
	}
	if kind == "LoadBalancer" && o["healthCheckNodePort"] != nil && o["externalTrafficPolicy"] != "Local" {
		faults = append(faults, together("externalTrafficPolicy is not Local", "healthCheckNodePort", "externalTrafficPolicy")...)
	}
	return faults
}
