package e2e_test

import (
	"maps"
	"strings"
)

// union is a place of a built-in type where one choice excludes another: before makes the API server default what the
// choice in after excludes.
type union struct {
	kind          string
	apiVersion    string // if it is not the usual one of the kind
	before, after string // the fields of the spec, as YAML
	// client and server are what comes of applying after over before, on either side, without handoff: empty where the
	// object becomes what a fresh one of after is; else a prefix below and what goes with it.
	client, server string
}

// What can come of an apply, besides all being well.
const (
	refused = "refused: " // by the API server, with this error
	cured   = "cured: "   // the same, but with handoff it succeeds
	keeps   = "keeps: "   // these fields, although a fresh object has them otherwise or not at all
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

// pods is a workload's spec, with fields of its own, of the pods and of their container.
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
