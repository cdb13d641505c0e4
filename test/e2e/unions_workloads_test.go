package e2e_test

func strategies() map[string]union {
	const (
		onDeleteRefused = fixed + `spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'`
		recreate        = fixed + "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"
		daemons         = keeps + ".updateStrategy.rollingUpdate"
	)
	return map[string]union{
		"StatefulSet, the default strategy to OnDelete": {
			kind: "StatefulSet", before: pods("", "", ""), after: pods("updateStrategy: {type: OnDelete}", "", ""),
			client: onDeleteRefused, server: onDeleteRefused,
		},
		"StatefulSet, RollingUpdate to OnDelete": {
			kind: "StatefulSet", before: pods("updateStrategy: {type: RollingUpdate}", "", ""),
			after: pods("updateStrategy: {type: OnDelete}", "", ""),
		},
		"StatefulSet, RollingUpdate with a partition to OnDelete": {
			kind: "StatefulSet", before: pods("updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}", "", ""),
			after: pods("updateStrategy: {type: OnDelete}", "", ""),
		},
		"StatefulSet, OnDelete to the default strategy": {
			kind: "StatefulSet", before: pods("updateStrategy: {type: OnDelete}", "", ""), after: pods("", "", ""),
		},
		"DaemonSet, the default strategy to OnDelete": {
			kind: "DaemonSet", before: pods("", "", ""), after: pods("updateStrategy: {type: OnDelete}", "", ""),
			client: daemons, server: daemons,
		},
		"Deployment, the default strategy to Recreate": {
			kind: "Deployment", before: pods("", "", ""), after: pods("strategy: {type: Recreate}", "", ""), server: recreate,
		},
		"Deployment, RollingUpdate to Recreate": {
			kind: "Deployment", before: pods("strategy: {type: RollingUpdate}", "", ""),
			after: pods("strategy: {type: Recreate}", "", ""), server: recreate,
		},
		"Deployment, RollingUpdate with a maxSurge to Recreate": {
			kind: "Deployment", before: pods("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}", "", ""),
			after: pods("strategy: {type: Recreate}", "", ""),
		},
		"Deployment, Recreate to the default strategy": {
			kind: "Deployment", before: pods("strategy: {type: Recreate}", "", ""), after: pods("", "", ""),
		},
	}
}

// volumeSources are all sources in which the API server defaults something, each exchanged for another.
func volumeSources() map[string]union {
	config, secret := "configMap: {name: c}", "secret: {secretName: s}"
	volume := func(source string) string { return pods("", "volumes: [{"+fields("name: v", source)+"}]", "") }
	table := map[string]union{}
	for name, change := range map[string][2]string{
		"emptyDir to configMap":  {"emptyDir: {}", config},
		"configMap to secret":    {config, secret},
		"secret to configMap":    {secret, config},
		"hostPath to emptyDir":   {"hostPath: {path: /tmp}", "emptyDir: {}"},
		"configMap to no source": {config, ""},
		"downwardAPI to secret":  {"downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}", secret},
		"projected to secret":    {"projected: {sources: [{configMap: {name: c}}]}", secret},
		"iscsi to secret":        {"iscsi: {targetPortal: '1.2.3.4', iqn: 'iqn.2001-04.com.example:x', lun: 0}", secret},
		"rbd to secret":          {"rbd: {monitors: ['1.2.3.4'], image: i}", secret},
		"azureDisk to secret":    {"azureDisk: {diskName: d, diskURI: 'https://blob/d.vhd'}", secret},
		"scaleIO to secret":      {"scaleIO: {gateway: g, system: s, secretRef: {name: s}, volumeName: v}", secret},
		"image to secret":        {"image: {reference: 'r:1'}", secret},
		"csi to secret":          {"csi: {driver: d.example.com}", secret},
		"nfs to secret":          {"nfs: {server: s, path: /p}", secret},
		"ephemeral to secret": {
			"ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}", secret,
		},
	} {
		table["volume, "+name] = union{kind: "Deployment", before: volume(change[0]), after: volume(change[1])}
	}
	image := table["volume, image to secret"]
	image.since = 35
	table["volume, image to secret"] = image
	for _, kind := range []string{"DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"} {
		table[kind+", volume, no source to configMap"] = union{
			kind: kind, before: volume(""), after: volume(config),
			server: fixed + "spec.template.spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type",
		}
	}
	// Before 1.34, the pods of a StatefulSet are not validated before they are created (ValidatePodTemplateSpecForStatefulSet).
	set := table["StatefulSet, volume, no source to configMap"]
	set.serverBefore34 = keeps + ".template.spec.volumes[0].emptyDir"
	table["StatefulSet, volume, no source to configMap"] = set
	return table
}
