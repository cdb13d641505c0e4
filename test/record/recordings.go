package main

// recording is a write whose review is stored.
type recording struct {
	// name describes the write, and is the name of the file and of the namespace.
	name string
	// resource is the written object as KIND/NAME, in the syntax of kubectl.
	resource string
	before   []step
	write    step
	// size reports whether a review of the given size in bytes is acceptable; nil accepts any size.
	size func(bytes int) bool
}

const (
	deployment  = "deployment/web"
	statefulSet = "statefulset/web"
	gadget      = "gadgets.record.example.com/web"
	patchTo9    = `{"spec":{"replicas":9}}`
)

func recordings() []recording {
	all := clientSide()
	all = append(all, serverSide()...)
	all = append(all, otherAppliers()...)
	all = append(all, imperative()...)
	all = append(all, otherKinds()...)
	return append(all, largeRecordings()...)
}

func clientSide() []recording {
	scaled := []step{apply(web("3", "web:1")), autoscaled(7)}
	return []recording{
		{name: "apply-unchanged-while-hpa-scaled", resource: deployment, before: scaled, write: apply(web("3", "web:1"))},
		{name: "apply-without-replicas-while-hpa-scaled", resource: deployment, before: scaled, write: apply(web("", "web:1"))},
		{name: "apply-null-replicas-while-hpa-scaled", resource: deployment, before: scaled, write: apply(web("null", "web:1"))},
		{
			name: "apply-without-replicas-no-autoscaler", resource: deployment,
			before: []step{apply(web("3", "web:1"))}, write: apply(web("", "web:1")),
		},
		{
			name: "apply-without-replicas-after-kubectl-scale", resource: deployment,
			before: []step{apply(web("3", "web:1")), kubectl("scale", "{}", "--replicas=5")}, write: apply(web("", "web:1")),
		},
		{
			name: "apply-null-replicas-no-autoscaler", resource: deployment,
			before: []step{apply(web("3", "web:1"))}, write: apply(web("null", "web:1")),
		},
		{
			name: "apply-sets-replicas-again-after-edit-last-applied", resource: deployment,
			before: append(scaled[:2:2], edit("/^  replicas:/d", "apply", "edit-last-applied", "{}")), write: apply(web("3", "web:1")),
		},
		{name: "kubectl-diff-while-hpa-scaled", resource: deployment, before: scaled, write: diff(web("3", "web:2"))},
	}
}

func serverSide() []recording {
	return []recording{
		{
			name: "server-side-apply-forced-sets-replicas", resource: deployment,
			before: []step{serverSideApply(web("3", "web:1"), "kubectl"), autoscaled(7)},
			write:  serverSideApply(web("3", "web:1"), "kubectl"),
		},
		{
			name: "server-side-apply-lets-go-of-replicas", resource: deployment,
			before: []step{serverSideApply(web("3", "web:1"), "kubectl")},
			write:  serverSideApply(web("", "web:1"), "kubectl"),
		},
		{
			name: "server-side-apply-lets-go-of-replicas-the-hpa-never-changed", resource: deployment,
			before: []step{serverSideApply(web("3", "web:1"), "kubectl"), autoscaled(3)},
			write:  serverSideApply(web("", "web:1"), "kubectl"),
		},
	}
}

func otherAppliers() []recording {
	argocd, flux := "--field-manager=argocd-controller", "kustomize-controller"
	return []recording{
		{
			name: "helm-upgrade-of-the-image-while-hpa-scaled", resource: deployment,
			before: []step{helmInstall(web("3", "web:1")), autoscaled(7)},
			write:  helmUpgrade(web("3", "web:1"), web("3", "web:2")),
		},
		{
			name: "helm-upgrade-without-replicas-while-hpa-scaled", resource: deployment,
			before: []step{helmInstall(web("3", "web:1")), autoscaled(7)},
			write:  helmUpgrade(web("3", "web:1"), web("", "web:1")),
		},
		{
			name: "argocd-sync-while-hpa-scaled", resource: deployment,
			before: []step{apply(web("3", "web:1"), argocd), autoscaled(7)}, write: apply(web("3", "web:2"), argocd),
		},
		{
			name: "flux-sync-while-hpa-scaled", resource: deployment,
			before: []step{serverSideApply(web("3", "web:1"), flux), autoscaled(7)}, write: serverSideApply(web("3", "web:2"), flux),
		},
	}
}

func imperative() []recording {
	scaled := []step{apply(web("3", "web:1")), autoscaled(7)}
	return []recording{
		{
			name: "kubectl-edit-sets-replicas-while-hpa-scaled", resource: deployment, before: scaled,
			write: edit("s/^  replicas: 7$/  replicas: 9/", "edit", "{}"),
		},
		{
			name: "kubectl-patch-sets-replicas-while-hpa-scaled", resource: deployment, before: scaled,
			write: kubectl("patch", "{}", "-p", patchTo9),
		},
		{
			name: "kubectl-replace-sets-replicas-while-hpa-scaled", resource: deployment, before: scaled,
			write: replace(web("9", "web:1")),
		},
		{
			name: "kubectl-set-image-while-hpa-scaled", resource: deployment, before: scaled,
			write: kubectl("set", "image", "{}", "app=registry.invalid/web:2"),
		},
		{
			name: "kubectl-rollout-restart-while-hpa-scaled", resource: deployment, before: scaled,
			write: kubectl("rollout", "restart", "{}"),
		},
	}
}

func otherKinds() []recording {
	return []recording{
		{
			name: "apply-of-a-stateful-set-while-hpa-scaled", resource: statefulSet,
			before: []step{apply(workload("StatefulSet", "3", "web:1")), autoscaled(7)},
			write:  apply(workload("StatefulSet", "3", "web:2")),
		},
		{
			name: "apply-of-a-custom-resource-while-hpa-scaled", resource: gadget,
			before: []step{withGadgets(apply(gadgetOf("3", "small"))), autoscaled(7)},
			write:  apply(gadgetOf("3", "large")),
		},
	}
}
