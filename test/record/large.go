package main

import (
	"fmt"
	"strings"
)

// largeRecordings returns recordings of about 30 KB, like those of large applications with several containers and many managers.
func largeRecordings() []recording {
	aboutThirtyKilobytes := func(bytes int) bool { return bytes >= 28<<10 && bytes <= 32<<10 }
	return []recording{
		{
			// The most frequent apply with handoff enabled: the manifest has not set replicas for a long time.
			name: "large-nothing-to-do", resource: deployment, size: aboutThirtyKilobytes,
			before: history(large("", "1")), write: apply(large("", "3")),
		},
		{
			name: "large-kept", resource: deployment, size: aboutThirtyKilobytes,
			before: history(large("3", "1")), write: apply(large("3", "3")),
		},
		{
			// The repeated sync of a GitOps controller whose manifest still sets replicas.
			name: "large-kept-and-nothing-else", resource: deployment, size: aboutThirtyKilobytes,
			before: append(history(large("3", "1")),
				scaledAgain(7, apply(large("3", "3"))), edit("/^  replicas:/d", "apply", "edit-last-applied", "{}")),
			write: apply(large("3", "3")),
		},
	}
}

// history returns the steps of a Deployment's typical history. Each command leaves a field manager behind.
func history(manifest string) []step {
	return []step{
		apply(manifest),
		autoscaled(7),
		kubectl("set", "image", "{}", "app=registry.invalid/shop/app:2", "proxy=registry.invalid/shop/proxy:2"),
		kubectl("set", "resources", "{}", "-c=app", "--requests=cpu=350m", "--limits=memory=768Mi"),
		kubectl("set", "env", "{}", "-c=app", "LOG_LEVEL=debug", "TRACE_SAMPLING=0.05"),
		kubectl("patch", "{}", "-p", `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":45}}}}`),
		kubectl("annotate", "{}", "example.com/owner=checkout", "example.com/runbook=https://runbooks.invalid/shop"),
		kubectl("label", "{}", "tier=frontend", "cost-center=retail"),
		serverSideApply(policy, "policy-agent"),
		serverSideApply(mesh, "mesh-injector"),
	}
}

// policy and mesh are the fields that two other appliers add to a Deployment.
const (
	policy = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {policy.example.com/checked: "true"}}
spec:
  template:
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      tolerations: [{key: pool, operator: Equal, value: web, effect: NoSchedule}]
`
	mesh = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {annotations: {mesh.example.com/inject: enabled, mesh.example.com/revision: stable}}
    spec:
      containers:
      - {name: proxy, env: [{name: MESH_ID, value: mesh-1}, {name: MESH_TRUST_DOMAIN, value: cluster.local}]}
`
)

func large(replicas, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, app.kubernetes.io/name: shop, app.kubernetes.io/part-of: storefront}
spec:%s
  minReadySeconds: 10
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}
  template:
    metadata:
      labels: {app: web, app.kubernetes.io/name: shop}
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9090"}
    spec:
      serviceAccountName: default
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 100, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}}
      volumes:
      - {name: config, configMap: {name: web-config}}
      - {name: secrets, secret: {secretName: web-secrets}}
      - {name: cache, emptyDir: {sizeLimit: 1Gi}}
      containers:
`, replicasLine(replicas))
	largeContainer(&b, "app", version, 8080, 4)
	largeContainer(&b, "proxy", version, 8443, 2)
	return b.String()
}

// largeContainer writes a container with probes, mounts and the given number of environment variables.
func largeContainer(b *strings.Builder, name, version string, port, variables int) {
	fmt.Fprintf(b, `      - name: %s
        image: registry.invalid/shop/%s:%s
        args: [serve, --listen=:%d, --config=/etc/shop/config.yaml]
        ports: [{name: %s, containerPort: %d}]
        resources: {requests: {cpu: 250m, memory: 256Mi}, limits: {memory: 512Mi}}
        readinessProbe: {httpGet: {path: /ready, port: %d}, periodSeconds: 5, failureThreshold: 6}
        livenessProbe: {httpGet: {path: /live, port: %d}, initialDelaySeconds: 20, timeoutSeconds: 3}
        volumeMounts:
        - {name: config, mountPath: /etc/shop, readOnly: true}
        - {name: cache, mountPath: /var/cache/shop}
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: DATABASE_PASSWORD, valueFrom: {secretKeyRef: {name: web-secrets, key: database}}}
`, name, name, version, port, name, port, port, port)
	for i := range variables {
		fmt.Fprintf(b, "        - {name: SHOP_SETTING_%02d, value: \"https://service-%02d.shop.svc:8443/api\"}\n", i, i)
	}
}
