package e2e_test

import (
	"fmt"
	"strings"
)

// workload is a manifest of an object web. The line "replicas" is left out when replicas is empty. Its pods are scheduled
// nowhere: that they run is no matter, and a kind cluster would have hundreds to start.
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
