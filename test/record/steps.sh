# The commands of recordings.yaml. NAMESPACE is that of the recording, OBJECT the written object as KIND/NAME, FOLDER contains the
# manifests.

kubectl() { command kubectl --namespace "$NAMESPACE" "$@"; }

# Creates the namespace, in a mode in which handoff changes nothing.
enabled() {
	echo "{apiVersion: v1, kind: Namespace, metadata: {name: $NAMESPACE, annotations: {ownership-handoff.io/mode: warn}}}" |
		kubectl create -f -
}

# Prints a manifest, without replicas if they are '': web deployment REPLICAS TAG
web() { sed "s|KIND|$1|; s|TAG|$3|; /REPLICAS/{s|REPLICAS|$2|; /: \$/d}" "$FOLDER/web.yaml"; }
deployment() { web Deployment "$@"; }
large() { sed "s|TAG|$2|; /REPLICAS/{s|REPLICAS|$1|; /: \$/d}" "$FOLDER/large.yaml"; }
custom_resource() { sed "s|FLAVOR|$1|" "$FOLDER/custom-resource.yaml"; }

apply() { kubectl apply -f - "$@"; }

# Applies server-side with a field manager, as the sync of a GitOps controller: server_side MANAGER
server_side() { kubectl apply -f - --server-side --force-conflicts --field-manager="$1"; }

# Runs a command with sed as the editor: edit SCRIPT COMMAND...
edit() {
	script=$1
	shift
	KUBE_EDITOR="sed -i.before -e '$script'" kubectl "$@"
}

# Creates a HorizontalPodAutoscaler, and waits until its controller has scaled: autoscaled MINIMUM
autoscaled() {
	target=$(kubectl get "$OBJECT" -o jsonpath='APIVERSION={.apiVersion} KIND={.kind}')
	api=${target% *} kind=${target#* }
	sed "s|MINIMUM|$1|; s|APIVERSION|${api#*=}|; s|KIND|${kind#*=}|" "$FOLDER/autoscaler.yaml" | kubectl create -f -
	scaled "$1"
}

scaled() {
	until [ "$(kubectl get "$OBJECT" --subresource=scale -o jsonpath='{.spec.replicas}')" = "$1" ]; do sleep 0.2; done
}

# Patches a Deployment as an upgrade of Helm 3 does, with the difference between its live state and the manifest: helm PATCH
helm() { kubectl patch "$OBJECT" --field-manager=helm -p "$1"; }

# What happens to a large Deployment in time, of which each command leaves a field manager behind: history REPLICAS
history() {
	large "$1" 1 | step apply
	step autoscaled 7
	step kubectl set image "$OBJECT" app=registry.invalid/shop/app:2 proxy=registry.invalid/shop/proxy:2
	step kubectl set resources "$OBJECT" -c=app --requests=cpu=350m --limits=memory=768Mi
	step kubectl set env "$OBJECT" -c=app LOG_LEVEL=debug TRACE_SAMPLING=0.05
	step kubectl patch "$OBJECT" -p '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":45}}}}'
	step kubectl annotate "$OBJECT" example.com/owner=checkout example.com/runbook=https://runbooks.invalid/shop
	step kubectl label "$OBJECT" tier=frontend cost-center=retail
	step server_side policy-agent <"$FOLDER/policy.yaml"
	step server_side mesh-injector <"$FOLDER/mesh.yaml"
}

# Runs a command and waits for the controllers, so that the times in managedFields differ, which order the entries.
step() {
	"$@"
	settled
}

# Waits until the controllers have stopped writing the object for a second, so that each run records the same status. Without
# nodes, no pod becomes ready: a rollout stops at its first new pods, and a StatefulSet at its first pod.
settled() {
	until
		before=$(state)
		sleep 1
		[ "$(state)" = "$before" ] && observed $before
	do :; done
}

state() {
	kubectl get "$OBJECT" -o jsonpath='{.kind} {.metadata.resourceVersion} {.metadata.generation} {.status.observedGeneration} {.spec.replicas} {.status.replicas}'
}

observed() {
	case $1 in
	Deployment) [ "$3" = "$4" ] && [ "${6:-0}" -ge "$5" ] ;;
	StatefulSet) [ "$3" = "$4" ] ;;
	esac
}
