package e2e_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

// inMode returns a Deployment with the mode label.
func inMode(mode, replicas, image string) string {
	return strings.Replace(deployment(replicas, image), "  name: web\n",
		"  name: web\n  labels: {"+ownership.ModeLabel+": "+mode+"}\n", 1)
}

// refusesMode reports whether the policy of manifests/policies is installed. If so, it verifies that the policy rejects a mode.
func refusesMode(t *testing.T, mode string) bool {
	t.Helper()
	n := &namespace{T: t, name: "default"}
	if n.run("", "get", "validatingadmissionpolicy", "handoff-mode").err != nil {
		return false
	}
	manifest := "apiVersion: v1\nkind: Namespace\n" +
		"metadata: {name: e2e-refused, annotations: {" + ownership.ModeAnnotation + ": " + mode + "}}\n"
	if r := n.run(manifest, "create", "-f", "-"); r.err == nil || !strings.Contains(r.stderr, "write enforce, warn or off") {
		t.Errorf("the policy should reject the mode %s: %v\n%s", mode, r.err, r.stderr)
	}
	return true
}

func TestTheObjectsModeOverridesTheNamespaces(t *testing.T) {
	t.Parallel()
	kept := "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"
	handBack := "to hand replicas back to the manifest, apply again after deleting the autoscaler"
	would := "(warn) would keep .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest"
	unknown := func(value string) string {
		return ownership.ModeAnnotation + " " + value + " is unknown and counts as warn; write enforce, warn or off"
	}
	for name, c := range map[string]struct {
		namespace, object string
		replicas          int64
		warnings          []string
	}{
		"a namespace without the annotation":                 {"", "", 3, nil},
		"a namespace in mode off":                            {"off", "", 3, nil},
		"a namespace in mode warn":                           {"warn", "", 3, []string{would}},
		"a namespace in mode enforce":                        {"enforce", "", 7, []string{kept, handBack}},
		"an unknown value counts as warn":                    {"enfroce", "", 3, []string{unknown("enfroce"), would}},
		"an object in mode enforce, a namespace without one": {"", "enforce", 7, []string{kept, handBack}},
		"an object in mode off, its namespace in enforce":    {"enforce", "off", 3, nil},
		"an object in mode warn, its namespace in enforce":   {"enforce", "warn", 3, []string{would}},
		"an object's unknown value counts as warn":           {"enforce", "yes", 3, []string{unknown("yes"), would}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.namespace == "enfroce" && refusesMode(t, c.namespace) {
				return
			}
			n := newNamespace(t, c.namespace)
			manifest := func(image string) string {
				if c.object == "" {
					return deployment("3", image)
				}
				return inMode("\""+c.object+"\"", "3", image)
			}
			n.apply(manifest("app:1"))
			n.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
			n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
			if c.warnings != nil {
				n.eventually("handoff knows of the autoscaler", func() bool {
					r := n.apply(manifest("app:1"), "--dry-run=server")
					return len(r.warnings()) == len(c.warnings)
				})
			}
			r := n.apply(manifest("app:1"), "-o", "jsonpath={.spec.replicas}") // a later read may see the autoscaler's correction
			n.wantWarnings(r, c.warnings...)
			if want := strconv.FormatInt(c.replicas, 10); r.stdout != want {
				t.Errorf("replicas: got %s, want %s", r.stdout, want)
			}
			n.wantLastApplied("replicas", c.replicas == 3)
		})
	}
}

// TestRolloutUndoKeepsTheOptIn returns to a revision that an object had before it opted in. kubectl also restores the annotations of
// that revision, and no labels.
func TestRolloutUndoKeepsTheOptIn(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "")
	n.apply(deployment("3", "app:1"))
	n.rolledOut("1")
	n.apply(deployment("3", "app:2"))
	n.rolledOut("2")
	n.kubectl("label", "deployment", "web", ownership.ModeLabel+"=enforce")
	n.kubectl("rollout", "undo", "deployment", "web")
	if got := n.object().GetLabels()[ownership.ModeLabel]; got != "enforce" {
		t.Errorf("the label after kubectl rollout undo: %q", got)
	}
	n.autoscale("7")
	n.wantWarnings(n.apply(deployment("3", "app:1")), "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; remove it from the manifest",
		"to hand replicas back to the manifest, apply again after deleting the autoscaler")
	n.wantReplicas(7)
}

// rolledOut waits until the deployment controller has created a revision of the Deployment web.
func (n *namespace) rolledOut(revision string) {
	n.Helper()
	n.eventually("the controller creates revision "+revision, func() bool {
		return n.object().GetAnnotations()["deployment.kubernetes.io/revision"] == revision
	})
}

