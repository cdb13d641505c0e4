package apply_test

// workloadEdits are of the workloads beside Deployments.
func workloadEdits() map[string]edit {
	claims := `volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`
	return map[string]edit{
		"a stateful set: image, and replicas that another has scaled": {
			kind: "StatefulSet", first: deployment(plain, "serviceName: web"), others: []string{"scale OBJECT --replicas=7"},
			second: deployment("containers: [{name: app, image: registry.invalid/app:2}]", "serviceName: web"),
		},
		"a stateful set: its claims stay as they are": {
			kind: "StatefulSet", first: deployment(plain, "serviceName: web", "replicas: 2", claims), second: deployment(plain, "serviceName: web", claims), defaulted: true,
		},
		"a stateful set: the update strategy is no union for strategicpatch": {
			kind: "StatefulSet", first: deployment(plain, "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}"),
			second: deployment(plain, "updateStrategy: {type: OnDelete}"),
		},
		"a stateful set: a partition is removed": {
			kind:   "StatefulSet",
			first:  deployment(plain, "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}"),
			second: deployment(plain, "updateStrategy: {type: RollingUpdate}"),
		},
		"a stateful set: the retention policy is removed": {
			kind: "StatefulSet", first: deployment(plain, "persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}"), second: deployment(plain), defaulted: true,
		},
		"a daemon set: image and node selector, another manager's label stays": {
			// The API server counts the changes of the template in an annotation.
			defaulted: true, kind: "DaemonSet", first: deployment(plain + ", nodeSelector: {a: one}"), others: []string{"label OBJECT theirs=one"},
			second: deployment("containers: [{name: app, image: registry.invalid/app:2}], nodeSelector: {b: one}"),
		},
		"a daemon set: the update strategy is switched and defaulted": {
			kind: "DaemonSet", first: deployment(plain, "updateStrategy: {type: OnDelete}"), second: deployment(plain), defaulted: true,
		},
		"a daemon set: another manager's container and host network stay": {
			kind: "DaemonSet", first: deployment(plain), others: []string{addContainer, `patch OBJECT -p {"spec":{"template":{"spec":{"hostNetwork":true}}}}`},
			second: deployment(plain, "minReadySeconds: 5"),
		},
	}
}

// jobEdits are of Jobs and CronJobs.
func jobEdits() map[string]edit {
	const job = "restartPolicy: Never, containers: [{name: app, image: registry.invalid/app}]"
	suspended := func(pod string) string {
		return "spec: {suspend: true, template: {metadata: {labels: {a: one}}, spec: {" + pod + job + "}}}"
	}
	cron := func(fields, jobFields, pod string) string {
		return "spec: {schedule: '* * * * *', " + fields + "jobTemplate: {spec: {" + jobFields + "template: {spec: {" + pod + job + "}}}}}"
	}
	return map[string]edit{
		"a job: its limits are changed and removed": {
			kind:   "Job",
			first:  "spec: {parallelism: 2, backoffLimit: 3, activeDeadlineSeconds: 60, template: {spec: {" + job + "}}}",
			second: "spec: {parallelism: 4, activeDeadlineSeconds: 90, ttlSecondsAfterFinished: 60, template: {spec: {" + job + "}}}", defaulted: true,
		},
		"a job: labels that the API server set stay": {
			kind: "Job", first: "spec: {parallelism: 2, template: {metadata: {labels: {a: one}}, spec: {" + job + "}}}", others: []string{"label OBJECT theirs=one"},
			second: "spec: {parallelism: 3, template: {metadata: {labels: {a: one}}, spec: {" + job + "}}}",
		},
		"a job: a suspended one gets another node selector and other tolerations": {
			kind: "Job", first: suspended("nodeSelector: {a: one, b: one}, tolerations: [{key: a, operator: Exists}], "), second: suspended("nodeSelector: {b: two}, tolerations: [{key: b, operator: Exists}], "),
		},
		"a job: another has suspended it": {
			kind: "Job", first: "spec: {template: {spec: {" + job + "}}}", others: []string{`patch OBJECT -p {"spec":{"suspend":true}}`},
			second: "spec: {parallelism: 2, template: {spec: {" + job + "}}}",
		},
		"a cron job: the schedule and the history": {
			kind: "CronJob", first: cron("successfulJobsHistoryLimit: 5, startingDeadlineSeconds: 60, ", "", ""),
			second: "spec: {schedule: '0 * * * *', timeZone: Etc/UTC, jobTemplate: {spec: {template: {spec: {" + job + "}}}}}", defaulted: true,
		},
		"a cron job: another manager's suspension stays": {
			kind: "CronJob", first: cron("", "backoffLimit: 3, ", ""), others: []string{`patch OBJECT -p {"spec":{"suspend":true}}`}, second: cron("concurrencyPolicy: Forbid, ", "backoffLimit: 4, ", ""),
		},
		"a cron job: volumes are changed, another manager's variable stays beside them": {
			kind: "CronJob", first: cron("", "", "volumes: [{name: a, emptyDir: {}}], "), others: []string{"set env OBJECT THEIRS=one"}, second: cron("", "", "volumes: [{name: b, emptyDir: {}}], "),
		},
		"a cron job: rules of failures are atomic": {
			kind:   "CronJob",
			first:  cron("", "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: A}]}, {action: Count, onPodConditions: [{type: B}]}]}, ", ""),
			second: cron("", "podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: C}]}, {action: Ignore, onPodConditions: [{type: A}]}]}, ", ""), defaulted: true,
			// Of a Job, but not of the template of a CronJob, the status of a condition had a default.
			refusedBefore: 34, refusal: `onPodConditions[0].status: Required value`,
		},
	}
}
