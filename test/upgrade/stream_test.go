package upgrade_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/objects"
)

// endpoint is an API server.
type endpoint struct{ name, kubeconfig string }

// stream applies the manifests of a few Deployments, each with its own kubectl and its own way to apply, and checks each result.
type stream struct {
	*testing.T
	namespace string
	cache     string
	minimum   int // replicas that the autoscalers have set
	workloads []*workload
	applies   atomic.Int64
}

// workload is a Deployment that is applied again and again, with three replicas or without, and with another image each time. An
// autoscaler owns its replicas, and kubectl patch has set paused, which the manifest has dropped.
type workload struct {
	*stream
	name    string
	kubectl string
	args    []string
	applied int
}

// newStream creates the Deployments through an API server, half of them with the first kubectl and half with the second.
func newStream(t *testing.T, plane *controlplane.ControlPlane, at endpoint, kubectls []string) *stream {
	t.Helper()
	s := &stream{T: t, namespace: "upgrade", cache: plane.Dir, minimum: 7}
	for i, kubectl := range kubectls {
		s.workloads = append(s.workloads,
			&workload{stream: s, name: fmt.Sprintf("client-%d", i), kubectl: kubectl},
			&workload{stream: s, name: fmt.Sprintf("server-%d", i), kubectl: kubectl, args: []string{"--server-side", "--force-conflicts"}})
	}
	first := s.workloads[0]
	first.must(at, "", "create", "namespace", s.namespace)
	first.must(at, "", "annotate", "namespace", s.namespace, "ownership-handoff.io/mode=enforce")
	for _, w := range s.workloads {
		w.must(at, w.manifest("replicas: 3", "paused: false"), append([]string{"apply", "-f", "-"}, w.args...)...)
		w.must(at, "", "patch", "deployment", w.name, "-p", `{"spec":{"paused":true}}`)
		w.must(at, "", "autoscale", "deployment", w.name, fmt.Sprintf("--min=%d", s.minimum), "--max=99")
	}
	s.waitUntilScaled(at)
	for _, w := range s.workloads { // the first apply after the patch drops paused
		w.apply(at)
	}
	return s
}

// installGuard installs the guard for a version of admissionregistration.k8s.io. One of another version is replaced: there must be
// as many policies as before.
func (s *stream) installGuard(at endpoint, version string) {
	s.Helper()
	root, err := controlplane.Root()
	if err != nil {
		s.Fatal(err)
	}
	first := s.workloads[0]
	first.must(at, "", "apply", "-k", filepath.Join(root, objects.GuardFolder(version)))
	policies := first.must(at, "", "get", "mutatingadmissionpolicies."+version+".admissionregistration.k8s.io", "-o", "name")
	if got := strings.Count(policies, "/handoff-guard-"); got != 2 || strings.Count(policies, "\n") != 2 {
		s.Errorf("%s: want the two policies of the guard, got %s", at.name, policies)
	}
}