// TestAManifestThatDropsTheLabelTakesTheObjectOut verifies that the object is in the mode of its namespace in the same write, and
// that handoff never keeps its own label.
func TestAManifestThatDropsTheLabelTakesTheObjectOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		namespace, label string
		byHand           string // the label that a person then sets
		flags            []string
		replicas         string
	}{
		"client-side, a namespace without a mode":         {"", "enforce", "", nil, "3"},
		"server-side, a namespace without a mode":         {"", "enforce", "", []string{"--server-side"}, "3"},
		"client-side, a namespace in enforce":             {"enforce", "off", "", nil, "7"},
		"server-side, a namespace in enforce":             {"enforce", "off", "", []string{"--server-side"}, "7"},
		"a person has changed it, a namespace in off":     {"off", "warn", "enforce", nil, "3"},
		"a person has changed it, a namespace in enforce": {"enforce", "off", "warn", nil, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, c.namespace)
			apply := func(manifest string, flags ...string) result {
				return n.apply(manifest, slices.Concat([]string{"--force-conflicts=" + strconv.FormatBool(c.flags != nil)}, c.flags, flags)...)
			}
			apply(inMode("\""+c.label+"\"", "3", "app:1"))
			n.kubectl("autoscale", "deployment", "web", "--min=7", "--max=20")
			n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
			n.eventually("handoff knows of the autoscaler", func() bool {
				return apply(inMode("enforce", "3", "app:1"), "--dry-run=server").warnings() != nil
			})
			if c.byHand != "" {
				n.kubectl("label", "--overwrite", "deployment", "web", ownership.ModeLabel+"="+c.byHand)
			}
			r := apply(deployment("3", "app:2"), "-o", "jsonpath={.spec.replicas} {.metadata.labels}") // a later read may see the autoscaler's correction
			if got := strings.TrimSpace(r.stdout); got != c.replicas {
				t.Errorf("replicas and labels: got %s, want %s and no label", got, c.replicas)
			}
		})
	}
}

func TestDryRunAndDiffShowTheKeptReplicas(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t)
	n.apply(deployment("3", "app:1"))
	for name, manifest := range map[string]string{"sets": deployment("3", "app:1"), "lacks": deployment("", "app:1")} {
		r := n.apply(manifest, "--dry-run=server", "-o", "jsonpath={.spec.replicas}")
		if r.stdout != "7" {
			t.Errorf("a dry run of a manifest that %s replicas: got %q, want 7", name, r.stdout)
		}
		r = n.run(manifest, "diff", "-f", "-")
		if r.err != nil {
			t.Errorf("a diff of a manifest that %s replicas: %v\n%s", name, r.err, r.stdout)
		}
	}
	r := n.run(deployment("3", "app:2"), "diff", "-f", "-")
	if strings.Contains(r.stdout, "replicas") || !strings.Contains(r.stdout, "app:2") {
		t.Errorf("a diff shows the image and no replicas, got:\n%s", r.stdout)
	}
}

func TestKeptFieldsAreRecordedInEventsAndMetrics(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t)
	n.apply(deployment("3", "app:1"), "--dry-run=server")
	if out := n.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}").stdout; strings.Contains(out, "OwnershipKept") {
		t.Errorf("a dry run has recorded an Event: %s", out)
	}
	n.apply(deployment("3", "app:1"))

	type event struct{ Reason, Message, Type string }
	var found []event
	n.eventually("an Event is recorded", func() bool {
		var list struct{ Items []event }
		out := n.kubectl("get", "events", "--field-selector=involvedObject.name=web,involvedObject.uid="+string(n.object().GetUID()), "-o", "json")
		if err := json.Unmarshal([]byte(out.stdout), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == "OwnershipKept" {
				found = append(found, e)
			}
		}
		return len(found) > 0
	})
	want := event{"OwnershipKept", "kept .spec.replicas: live 7, incoming 3, owner HorizontalPodAutoscaler/web (Autoscaler)", "Normal"}
	if diff := cmp.Diff(want, found[0]); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	metrics, err := cluster.Webhook.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{
		`handoff_decisions_total{decision="keep-autoscaled",mode="enforce",owner="Autoscaler",verdict="keep"}`,
		`handoff_reviews_total{result="patched"}`,
		"handoff_review_duration_seconds_count",
	} {
		if !strings.Contains(metrics, metric) {
			t.Errorf("there is no metric %s", metric)
		}
	}
}
