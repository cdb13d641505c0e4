package e2e_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// playGuard plays scenarios in which the guard acts alone, as while all pods of handoff are down.
func playGuard(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	all := map[string]scenario{}
	for sentence, c := range scenarios {
		c.steps = append([]step{guarded()}, c.steps...)
		all[sentence] = c
	}
	playBy(t, map[string]applier{"the guard alone": {args: withoutWebhook}}, all)
}

const hpaController = "kube-controller-manager"

func TestTheGuardKeepsReplicas(t *testing.T) {
	argo, ci, forced := []string{"--field-manager=argocd-controller"}, []string{"--field-manager=ci"}, serverSide()
	all := map[string]scenario{}
	for sentence, c := range map[string]struct {
		args     []string
		replicas string
	}{
		"client-side, sets replicas":                   {nil, "3"},
		"client-side, sets other replicas than before": {nil, "4"},
		"client-side, drops replicas":                  {nil, ""},
		"client-side, sets null":                       {nil, "null"},
		"server-side, sets replicas":                   {forced, "3"},
		"server-side, drops replicas":                  {forced, ""},
		"Argo CD, sets replicas":                       {argo, "3"},
		"Argo CD, drops replicas":                      {argo, ""},
		"a field manager that no list has":             {ci, "3"},
		"a field manager that no list has, drops":      {ci, ""},
	} {
		next := func(image string) step { return stores("7", deployment(c.replicas, image), c.args...) }
		all[sentence] = scenario{steps: []step{
			applies(deployment("3", "app:1"), c.args...), scaledBy(hpaController, 7), next("app:1"), next("app:2").value(image, "app:2"), next("app:2"),
		}}
	}
	for kind, apiVersion := range map[string]string{"StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "ReplicationController": "v1"} {
		for side, args := range map[string][]string{byClientSide: nil, byServerSide: forced} {
			manifest := func(replicas string) string { return workload(apiVersion, kind, replicas, "app:1") }
			all[kind+", "+side] = scenario{kind: strings.ToLower(kind), steps: []step{
				applies(manifest("3"), args...), autoscales("7"),
				stores("7", manifest("3"), args...).managers(byAutoscaler, side).untraced(), // the next apply and the webhook depend on the entry
				stores("7", manifest(""), args...),
			}}
		}
	}
	all["Helm 3"] = scenario{steps: []step{
		helms("install", "replicas=3"), scaledBy(hpaController, 7), helms("upgrade", "replicas=4", "image=app:2").replicas(7),
		helms("upgrade", "replicas=3", "image=app:3").replicas(7), helms("upgrade", "image=app:4").replicas(7).value(image, "app:4"),
	}}
	all["after the autoscaler is deleted, until another manager writes them"] = scenario{steps: []step{
		applies(deployment("3", "app:1")), scaledBy(hpaController, 7), stores("7", deployment("3", "app:1")),
		scaled("5"), stores("3", deployment("3", "app:1")),
	}}
	// A server-side apply without force sets replicas that nobody manages, now and later: the guard must not make it a conflict.
	all["without a conflict"] = scenario{steps: []step{
		applies(deployment("", "app:1"), "--server-side"), scaledBy("keda", 0), scaledBy("keda", 8),
		stores("8", deployment("5", "app:1"), "--server-side"), stores("5", deployment("5", "app:1"), "--server-side"),
	}}
	// The API server limits the cost of expressions, and would otherwise ignore the policy.
	all["of an object with 50 managers"] = scenario{steps: []step{
		applies(deployment("3", "app:1")),
		did(func(n *namespace) {
			for i := range 50 {
				n.appliedBy("manager-"+strconv.Itoa(i), `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{"example.com/`+strconv.Itoa(i)+`":"x"}}}`)
			}
			if got := len(n.object().GetManagedFields()); got < 50 {
				n.Fatalf("managedFields entries: got %d, want at least 50", got)
			}
		}),
		scaledBy(hpaController, 7), stores("7", deployment("3", "app:1")), stores("7", deployment("3", "app:1")), stores("7", deployment("", "app:1")),
	}}
	capped := []step{applies(deployment("3", "app:1")), scaledBy(hpaController, 7)}
	for i := range 11 {
		capped = append(capped, patchedBy("manager-"+strconv.Itoa(i), `{"metadata":{"annotations":{"example.com/`+strconv.Itoa(i)+`":"x"}}}`))
	}
	all["of more managers than the API server stores"] = scenario{steps: append(capped, stores("7", deployment("3", "app:2")), stores("7", deployment("4", "app:2")))}
	playGuard(t, all)
}