// manifest returns the Deployment with lines of its spec.
func (w *workload) manifest(lines ...string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  %s
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: app, image: "app:%[3]d"}]}
`, w.name, strings.Join(lines, "\n  "), w.applied)
}

// apply applies the next manifest, and checks the object that the API server returns.
func (w *workload) apply(at endpoint) {
	w.applied++
	w.applies.Add(1)
	manifest := w.manifest("replicas: 3")
	if w.applied%3 == 0 {
		manifest = w.manifest() // drops replicas
	}
	stdout, stderr, err := w.run(at, manifest, append([]string{"apply", "-o", "json", "-f", "-"}, w.args...)...)
	if err != nil {
		w.Errorf("%s: apply %d at %s: %v\n%s", w.name, w.applied, at.name, err, stderr)
		return
	}
	var stored appsv1.Deployment
	if err := json.Unmarshal([]byte(stdout), &stored); err != nil {
		w.Errorf("%s: apply %d at %s: %v\n%s", w.name, w.applied, at.name, err, stdout)
		return
	}
	want := fmt.Sprintf("replicas %d, paused true, image app:%d", w.minimum, w.applied)
	got := fmt.Sprintf("replicas %d, paused %v, image %s",
		*stored.Spec.Replicas, stored.Spec.Paused, stored.Spec.Template.Spec.Containers[0].Image)
	if got != want {
		w.Errorf("%s: apply %d at %s: got %s, want %s; kubectl says %q", w.name, w.applied, at.name, got, want, stderr)
	}
}

// play applies each manifest a number of times through the API servers, all workloads at the same time.
func (s *stream) play(phase string, at ...endpoint) {
	s.Helper()
	s.during(phase, s.waitForRounds, at...)
}

// waitForRounds waits until each manifest has been applied a few times more. It is for the function of during.
func (s *stream) waitForRounds() {
	s.Helper()
	want := s.applies.Load() + int64(rounds*len(s.workloads))
	for deadline := time.Now().Add(3 * patience); s.applies.Load() < want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("%d applies are missing", want-s.applies.Load())
		}
	}
}

// during applies the manifests through the API servers in turn until a function returns and each apply is complete.
func (s *stream) during(phase string, act func(), at ...endpoint) {
	s.Helper()
	began, before := time.Now(), s.applies.Load()
	var done atomic.Bool
	var all sync.WaitGroup
	for i, w := range s.workloads {
		all.Go(func() {
			for turn := i; !done.Load(); turn++ {
				w.apply(at[turn%len(at)])
			}
		})
	}
	func() {
		defer all.Wait()
		defer done.Store(true)
		act()
	}()
	s.Logf("%s: %d applies in %.0f s", phase, s.applies.Load()-before, time.Since(began).Seconds())
}

// scale raises the minimum of each autoscaler, and waits until the controllers have scaled.
func (s *stream) scale(at endpoint) {
	s.Helper()
	s.minimum++
	for _, w := range s.workloads {
		w.must(at, "", "patch", "hpa", w.name, "-p", fmt.Sprintf(`{"spec":{"minReplicas":%d}}`, s.minimum))
	}
	s.waitUntilScaled(at)
}

func (s *stream) waitUntilScaled(at endpoint) {
	s.Helper()
	want := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d ", s.minimum), len(s.workloads)), " ")
	for deadline := time.Now().Add(patience); ; time.Sleep(250 * time.Millisecond) {
		got := s.workloads[0].must(at, "", "get", "deployments", "-o", "jsonpath={.items[*].spec.replicas}")
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("the autoscalers do not scale: got replicas %s, want %s", got, want)
		}
	}
}

// wantTruth verifies that last-applied does not contain the kept fields, and that they have the managers who set them.
func (s *stream) wantTruth(at endpoint) {
	s.Helper()
	for _, w := range s.workloads {
		var stored appsv1.Deployment
		text := w.must(at, "", "get", "deployment", w.name, "-o", "json", "--show-managed-fields")
		if err := json.Unmarshal([]byte(text), &stored); err != nil {
			s.Fatal(err)
		}
		last := stored.Annotations["kubectl.kubernetes.io/last-applied-configuration"]
		if (last == "") != (w.args != nil) || strings.Contains(last, "replicas") || strings.Contains(last, "paused") {
			s.Errorf("%s: last-applied is %q", w.name, last)
		}
		for field, want := range map[string]string{"f:replicas": "kube-controller-manager", "f:paused": "kubectl-patch"} {
			var got []string
			for _, e := range stored.ManagedFields {
				if strings.Contains(string(e.FieldsV1.GetRawBytes()), `"`+field+`":`) && e.Subresource != "status" {
					got = append(got, e.Manager)
				}
			}
			if !slices.Equal(got, []string{want}) {
				s.Errorf("%s: the managers of %s are %q, want %s", w.name, field, got, want)
			}
		}
	}
}

// must runs kubectl, which must succeed, and returns its output.
func (w *workload) must(at endpoint, stdin string, args ...string) string {
	w.Helper()
	stdout, stderr, err := w.run(at, stdin, args...)
	if err != nil {
		w.Fatalf("kubectl %q at %s: %v\n%s", args, at.name, err, stderr)
	}
	return stdout
}

// run runs kubectl without the user's preferences.
func (w *workload) run(at endpoint, stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(w.Context(), w.kubectl, append([]string{"--kubeconfig", at.kubeconfig, "--namespace", w.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+w.cache+"/kubectl-cache-"+at.name, "KUBERC=off")
	cmd.Stdin = strings.NewReader(stdin)
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}
