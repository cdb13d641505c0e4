package share

import (
	"fmt"
	"strconv"
	"strings"
)

func deploymentName(i int) string { return fmt.Sprintf("web-%d", i) }

// manifest returns the manifest of the i-th Deployment, as its team stores it in Git.
func manifest(i int) string {
	return strings.ReplaceAll(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {app: NAME}}
spec:
  replicas: 3
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: app
        image: registry.invalid/shop/web:1
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}}
        resources: {requests: {cpu: 100m, memory: 128Mi}}
`, "NAME", deploymentName(i))
}

// dependents returns the manifest of a Deployment's Service and HorizontalPodAutoscaler, which is applied once. The Service
// makes starting and terminating pods cause writes of EndpointSlices.
func dependents(i int) string {
	return strings.NewReplacer("NAME", deploymentName(i), "FEW", strconv.Itoa(few)).Replace(`
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: NAME}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  minReplicas: FEW
  maxReplicas: FEW
`)
}

// each returns the concatenated manifests for all Deployments.
func each(manifest func(int) string) string {
	var all strings.Builder
	for i := range deployments {
		all.WriteString(manifest(i))
	}
	return all.String()
}