func TestTheGuardLetsOthersPass(t *testing.T) {
	all := map[string]scenario{}
	for sentence, write := range map[string]step{
		"kubectl scale":   scaled("9").replicas(9),
		"kubectl patch":   patchedBy("kubectl-patch", `{"spec":{"replicas":9}}`).replicas(9),
		"kubectl edit":    edits("s/^  replicas: 7/  replicas: 9/").replicas(9),
		"kubectl replace": replaces(deployment("9", "app:2")).replicas(9),
		"kubectl replace of a manifest without replicas":   replaces(deployment("", "app:2")).replicas(1),
		"kubectl patch with an autoscaler's field manager": patchedBy("keda-operator", `{"spec":{"replicas":9}}`).replicas(9),
		"an update by an unknown client":                   patchedBy("operator", `{"spec":{"replicas":9}}`).replicas(9),
		// Clients without a field manager are known by managedFields.
		"an applier by its agent":                 sentBy("HashiCorp/1.0 Terraform/1.9").replicas(7),
		"an applier by the beginning of its name": sentBy("pulumi-kubernetes/4.0").replicas(7),
		"an unknown client by its agent":          sentBy("operator/1.0").replicas(9),
	} {
		all[sentence] = scenario{steps: []step{applies(deployment("3", "app:1")), scaledBy(hpaController, 7), write}}
	}
	playGuard(t, all)
}

