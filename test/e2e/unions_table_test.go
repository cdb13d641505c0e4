package e2e_test

import (
	"maps"
	"strings"
)

// union is a union in a built-in type: for the choice in before, the API server sets a default that conflicts with the choice
// in after.
type union struct {
	kind          string
	apiVersion    string // if it is not the usual one of the kind
	before, after string // the fields of the spec, as YAML
	// client and server are the results of applying after over before with each kind of apply without handoff: empty if the
	// object becomes equal to a new one from after, otherwise one of the prefixes below and details.
	client, server string
	// serverBefore34 is the result of the server-side apply before Kubernetes 1.34, if it is another one.
	serverBefore34 string
	// since is the first minor version that has the fields by default, if that is later than 1.30.
	since uint
}

// The prefixes of results that differ from a new object.
const (
	refused = "refused: " // the API server rejects the write with this error
	fixed   = "fixed: "   // the same, but the write succeeds with handoff
	keeps   = "keeps: "   // these fields differ from a new object, or a new one lacks them
)

func (u union) manifest(spec string) string {
	apiVersion := map[string]string{
		"CronJob": "batch/v1", "Job": "batch/v1", "PersistentVolumeClaim": "v1", "PodDisruptionBudget": "policy/v1",
		"HorizontalPodAutoscaler": "autoscaling/v2", "Ingress": "networking.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
		"ReplicationController": "v1", "Service": "v1",
	}[u.kind]
	switch {
	case u.apiVersion != "":
		apiVersion = u.apiVersion
	case apiVersion == "":
		apiVersion = "apps/v1"
	}
	if u.kind == "ReplicationController" {
		spec = strings.Replace(spec, "{matchLabels: {app: web}}", "{app: web}", 1)
	}
	return "apiVersion: " + apiVersion + "\nkind: " + u.kind + "\nmetadata: {name: web}\nspec: {" + spec + "}\n"
}

// pods returns a workload's spec with additional fields for the workload, its pods and their container.
func pods(own, pod, container string) string {
	return fields(own, "selector: {matchLabels: {app: web}}", "template: {metadata: {labels: {app: web}}, spec: {"+
		fields(pod, "containers: [{"+fields("name: app", "image: \"app:1\"", container)+"}]")+"}}")
}

func fields(texts ...string) string {
	var set []string
	for _, text := range texts {
		if text != "" {
			set = append(set, text)
		}
	}
	return strings.Join(set, ", ")
}

func unions() map[string]union {
	all := map[string]union{}
	for _, table := range []map[string]union{
		strategies(), volumeSources(), handlers(), containers(), batch(), services(), autoscalers(), others(),
	} {
		maps.Copy(all, table)
	}
	return all
}
