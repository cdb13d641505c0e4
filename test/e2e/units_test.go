package e2e_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// unit is a field, or a small group of fields, that another manager's value survives in when the manifest drops it.
type unit struct {
	kind string // default: deployment
	// set and dropped are the manifests with and without the unit, by default a Deployment, and other sets something else in it.
	set, dropped, other string
	change              string // by another manager, as a merge patch
	path                string
	changed, others     string // the value after the change, and after an apply of other
	// beside is the value after an apply of other to the kept value, of which other sets only a part.
	beside string
}

// cronJob returns CronJob/web with lines of its spec, and a label of its pod template.
func cronJob(lines, labels string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: web\nspec:\n  schedule: '0 0 1 1 *'\n" + lines +
		"  jobTemplate:\n    spec:\n      template:\n        metadata: {labels: {" + labels + "}}\n        spec:\n" +
		"          restartPolicy: Never\n          containers: [{name: app, image: registry.invalid/app:1}]\n"
}

// data returns ConfigMap/web or Secret/web with its data.
func data(kind, lines string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: web\n" + lines
}

// pod returns a Deployment with other metadata of its pod template.
func pod(metadata string) string {
	return strings.Replace(app("", ""), "{labels: {app: web}}\n    spec", "{labels: {app: web}"+metadata+"}\n    spec", 1)
}

