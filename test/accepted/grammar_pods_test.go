package accepted_test

// podSlots returns the slots of a pod template. One of its containers is named a.
func podSlots(template string) []slot {
	const a = "spec/containers/name=a/"
	all := []slot{
		options("metadata/annotations", "{note: x}", "{note: yy, extra: z}"),
		options("metadata/labels/tier", "front", "back"),
		options(a+"image", "'a:1'", "'a:2'", "'a:latest'").always(),
	}
	for _, group := range [][]slot{resourceSlots(a), environmentSlots(a), probeSlots(a), containerSlots(a), volumeSlots(a), hostSlots(a), placementSlots(), initSlots()} {
		all = append(all, group...)
	}
	for i := range all {
		all[i] = all[i].under(template)
	}
	return all
}

func resourceSlots(a string) []slot {
	return []slot{
		options(a+"resources",
			"{requests: {cpu: 100m}}", "{requests: {cpu: 100m, memory: 64Mi}}", "{limits: {cpu: 200m}}",
			"{requests: {cpu: 100m}, limits: {cpu: 200m}}", "{requests: {cpu: 50m}, limits: {cpu: 50m}}",
			"{requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 200m, memory: 128Mi}}",
			"{limits: {memory: 32Mi}, requests: {memory: 32Mi}}", "{limits: {cpu: 200m, memory: 128Mi}}",
			"{limits: {example.com/gpu: '1'}}", "{limits: {example.com/gpu: '2'}, requests: {example.com/gpu: '2', cpu: 100m}}",
			"{limits: {hugepages-2Mi: 2Mi, memory: 64Mi}}",
		),
		options("spec/resources", "{requests: {cpu: '1'}}", "{requests: {cpu: '1'}, limits: {cpu: '2'}}", "{limits: {memory: 1Gi}}"),
		options(a+"resizePolicy", "[{resourceName: cpu, restartPolicy: NotRequired}]", "[{resourceName: cpu, restartPolicy: RestartContainer}]"),
	}
}

func environmentSlots(a string) []slot {
	sources := []string{
		"{value: x}", "{value: yy}", "{valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
		"{valueFrom: {configMapKeyRef: {name: c, key: k}}}", "{valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}",
		"{valueFrom: {resourceFieldRef: {resource: limits.cpu}}}", "{}",
	}
	return []slot{
		options(a+"env/name=FOO", sources...),
		options(a+"env/name=BAR", sources...),
		options(a+"envFrom", "[{configMapRef: {name: c}}]", "[{secretRef: {name: s}}]", "[{prefix: P_, configMapRef: {name: c}}]"),
	}
}

func probeSlots(a string) []slot {
	probes := []string{
		"{httpGet: {port: 80}}", "{httpGet: {path: /healthz, port: 80}}", "{httpGet: {path: /healthz, port: 80, scheme: HTTPS}, periodSeconds: 5}",
		"{tcpSocket: {port: 80}}", "{tcpSocket: {port: 81}, timeoutSeconds: 3, failureThreshold: 4}", "{exec: {command: [a]}}",
		"{exec: {command: [b, c]}, initialDelaySeconds: 7}", "{grpc: {port: 80}}", "{grpc: {port: 80, service: s}, periodSeconds: 9}",
	}
	return []slot{
		options(a+"livenessProbe", append(probes, "{httpGet: {port: 80}, terminationGracePeriodSeconds: 5}")...),
		options(a+"readinessProbe", append(probes, "{httpGet: {port: 80}, successThreshold: 2}")...),
		options(a+"startupProbe", probes...),
		options(a+"lifecycle",
			"{preStop: {exec: {command: [a]}}}", "{preStop: {httpGet: {port: 80}}}", "{preStop: {sleep: {seconds: 5}}}",
			"{preStop: {sleep: {seconds: 5}}, postStart: {exec: {command: [b]}}}", "{postStart: {httpGet: {port: 80, path: /x}}}"),
		options("spec/terminationGracePeriodSeconds", "30", "10", "60"),
	}
}

func containerSlots(a string) []slot {
	return []slot{
		options(a+"securityContext",
			"{runAsUser: 1000}", "{runAsUser: 1000, runAsNonRoot: true}", "{privileged: true}", "{allowPrivilegeEscalation: false}",
			"{capabilities: {add: [NET_ADMIN]}}", "{capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true}",
			"{seccompProfile: {type: RuntimeDefault}}", "{seccompProfile: {type: Localhost, localhostProfile: p}}",
			"{appArmorProfile: {type: Localhost, localhostProfile: p}}", "{appArmorProfile: {type: RuntimeDefault}}",
			"{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}", "{capabilities: {add: [SYS_ADMIN]}}"),
		options(a+"command", "[run]", "[run, fast]"),
		options(a+"args", "[-v]", "[-v, -x]"),
		options(a+"workingDir", "/w", "/x"),
		options(a+"imagePullPolicy", "Always", "IfNotPresent"),
		options(a+"terminationMessagePolicy", "File", "FallbackToLogsOnError"),
		options(a+"terminationMessagePath", "/a", "/b"),
		options(a+"stdin", "true", "false"),
		options(a+"ports/containerPort=80", "{name: http, protocol: TCP}", "{name: web, protocol: TCP}", "{protocol: TCP}"),
		options(a+"ports/containerPort=81", "{name: http2, protocol: TCP}", "{name: udp, protocol: UDP}", "{name: both, protocol: TCP, hostPort: 81}"),
		options("spec/containers/name=b", "{image: 'b:1'}", "{image: 'b:2', resources: {requests: {cpu: 10m}, limits: {cpu: 20m}}}", "{image: 'b:1', env: [{name: X, value: x}]}"),
	}
}

