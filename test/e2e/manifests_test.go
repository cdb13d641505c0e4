package e2e_test

import (
	"fmt"
	"strings"
)

// workload returns a manifest of an object web. If replicas is empty, the manifest does not set it. The pods are never scheduled,
// because the tests do not need them, and a kind cluster would have to start hundreds.
func workload(apiVersion, kind, replicas, image string) string {
	if replicas != "" {
		replicas = "\n  replicas: " + replicas
	}
	serviceName := ""
	if kind == "StatefulSet" {
		serviceName = "\n  serviceName: web"
	}
	selector := "\n  selector: {matchLabels: {app: web}}"
	if kind == "ReplicationController" {
		selector = "\n  selector: {app: web}"
	}
	return fmt.Sprintf(strings.TrimSpace(`
apiVersion: %s
kind: %s
metadata:
  name: web
spec:%s%s%s
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: nobody
      containers:
      - name: app
        image: %s
        resources: {requests: {cpu: 10m}}
`)+"\n", apiVersion, kind, replicas, serviceName, selector, image)
}

func deployment(replicas, image string) string {
	return workload("apps/v1", "Deployment", replicas, image)
}

// withMetadata returns a manifest with a line of its metadata.
func withMetadata(line, manifest string) string {
	return strings.Replace(manifest, "  name: web\n", "  name: web\n  "+line+"\n", 1)
}

// ruled returns a Deployment with the annotation controller-fields.
func ruled(fields, manifest string) string {
	return withMetadata("annotations: {ownership-handoff.io/controller-fields: '"+fields+"'}", manifest)
}

func withoutResources(manifest string) string {
	return strings.Replace(manifest, resourcesLine+"\n", "", 1)
}

const (
	resourcesLine = "        resources: {requests: {cpu: 10m}}"
	resources     = `{"spec":{"template":{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"50m"}}}]}}}}`
)

// cpu is the JSONPath of what resources sets.
const cpu = ".spec.template.spec.containers[0].resources.requests.cpu"

// resizedByVPA is a change of the container's resources.
func resizedByVPA() step {
	return runs("patch", "deployment", "web", "--field-manager=vpa", "-p", resources)
}