// containerPatch changes the pod template's only container.
func containerPatch(fields string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"registry.invalid/app:1",` + fields + `}]}}}}`
}

func labels(pairs string) string { return withMetadata("labels: {"+pairs+"}", app("", "")) }

func annotations(pairs string) string { return withMetadata("annotations: {"+pairs+"}", app("", "")) }

// templateLabels returns a Deployment with other labels of its pod template.
func templateLabels(pairs string) string {
	return strings.Replace(app("", ""), "metadata: {labels: {app: web}}", "metadata: {labels: {"+pairs+"}}", 1)
}

func withMetadata(line, manifest string) string {
	return strings.Replace(manifest, "  name: web\n", "  name: web\n  "+line+"\n", 1)
}

func units() map[string]unit {
	const templateLabel, templateAnnotation = ".spec.template.metadata.labels.tier", ".spec.template.metadata.annotations.note"
	initial := "initContainers:\n- name: first\n  image: registry.invalid/first:1\n"
	return map[string]unit{
		"a label": {
			set: labels("tier: a"), other: labels("tier: c"),
			change: `{"metadata":{"labels":{"tier":"b"}}}`, path: ".metadata.labels.tier", changed: "b", others: "c",
		},
		"an annotation": {
			set: annotations("note: a"), other: annotations("note: c"),
			change: `{"metadata":{"annotations":{"note":"b"}}}`, path: ".metadata.annotations.note", changed: "b", others: "c",
		},
		"a label of the pod template": {
			set:    templateLabels("app: web, tier: a"),
			other:  templateLabels("app: web, tier: c"),
			change: `{"spec":{"template":{"metadata":{"labels":{"tier":"b"}}}}}`, path: templateLabel, changed: "b", others: "c",
		},
		"an annotation of the pod template": {
			set: pod(", annotations: {note: a}"), dropped: pod(""), other: pod(", annotations: {note: c}"),
			change: `{"spec":{"template":{"metadata":{"annotations":{"note":"b"}}}}}`, path: templateAnnotation, changed: "b", others: "c",
		},
		"a label of a CronJob's pod template": {
			kind: "cronjob", set: cronJob("", "app: web, tier: a"), dropped: cronJob("", "app: web"),
			other:  cronJob("", "app: web, tier: c"),
			change: `{"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"labels":{"tier":"b"}}}}}}}`,
			path:   ".spec.jobTemplate.spec.template.metadata.labels.tier", changed: "b", others: "c",
		},
		"a key of a ConfigMap": {
			kind: "configmap", set: data("ConfigMap", "data: {a: '1', b: '1'}\n"), dropped: data("ConfigMap", "data: {b: '1'}\n"),
			other: data("ConfigMap", "data: {a: '3', b: '1'}\n"), change: `{"data":{"a":"2"}}`, path: ".data.a", changed: "2", others: "3",
		},
		"the last key of a ConfigMap": {
			kind: "configmap", set: data("ConfigMap", "data: {a: '1'}\n"), dropped: data("ConfigMap", ""),
			other: data("ConfigMap", "data: {a: '3'}\n"), change: `{"data":{"a":"2"}}`, path: ".data.a", changed: "2", others: "3",
		},
		"a key of a Secret": {
			kind: "secret", set: data("Secret", "data: {a: MQ==, b: MQ==}\n"), dropped: data("Secret", "data: {b: MQ==}\n"),
			other:  data("Secret", "data: {a: Mw==, b: MQ==}\n"),
			change: `{"data":{"a":"Mg=="}}`, path: ".data.a", changed: "Mg==", others: "Mw==",
		},
		"the resources of a container": {
			set:    app("resources: {requests: {cpu: 10m, memory: 10Mi}}", ""),
			other:  app("resources: {limits: {memory: 30Mi}}", ""),
			change: containerPatch(`"resources":{"requests":{"cpu":"50m","memory":"10Mi"}}`),
			path:   ".spec.template.spec.containers[0].resources", changed: `{"requests":{"cpu":"50m","memory":"10Mi"}}`,
			others: `{"limits":{"memory":"30Mi"}}`, beside: `{"limits":{"memory":"30Mi"},"requests":{"cpu":"50m","memory":"10Mi"}}`,
		},
		"the resources of an initContainer": {
			set: app("", initial+"  resources: {requests: {cpu: 10m}}\n"), dropped: app("", initial),
			other: app("", initial+"  resources: {requests: {memory: 30Mi}}\n"),
			change: strings.NewReplacer("containers", "initContainers", "app", "first").
				Replace(containerPatch(`"resources":{"requests":{"cpu":"50m"}}`)),
			path:    ".spec.template.spec.initContainers[0].resources",
			changed: `{"requests":{"cpu":"50m"}}`, others: `{"requests":{"memory":"30Mi"}}`,
			beside: `{"requests":{"cpu":"50m","memory":"30Mi"}}`,
		},
		"the service account": {
			set:    app("", "serviceAccountName: a\nserviceAccount: a\n"),
			other:  app("", "serviceAccountName: c\nserviceAccount: c\n"),
			change: `{"spec":{"template":{"spec":{"serviceAccountName":"b","serviceAccount":"b"}}}}`,
			path:   ".spec.template.spec.serviceAccountName", changed: "b", others: "c",
		},
		"paused": {
			set: with("paused: false", app("", "")), other: with("paused: false", app("", "")),
			change: `{"spec":{"paused":true}}`, path: ".spec.paused", changed: "true", others: "",
		},
		"suspend": {
			kind: "cronjob", set: cronJob("  suspend: false\n", "app: web"), dropped: cronJob("", "app: web"),
			other:  cronJob("  suspend: false\n", "app: web"),
			change: `{"spec":{"suspend":true}}`, path: ".spec.suspend", changed: "true", others: "false",
		},
	}
}

// TestUnits verifies that each unit is kept whole when the manifest drops it, and not if the manifest sets anything in it.
func TestUnits(t *testing.T) {
	t.Parallel()
	for sentence, u := range units() {
		u.dropped = cmp.Or(u.dropped, app("", ""))
		changed := func(s step) []step { return []step{applies(u.set), s.value(u.path, u.changed)} }
		byUser := changed(patchedBy("kubectl-patch", u.change))
		byPlatform := changed(did(func(n *namespace) { n.appliedAs("platform", u.change) }))
		kept := func(manager string) step {
			return applies(u.dropped).value(u.path, u.changed).says("kept ", "set by "+manager+" and no longer in the manifest").twice()
		}
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			play(t, map[string]scenario{
				"dropped, unchanged": {kind: u.kind, steps: []step{
					applies(u.set), applies(u.dropped).value(u.path, absent(u)).warns(),
				}},
				"dropped after another manifest's apply": {kind: u.kind, steps: append(byPlatform, kept("platform"))},
				"dropped after a user's change, and set": {kind: u.kind, steps: append(byUser, kept("kubectl-patch"),
					applies(u.other).value(u.path, cmp.Or(u.beside, u.others)))},
				"set after a user's change, and dropped": {kind: u.kind, steps: append(byUser,
					applies(u.other).value(u.path, u.others), applies(u.dropped).value(u.path, absent(u)))},
			})
		})
	}
	label := units()["a label"]
	play(t, map[string]scenario{"a label that an unknown client has changed": {steps: []step{
		applies(label.set), patchedBy("somebody", label.change), applies(app("", "")).value(label.path, label.changed),
	}}})
}