func volumeSlots(a string) []slot {
	return []slot{
		options("spec/volumes/name=v",
			"{emptyDir: {}}", "{emptyDir: {medium: Memory, sizeLimit: 10Mi}}", "{configMap: {name: c}}", "{configMap: {name: c, defaultMode: 256, optional: true}}",
			"{secret: {secretName: s}}", "{secret: {secretName: s, items: [{key: k, path: p}]}}", "{hostPath: {path: /tmp}}", "{hostPath: {path: /tmp, type: Directory}}",
			"{persistentVolumeClaim: {claimName: p}}", "{projected: {sources: [{configMap: {name: c}}]}}", "{projected: {sources: [{secret: {name: s}}], defaultMode: 256}}",
			"{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}", "{csi: {driver: d.example.com}}", "{nfs: {server: s, path: /p}}", "{image: {reference: 'r:1'}}", "{}"),
		options("spec/volumes/name=w", "{emptyDir: {}}", "{configMap: {name: c}}", "{secret: {secretName: s}}"),
		options(a+"volumeMounts/mountPath=v", "{name: v}", "{name: v, readOnly: true}", "{name: v, subPath: s}", "{name: v, subPathExpr: $(FOO)}", "{name: v, readOnly: true, recursiveReadOnly: IfPossible}").with("spec/volumes/name=v"),
		options(a+"volumeMounts/mountPath=w", "{name: w}", "{name: w, readOnly: true}", "{name: w, mountPropagation: HostToContainer}").with("spec/volumes/name=w"),
	}
}

func hostSlots(a string) []slot {
	_ = a
	return []slot{
		options("spec/hostNetwork", "true", "false"),
		options("spec/hostPID", "true"),
		options("spec/shareProcessNamespace", "true"),
		options("spec/hostUsers", "false", "true"),
		options("spec/dnsPolicy", "Default", "ClusterFirst", "ClusterFirstWithHostNet"),
		options("spec/dnsConfig", "{nameservers: ['1.2.3.4']}", "{nameservers: ['1.2.3.4'], searches: [a.example]}", "{options: [{name: ndots, value: '2'}]}"),
		options("spec/os", "{name: linux}", "{name: windows}"),
		options("spec/securityContext",
			"{runAsUser: 1000}", "{runAsUser: 1000, runAsNonRoot: true, fsGroup: 5}", "{fsGroup: 5, fsGroupChangePolicy: OnRootMismatch}",
			"{sysctls: [{name: kernel.shm_rmid_forced, value: '0'}]}", "{seccompProfile: {type: RuntimeDefault}}", "{seccompProfile: {type: Localhost, localhostProfile: p}}",
			"{supplementalGroups: [7], supplementalGroupsPolicy: Merge}", "{seLinuxOptions: {level: s0}}", "{seLinuxOptions: {level: s0}, seLinuxChangePolicy: Recursive}"),
		options("spec/hostAliases/ip=10.0.0.1", "{hostnames: [a]}", "{hostnames: [a, b]}"),
		options("spec/serviceAccountName", "one", "two"),
		options("spec/automountServiceAccountToken", "true", "false"),
		options("spec/imagePullSecrets/name=pull", "{}"),
	}
}

func placementSlots() []slot {
	const terms = "nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]"
	return []slot{
		options("spec/nodeSelector", "{disk: ssd}", "{disk: hdd, zone: a}"),
		options("spec/affinity",
			"{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {"+terms+"}}}",
			"{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: x}}}}]}}",
			"{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: x}}}]}}"),
		options("spec/tolerations", "[{key: a, operator: Exists}]", "[{key: a, operator: Equal, value: x, effect: NoSchedule}]", "[{operator: Exists, effect: NoExecute, tolerationSeconds: 5}]"),
		options("spec/topologySpreadConstraints/topologyKey=zone",
			"{maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}",
			"{maxSkew: 2, whenUnsatisfiable: DoNotSchedule, minDomains: 2}", "{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}"),
		options("spec/priorityClassName", "high", "low"),
		options("spec/preemptionPolicy", "Never"),
		options("spec/schedulerName", "mine", "default-scheduler"),
		options("spec/enableServiceLinks", "false", "true"),
		options("spec/subdomain", "sub", "dom"),
		options("spec/hostname", "host", "name"),
		options("spec/setHostnameAsFQDN", "true"),
		options("spec/runtimeClassName", "gvisor", "kata"),
		options("spec/readinessGates", "[{conditionType: a.example/x}]", "[{conditionType: a.example/y}]"),
		options("spec/schedulingGates/name=gate", "{}"),
	}
}

func initSlots() []slot {
	return []slot{
		options("spec/initContainers/name=i",
			"{image: 'i:1'}", "{image: 'i:1', env: [{name: X, value: x}]}", "{image: 'i:1', restartPolicy: Always}",
			"{image: 'i:1', restartPolicy: Always, readinessProbe: {tcpSocket: {port: 80}}}", "{image: 'i:2', resources: {requests: {cpu: 10m}}}",
			"{image: 'i:1', restartPolicy: Always, lifecycle: {preStop: {exec: {command: [a]}}}}"),
	}
}