// sentBy is a patch by a client without a field manager.
func sentBy(agent string) step {
	return did(func(n *namespace) {
		n.Helper()
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"replicas":9}}`))
		expect.NoError(n, n.scheduler(agent).Patch(n.Context(), n.object(), patch))
	})
}

// TestTheGuardKnowsAutoscalersByTheirWrites verifies which writes through /scale the guard keeps.
func TestTheGuardKnowsAutoscalersByTheirWrites(t *testing.T) {
	all := map[string]scenario{"of an autoscaler that never scaled": {steps: []step{
		applies(deployment("3", "app:1")), writes(idle("apps/v1", "Deployment"), "create"), stores("4", deployment("4", "app:1")),
	}}}
	for sentence, c := range map[string]struct {
		scales []step
		want   string
	}{
		"the HorizontalPodAutoscaler controller": {[]step{scaledBy(hpaController, 7)}, "7"},
		"a listed autoscaler":                    {[]step{scaledBy("keda", 7)}, "7"},
		"down to the default":                    {[]step{scaledBy(hpaController, 1)}, "1"},
		"kubectl scale":                          {[]step{scaledBy("kubectl", 7)}, "3"},
		"an unknown client":                      {[]step{scaledBy("python-requests", 7)}, "3"},
		"kubectl scale after an autoscaler":      {[]step{scaledBy(hpaController, 7), scaledBy("kubectl", 8)}, "3"},
		"an autoscaler after kubectl scale":      {[]step{scaledBy("kubectl", 8), scaledBy(hpaController, 7)}, "7"},
		"to 0, which leaves no entry":            {[]step{scaledBy(hpaController, 7), scaledBy("keda", 0)}, "3"},
		"to 0 and 1, the default":                {[]step{scaledBy(hpaController, 7), scaledBy("keda", 0), scaledBy("keda", 1)}, "3"},
		"to 0 and up again, by a manager that is not recorded": {
			[]step{scaledBy(hpaController, 7), scaledBy("keda", 0), scaledBy("keda", 1), scaledBy(hpaController, 8)}, "8",
		},
	} {
		next := stores(c.want, deployment("3", "app:2"))
		all[sentence] = scenario{steps: slices.Concat([]step{applies(deployment("3", "app:1"))}, c.scales, []step{next, next})}
	}
	playGuard(t, all)
}

func TestTheGuardKeepsReplicasThatTheManifestDrops(t *testing.T) {
	argo, forced := []string{"--field-manager=argocd-controller"}, serverSide()
	all := map[string]scenario{}
	for sentence, c := range map[string]struct {
		before, scale, after, want string
		args                       []string
		mode                       string
	}{
		"client-side":                                      {"3", "", "", "3", nil, ""},
		"server-side":                                      {"3", "", "", "3", forced, ""},
		"Argo CD":                                          {"3", "", "", "3", argo, ""},
		"after kubectl scale":                              {"3", "5", "", "5", nil, ""},
		"after kubectl scale, server-side":                 {"3", "5", "", "5", forced, ""},
		"client-side, sets null":                           {"3", "5", "null", "5", nil, ""},
		"the manifest always set null":                     {"null", "5", "null", "5", nil, ""},
		"the manifest drops null":                          {"null", "5", "", "5", nil, ""},
		"the manifest sets null for the first time":        {"", "5", "null", "5", nil, ""},
		"null becomes another number":                      {"null", "5", "4", "4", nil, ""},
		"the manifest sets another number":                 {"3", "5", "4", "4", nil, ""},
		"the manifest sets another number, server-side":    {"3", "5", "4", "4", forced, ""},
		"without the mode annotation":                      {"3", "", "", "1", nil, without},
		"a field manager that no list has":                 {"3", "", "", "3", []string{"--field-manager=ci"}, ""},
		"a server-side apply with an autoscaler's manager": {"3", "", "", "1", append(serverSide(), "--field-manager=keda"), ""},
		"the manifest never set replicas":                  {"", "5", "", "5", nil, ""},
		"the manifest sets replicas for the first time":    {"", "5", "2", "2", nil, ""},
		"zero is kept":                                     {"0", "", "", "0", nil, ""},
		"zero is kept, server-side":                        {"0", "", "", "0", forced, ""},
		"replicas are already 1":                           {"1", "", "", "1", nil, ""},
	} {
		steps := []step{applies(deployment(c.before, "app:1"), c.args...)}
		if c.scale != "" {
			steps = append(steps, scaled(c.scale))
		}
		all[sentence] = scenario{mode: c.mode, steps: append(steps, stores(c.want, deployment(c.after, "app:2"), c.args...))}
	}
	all["null, and another command of the applier"] = scenario{steps: []step{applies(deployment("null", "app:1")), sentBy("argocd-controller/1").replicas(9)}}
	// The API server limits the cost of expressions, and would otherwise ignore the policy.
	large := func(replicas string) string {
		return withMetadata("annotations: {a: "+strings.Repeat("x", 130000)+"}", deployment(replicas, "app:1"))
	}
	all["of a manifest of 130 KB"] = scenario{steps: []step{applies(large("3")), stores("3", large("null")), stores("3", large(""))}}
	playGuard(t, all)
}

func TestTheGuardFollowsTheMode(t *testing.T) {
	plain := deployment("3", "app:1")
	all := map[string]scenario{"a write that changes the mode": {steps: []step{
		applies(plain), scaledBy(hpaController, 7), stores("3", labeledMode("off")),
		scaledBy(hpaController, 7), stores("7", labeledMode("enforce")),
		stores("7", plain), // without the label, which the manifest drops
		runs("annotate", "deployment", "web", "ownership-handoff.io/mode=off"), stores("7", plain),
		did(func(n *namespace) { n.kubectl("annotate", "namespace", n.name, "ownership-handoff.io/mode-") }), stores("3", plain),
	}}}
	for sentence, c := range map[string]struct{ namespace, manifest, want string }{
		"a namespace without the annotation":                       {without, plain, "3"},
		"a namespace in mode off":                                  {"off", plain, "3"},
		"a namespace in mode warn":                                 {"warn", plain, "3"},
		"a namespace with an unknown mode":                         {"enfroce", plain, "3"},
		"an object in mode enforce, a namespace without one":       {without, labeledMode("enforce"), "7"},
		"an object in mode enforce, its namespace in off":          {"off", labeledMode("enforce"), "7"},
		"an object in mode off, its namespace in enforce":          {"enforce", labeledMode("off"), "3"},
		"an object in mode warn, its namespace in enforce":         {"enforce", labeledMode("warn"), "3"},
		"an object with an unknown mode, its namespace in enforce": {"enforce", labeledMode("yes"), "3"},
		"an object with an empty mode, its namespace in enforce":   {"enforce", labeledMode(""), "3"},
		"an object and its namespace in mode enforce":              {"enforce", labeledMode("enforce"), "7"},
	} {
		if c.namespace == "enfroce" && cluster.Plane.Elsewhere() {
			continue // the policy of the modes may refuse it
		}
		all[sentence] = scenario{mode: c.namespace, steps: []step{applies(c.manifest), scaledBy(hpaController, 7), stores(c.want, c.manifest)}}
	}
	playGuard(t, all)
}