// absent returns the value of a unit that nothing sets.
func absent(u unit) string {
	switch {
	case strings.HasSuffix(u.path, ".resources"):
		return "{}"
	case u.path == ".spec.suspend":
		return "false"
	default:
		return ""
	}
}

// appliedAs applies a merge patch of the object web server-side.
func (n *namespace) appliedAs(manager, patch string) {
	n.Helper()
	o := n.object()
	n.appliedBy(manager, strings.Replace(patch, "{", `{"apiVersion":"`+o.GetAPIVersion()+`","kind":"`+o.GetKind()+`",`, 1))
}

// TestUnitsThatAnEmptyMapDrops verifies that an empty map sets nothing.
func TestUnitsThatAnEmptyMapDrops(t *testing.T) {
	t.Parallel()
	all := units()
	play(t, map[string]scenario{
		"resources": {steps: []step{
			applies(all["the resources of a container"].set), patchedBy("kubectl-patch", all["the resources of a container"].change),
			applies(app("resources: {}", "")).value(cpu, "50m").twice(),
		}},
		"resources with empty requests": {steps: []step{
			applies(all["the resources of a container"].set), patchedBy("kubectl-patch", all["the resources of a container"].change),
			applies(app("resources: {requests: {}, limits: {}}", "")).value(cpu, "50m").twice(),
		}},
		"data": {kind: "configmap", steps: []step{
			applies(all["a key of a ConfigMap"].set), patchedBy("kubectl-patch", `{"data":{"a":"2"}}`),
			applies(data("ConfigMap", "data: {}\n")).value(".data", `{"a":"2"}`).twice(),
		}},
		"labels": {steps: []step{
			applies(all["a label"].set), patchedBy("kubectl-patch", all["a label"].change),
			applies(withMetadata("labels: {}", app("", ""))).value(".metadata.labels.tier", "b").twice(),
		}},
		"the service account, by its other name": {steps: []step{
			applies(app("", "serviceAccountName: a")),
			patchedBy("kubectl-patch", `{"spec":{"template":{"spec":{"serviceAccountName":"b","serviceAccount":"b"}}}}`),
			applies(app("", "serviceAccount: c")).value(".spec.template.spec.serviceAccountName", "c"),
		}},
		"null clears resources": {steps: []step{
			applies(all["the resources of a container"].set), patchedBy("kubectl-patch", all["the resources of a container"].change),
			applies(app("resources: null", "")).value(".spec.template.spec.containers[0].resources", "{}").twice(),
		}},
		"null clears a label": {steps: []step{
			applies(all["a label"].set), patchedBy("kubectl-patch", all["a label"].change),
			applies(withMetadata("labels: {tier: null}", app("", ""))).value(".metadata.labels.tier", ""),
		}},
	})
}

// The same quantity in another notation is no change.
func TestAUnitWithTheSameQuantityIsDeleted(t *testing.T) {
	t.Parallel()
	play(t, map[string]scenario{"10m and 0.01": {steps: []step{
		applies(app("resources: {requests: {cpu: '0.010'}}", "")),
		patchedBy("kubectl-patch", containerPatch(`"resources":{"requests":{"cpu":"20m"}}`)),
		patchedBy("kubectl-patch", containerPatch(`"resources":{"requests":{"cpu":"10m"}}`)),
		applies(app("", "")).value(".spec.template.spec.containers[0].resources", "{}"),
	}}})
}

