package main

import (
	"fmt"
	"strings"

	"github.com/ownership-handoff/handoff/test/objects"
)

// web returns the manifest of a Deployment. If replicas is empty, the manifest does not set it.
func web(replicas, image string) string { return workload("Deployment", replicas, image) }

func workload(kind, replicas, image string) string {
	return fmt.Sprintf(strings.TrimSpace(`
apiVersion: apps/v1
kind: %s
metadata:
  name: web
  labels: {app: web}
spec:%s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: registry.invalid/%s
        resources: {requests: {cpu: 100m, memory: 64Mi}}
`), kind, replicasLine(replicas), image)
}

func replicasLine(replicas string) string {
	if replicas == "" {
		return ""
	}
	return "\n  replicas: " + replicas
}

// autoscaler is a format string for a HorizontalPodAutoscaler. It takes the minimum and the target's apiVersion, kind and name.
const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: %d
  maxReplicas: 20
  scaleTargetRef: {apiVersion: %s, kind: %s, name: %s}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`

// gadgets is the version of a CRD with a scale field at another path than in the built-in kinds.
const gadgets = `
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.pool.size, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              flavor: {type: string}
              pool: {type: object, properties: {size: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

func gadgetOf(size, flavor string) string {
	return fmt.Sprintf(`
apiVersion: record.example.com/v1
kind: Gadget
metadata: {name: web}
spec: {flavor: %s, pool: {size: %s}}
`, flavor, size)
}

// withGadgets returns a step that installs the CRD and then runs another step.
func withGadgets(then step) step {
	return func(s *stage) error {
		if err := apply(objects.Gadgets("record.example.com", gadgets))(s); err != nil {
			return err
		}
		crd := "crd/gadgets.record.example.com"
		if err := kubectl("wait", "--for=condition=Established", crd, "--timeout=60s")(s); err != nil {
			return err
		}
		return then(s)
	}
}
