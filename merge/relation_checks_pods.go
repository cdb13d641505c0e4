package merge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

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

// noProgress finds a rolling update that can neither add nor remove a pod.
func noProgress(o map[string]any) []fault {
	if isZero(o["maxSurge"]) && isZero(o["maxUnavailable"]) {
		return together("maxSurge and maxUnavailable cannot both be 0", "maxSurge", "maxUnavailable")
	}
	return nil
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

func uniquePortNames(o map[string]any) []fault {
	if repeated(o["ports"], "name") {
		return together("the manifest uses its name for another port", "ports.*.name")
	}
	return nil
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