// refusable are applies that the API server would refuse, if handoff kept the unit.
func refusable() map[string]struct {
	kind, set, change, dropped string
	silent                     bool // without a warning that names what is not kept
} {
	side := "- {name: side, image: 'registry.invalid/side:1', resources: {requests: {cpu: 10m}}}\n"
	beside := func(manifest string) string {
		return manifest + "      " + side
	}
	large := func(size int) string { return strings.Repeat("x", size) }
	const apparmor = "container.apparmor.security.beta.kubernetes.io/side"
	claims := "resourceClaims: [{name: gpu, resourceClaimName: gpu}]"
	return map[string]struct {
		kind, set, change, dropped string
		silent                     bool
	}{
		"a container that the manifest drops": {
			set: beside(app("", "")), dropped: app("", ""), silent: true,
			change: `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"registry.invalid/app:1"},` +
				`{"name":"side","image":"registry.invalid/side:1","resources":{"requests":{"cpu":"50m"}}}]}}}}`,
		},
		"a ConfigMap above 1 MiB": {
			kind: "configmap", set: data("ConfigMap", "data: {a: '1', b: '1'}\n"), change: `{"data":{"a":"` + large(950_000) + `"}}`,
			dropped: data("ConfigMap", "data: {b: "+large(120_000)+"}\n"),
		},
		"a Secret above 1 MiB": {
			kind: "secret", set: data("Secret", "data: {a: MQ==, b: MQ==}\n"), change: `{"stringData":{"a":"` + large(950_000) + `"}}`,
			dropped: data("Secret", "data: {b: "+strings.Repeat("eHh4", 40_000)+"}\n"),
		},
		"annotations above 256 KiB": {
			set:     withMetadata("annotations: {a: '1', b: '1'}", app("", "")),
			change:  `{"metadata":{"annotations":{"a":"` + large(200_000) + `"}}}`,
			dropped: withMetadata("annotations: {b: "+large(40_000)+"}", app("", "")),
		},
		"a key that moves to binaryData": {
			kind: "configmap", set: data("ConfigMap", "data: {a: '1'}\n"), change: `{"data":{"a":"2"}}`,
			dropped: data("ConfigMap", "binaryData: {a: MQ==}\n"),
		},
		"a resource claim": {
			set: app("resources: {claims: [{name: gpu}], requests: {cpu: 10m}}", claims), dropped: app("", ""),
			change: containerPatch(`"resources":{"claims":[{"name":"gpu"}],"requests":{"cpu":"50m"}}`),
		},
		"an AppArmor annotation": {
			set:     beside(pod(", annotations: {" + apparmor + ": runtime/default}")),
			change:  `{"spec":{"template":{"metadata":{"annotations":{"` + apparmor + `":"unconfined"}}}}}`,
			dropped: pod(""),
		},
		"an AppArmor annotation whose field the manifest sets": {
			set:     pod(", annotations: {" + strings.TrimSuffix(apparmor, "side") + "app: runtime/default}"),
			change:  `{"spec":{"template":{"metadata":{"annotations":{"` + strings.TrimSuffix(apparmor, "side") + `app":"unconfined"}}}}}`,
			dropped: app("securityContext: {appArmorProfile: {type: RuntimeDefault}}", ""),
		},
		"resources that move to the pod": {
			set: app("resources: {requests: {cpu: 10m}}", ""), dropped: app("", "resources: {requests: {cpu: 20m}}"),
			change: containerPatch(`"resources":{"requests":{"cpu":"50m"}}`),
		},
	}
}

// TestUnitsThatTheAPIServerWouldRefuse verifies that an apply stores what it stores without handoff, with a warning.
func TestUnitsThatTheAPIServerWouldRefuse(t *testing.T) {
	t.Parallel()
	for sentence, c := range refusable() {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(sentence, "to the pod") && !cluster.Plane.HasMutatingPolicies() {
				t.Skip("resources of a pod and mutating policies are on by default, or available, since Kubernetes 1.34")
			}
			n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
			var r result
			for _, each := range []*namespace{twin, n} {
				if c.kind != "" {
					each.kind = c.kind
				}
				each.apply(c.set)
				patch := each.file("patch.json", c.change)
				each.kubectl("patch", each.kind, "web", "--type=merge", "--field-manager=kubectl-patch", "--patch-file", patch)
				r = each.apply(c.dropped)
			}
			if said := strings.Contains(r.stderr, "handoff: not kept "); said == c.silent {
				t.Errorf("warnings: %q", r.warnings())
			}
			if diff := gocmp.Diff(stored(twin), stored(n)); diff != "" {
				t.Errorf("the object (-without +with handoff):\n%s", diff)
			}
		})
	}
}
