package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

// fault breaks a part of the cluster.
type fault struct {
	name string
	may  consequences
	// play breaks it, until the context ends, and repairs it.
	play func(context.Context, *stage) error
}

// stage is what a fault can break.
type stage struct {
	*machine

	traffic *traffic
	history *history
	log     *auditLog
	issuing sync.Mutex // a certificate
	skewing sync.Mutex // clocks
	probers []*prober

	other  string // a build of the webhook with another version
	skewed string // a build with another clock
	// mistake is that of all builds of the webhook, if any.
	mistake brokenBuild
}

// wait waits for a time, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// repairing returns a context for what a fault must still do after its own has ended.
func repairing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// during plays a fault: it breaks something, waits, and repairs it.
func during(breaks, repairs func(context.Context, *stage) error) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		err := breaks(ctx, s)
		if err == nil {
			<-ctx.Done()
		}
		ctx, cancel := repairing(ctx)
		defer cancel()
		return errors.Join(err, repairs(ctx, s))
	}
}

// again plays a fault that happens again and again.
func again(pause time.Duration, once func(context.Context, *stage) error) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		for ctx.Err() == nil {
			limited, cancel := repairing(ctx)
			err := once(limited, s)
			cancel()
			if err != nil {
				return err
			}
			wait(ctx, pause)
		}
		return nil
	}
}

// pods returns a step that does something with some of the pods.
func pods(which []int, do func(context.Context, *pod) error) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		var failures []error
		for _, i := range which {
			failures = append(failures, do(ctx, s.pods[i]))
		}
		return errors.Join(failures...)
	}
}

func signals(signal syscall.Signal) func(context.Context, *pod) error {
	return func(_ context.Context, p *pod) error { return p.signal(signal) }
}

// ways changes how a pod reaches the API servers.
func ways(how func(*pod)) func(context.Context, *pod) error {
	return func(_ context.Context, p *pod) error {
		how(p)
		return nil
	}
}

// killed plays servers that are killed, and then started again.
func killed(which func(*machine) []*server) func(context.Context, *stage) error {
	return during(
		func(_ context.Context, s *stage) error {
			for _, each := range which(s.machine) {
				_ = each.kill() // in a pair, the other one can have killed it
			}
			return nil
		},
		func(ctx context.Context, s *stage) error {
			var failures []error
			for _, each := range which(s.machine) {
				failures = append(failures, each.restart(ctx))
			}
			return errors.Join(failures...)
		})
}

// catalog returns the faults, those that matter most first.
func catalog() faults {
	one, all := []int{0}, []int{0, 1, 2}
	start := func(ctx context.Context, p *pod) error { return p.start(ctx) }
	pass := ways(func(p *pod) { p.api.Pass() })
	found := faults{
		{"a webhook pod killed", 0, during(pods(one, signals(syscall.SIGKILL)), pods(one, start))},
		{"all webhook pods killed", undecidedWrites, during(pods(all, signals(syscall.SIGKILL)), pods(all, start))},
		{"a webhook pod suspended", 0, during(pods(one, signals(syscall.SIGSTOP)), pods(one, signals(syscall.SIGCONT)))},
		{"a webhook pod out of memory", 0, during(exhaustMemory, pods(one, start))},
		{"all webhook pods suspended", undecidedWrites, during(pods(all, signals(syscall.SIGSTOP)), pods(all, signals(syscall.SIGCONT)))},
		{"all webhook pods slow", 0, again(100*time.Millisecond, slow)},
		{"webhook pods replaced in a loop", 0, again(0, replacePods)},
		{"a webhook pod's API server unreachable", 0, during(pods(one, ways(func(p *pod) { p.api.CutAll() })), pods(one, pass))},
		{"all webhook pods' watches cut", undecidedWrites, during(pods(all, ways(func(p *pod) { p.api.CutWatches() })), pods(all, pass))},
		{"all webhook pods' watches silent", undecidedWrites, during(pods(all, ways(func(p *pod) { p.api.SilenceWatches() })), pods(all, pass))},
		{"all webhook pods' watches without bookmarks", 0, during(pods(all, ways(func(p *pod) { p.api.WithholdBookmarks() })), pods(all, pass))},
		{"webhook upgraded and downgraded", 0, again(0, upgradePods)},
		{"a webhook pod's clock an hour ahead", 0, skewClocks(time.Hour)},
		{"a webhook pod's clock an hour behind", 0, skewClocks(-time.Hour)},
		{"all webhook pods' clocks an hour off", 0, skewClocks(time.Hour, -time.Hour, time.Hour)},
		{"certificate swapped", 0, again(2*time.Second, swapCertificate)},
		{"certificate expired", undecidedWrites, during(mountCertificate(2*time.Second), swapCertificate)},
		{"certificate half-written", 0, during(writeHalfCertificate, swapCertificate)},
		{"caBundle wrong", undecidedWrites, during(trustOther, trustCurrent)},
		{"an API server killed", noAPI, killed(func(m *machine) []*server { return m.apis[:1] })},
		{"both API servers killed", noAPI | undecidedWrites, killed(func(m *machine) []*server { return m.apis })},
		{"an etcd member killed", noAPI, killed(func(m *machine) []*server { return m.etcds[1:2] })},
		{"the leader of etcd killed", noAPI, killLeader},
		{"an etcd member cut off from the others", noAPI, isolate(false)},
		{"the leader of etcd cut off from the others", noAPI, isolate(true)},
		{"a slow disk of an etcd member", noAPI, slowDisk(false)},
		{"a slow disk of the leader of etcd", noAPI, slowDisk(true)},
		{"an API server suspended", noAPI, during(suspendServer(syscall.SIGSTOP), suspendServer(syscall.SIGCONT))},
		{"etcd compacted", 0, again(2*time.Second, compact)},
		{"flood of large and hostile writes outside", 0, flood},
		{"CRDs come, go and move their scale path", 0, again(0, moveScalePath)},
		{"namespaces deleted in mid-apply", 0, again(0, deleteNamespace)},
		{"HPAs made and deleted in a loop", 0, again(200*time.Millisecond, churnAutoscalers)},
		{"configuration reloaded in a loop, with packs", 0, during(again(300*time.Millisecond, reload), loadPacks)},
		{"guard switched in a loop", unknownGuard, switchGuard},
		{"controller managers killed", 0, again(2*time.Second, killControllers)},
	}
	if *otherAPIServerFlag != "" {
		found = append(found, &fault{"an API server upgraded and downgraded", noAPI, during(runAPIServer(*otherAPIServerFlag), runAPIServer(""))})
	}
	return found
}

// slow suspends each pod three quarters of the time.
func slow(ctx context.Context, s *stage) error {
	all := []int{0, 1, 2}
	if err := pods(all, signals(syscall.SIGSTOP))(ctx, s); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	return pods(all, signals(syscall.SIGCONT))(ctx, s)
}

func replacePods(ctx context.Context, s *stage) error {
	for _, p := range s.pods {
		if err := p.replace(ctx); err != nil {
			return err
		}
	}
	return nil
}

// swapCertificate renews the certificate.
func swapCertificate(ctx context.Context, s *stage) error {
	return mountCertificate(365*24*time.Hour)(ctx, s)
}

// mountCertificate issues a certificate and mounts it. The API servers trust its CA before it is used.
func mountCertificate(validity time.Duration) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		s.issuing.Lock()
		defer s.issuing.Unlock()
		dir := s.dir()
		ca, err := handofftest.WriteCertificateFor(dir, validity)
		if err != nil {
			return err
		}
		if err := s.trust(ctx, slices.Concat(s.ca, ca)); err != nil {
			return err
		}
		wait(ctx, time.Second) // both API servers notice
		s.ca = ca
		return s.mount(dir)
	}
}

func writeHalfCertificate(_ context.Context, s *stage) error {
	chain, err := os.ReadFile(filepath.Join(s.certificates, "tls.crt"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.certificates, "tls.crt"), chain[:len(chain)/3], 0o600)
}

func trustOther(ctx context.Context, s *stage) error {
	ca, err := handofftest.WriteCertificate(s.dir())
	if err != nil {
		return err
	}
	return s.trust(ctx, ca)
}

// trustCurrent waits until no other fault changes the CA.
func trustCurrent(ctx context.Context, s *stage) error {
	s.issuing.Lock()
	defer s.issuing.Unlock()
	return s.trust(ctx, s.ca)
}

func suspendServer(signal syscall.Signal) func(context.Context, *stage) error {
	return func(_ context.Context, s *stage) error { return syscall.Kill(s.apis[1].PID, signal) }
}

func post(ctx context.Context, url, body string, result any) error {
	text, _, err := ask(ctx, http.MethodPost, url, body)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// ask sends a request, and returns the body and the header of the response.
func ask(ctx context.Context, method, url, body string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return text, response.Header, err
}

const (
	outside = "outside" // a namespace that has not opted in
	// gadgetPatience is how long a pod may not know a CRD, and slowGadgetPatience how long if its API server was unreachable.
	gadgetPatience, slowGadgetPatience = 5 * time.Second, 30 * time.Second
)

func newObject(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// flood lets four clients write at the same time.
func flood(ctx context.Context, s *stage) error {
	var clients errgroup.Group
	for range 4 {
		clients.Go(func() error { return again(0, writeHostile)(ctx, s) })
	}
	return clients.Wait()
}

// writeHostile writes a large ConfigMap, and a Deployment with a hostile last-applied annotation.
func writeHostile(ctx context.Context, s *stage) error {
	name := fmt.Sprintf("flood-%d", rand.IntN(5))
	large := newObject("v1", "ConfigMap", outside, name, map[string]any{"data": map[string]any{"x": strings.Repeat(strconv.Itoa(rand.IntN(10)), 900_000)}})
	in := intent{workload: &workload{namespace: outside, name: name}, id: "0", replicas: 1}
	hostile := &unstructured.Unstructured{Object: in.manifest()}
	annotate(hostile, "kubectl.kubernetes.io/last-applied-configuration", strings.Repeat("[", 200_000))
	for _, o := range []*unstructured.Unstructured{large, hostile} {
		//nolint:staticcheck // the object is unstructured
		err := s.traffic.api.Patch(ctx, o, client.Apply, client.FieldOwner("flood"), client.ForceOwnership)
		if err != nil && reasonOf(err.Error()) == "" {
			return err
		}
	}
	return nil
}

// moveScalePath creates a CRD, moves its scale field, and deletes it. handoff must keep what an autoscaler sets in it.
func moveScalePath(ctx context.Context, s *stage) error {
	const versions = `
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {scale: {specReplicasPath: .spec.%s, statusReplicasPath: .status.replicas}}
`
	for _, path := range []string{"replicas", "size"} {
		crd := objects.CRD("soak.example.com", "Gadget", fmt.Sprintf(versions, path))
		if err := s.insist(ctx, crd, "apply", "-f", "-"); err != nil {
			return err
		}
		if err := s.keepGadget(ctx, path, []string{clientSide, serverSide}[rand.IntN(2)]); err != nil {
			return err
		}
	}
	return s.insist(ctx, "", "delete", "crd", "gadgets.soak.example.com", "--ignore-not-found")
}

// keepGadget applies a Gadget between scalings until handoff, which must first see the CRD, keeps the replicas.
func (s *stage) keepGadget(ctx context.Context, path, way string) error {
	patient := gadgetPatience
	if len(s.history.during(time.Now(), time.Now())) > 1 {
		patient = slowGadgetPatience
	}
	for deadline := time.Now().Add(patient); ; wait(ctx, 100*time.Millisecond) {
		began, want := time.Now(), int64(4+rand.IntN(5))
		got, warnings, err := s.traffic.applyOverScale(ctx, path, way, want)
		switch {
		case isRefusal(err):
			s.traffic.books.Load().note("a Gadget was refused: %v", err)
			return nil
		case err == nil && got == want:
			return nil
		case time.Now().Before(deadline):
			if err == nil {
				s.traffic.books.Load().count("reset: a Gadget, before the webhook knew its scale field")
			}
		case err == nil && skippedIn(warnings) == "" && !s.history.mayHave(undecidedWrites, began, time.Now()):
			s.traffic.books.Load().note("a %s apply set .spec.%s of a Gadget to %d, want %d, and nobody said that it is undecided", way, path, got, want)
			return nil
		default:
			return err
		}
	}
}

// deleteNamespace creates a namespace, and deletes it while manifests are applied in it.
func deleteNamespace(ctx context.Context, s *stage) error {
	name := fmt.Sprintf("gone-%d", time.Now().UnixNano())
	o := newObject("v1", "Namespace", "", name, map[string]any{})
	annotate(o, "ownership-handoff.io/mode", "enforce")
	if err := s.traffic.api.Create(ctx, o); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	for i := range 30 {
		if i == 10 {
			if err := s.traffic.api.Delete(ctx, o); err != nil {
				return err
			}
		}
		in := intent{workload: &workload{namespace: name, name: "web"}, id: "0", replicas: 1 + i%2}
		_, err := s.traffic.clients.apply(ctx, in.manifest(), []string{clientSide, serverSide}[i%2], false)
		if isRefusal(err) {
			s.traffic.books.Load().note("%s: refused: %v", name, err)
		}
	}
	return nil
}

// isRefusal reports whether an API server refused a write, but not because the namespace or the kind comes or goes.
func isRefusal(err error) bool {
	return err != nil && reasonOf(err.Error()) == "" && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsMethodNotSupported(err) &&
		!meta.IsNoMatchError(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// churnAutoscalers deletes the HPA of a workload, or creates it if there is none.
func churnAutoscalers(ctx context.Context, s *stage) error {
	w := s.traffic.any()
	for w.owner != churned {
		w = s.traffic.any()
	}
	err := s.traffic.api.Delete(ctx, w.autoscaler())
	if apierrors.IsNotFound(err) {
		err = s.traffic.createAutoscaler(ctx, w)
	}
	if err != nil && reasonOf(err.Error()) != "" {
		return nil
	}
	return err
}

// reload writes another configuration: with more rules, with a pack, with a mistake, or the first.
func reload(_ context.Context, s *stage) error {
	return replaceFile(s.configuration, []string{
		rules, rules + "- {name: other, kinds: [{group: apps, kind: DaemonSet}], fields: [.spec.minReadySeconds]}\n", "no: configuration",
		rules + "packs: [no-such-pack]\n", rules + fmt.Sprintf("packs: [%s]\n", packs()[rand.IntN(len(packs()))]),
	}[rand.IntN(5)])
}

// packs returns the packs without the one that assigns replicas to other controllers than the ledger knows.
func packs() []string {
	return slices.DeleteFunc(config.Packs(), func(pack string) bool { return pack == "sleepers" })
}

// loadPacks writes a configuration with the packs, waits until it is in force in all pods, and writes the first configuration.
func loadPacks(ctx context.Context, s *stage) error {
	text := rules + "packs: [" + strings.Join(packs(), ", ") + "]\n"
	all, err := config.Parse([]byte(text))
	if err != nil {
		return err
	}
	before := map[*handofftest.Webhook]int{} // how often a process has loaded it
	for _, p := range s.pods {
		before[p.running()] = strings.Count(p.running().Log(), all.Hash())
	}
	waits := func(p *pod) bool {
		hook := p.running()
		return strings.Count(hook.Log(), all.Hash()) <= before[hook]
	}
	for err == nil && slices.ContainsFunc(s.pods, waits) {
		if err = replaceFile(s.configuration, text); err == nil { // again: another fault can write it, too
			wait(ctx, time.Second)
			err = ctx.Err()
		}
	}
	if err != nil {
		err = fmt.Errorf("packs are not in force in all pods: %w", err)
	}
	err = errors.Join(err, replaceFile(s.configuration, rules))
	time.Sleep(2 * time.Second) // the pods look for a change every second
	return err
}

func replaceFile(name, content string) error {
	if err := os.WriteFile(name+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// switchGuard installs and removes the guard, and leaves it as it was.
func switchGuard(ctx context.Context, s *stage) error {
	on := s.history.guarded(time.Now(), time.Now())
	var err error
	for i := 0; ctx.Err() == nil && err == nil; i++ {
		err = s.setGuard(ctx, i%2 == 0 != on)
		wait(ctx, time.Second)
	}
	return errors.Join(err, s.setGuard(ctx, on))
}

// setGuard installs or removes the guard, even if the context has ended.
func (s *stage) setGuard(ctx context.Context, on bool) error {
	verb, began := []string{"apply"}, time.Now()
	if !on {
		s.history.setGuard(false, began)
		verb = []string{"delete", "--ignore-not-found", "--wait=false"}
	}
	err := s.insist(ctx, "", append(verb, "-k", filepath.Join("..", "..", objects.GuardFolder(s.plane.PoliciesVersion())))...)
	if err == nil {
		if on {
			time.Sleep(2 * time.Second) // both API servers notice
		}
		s.history.setGuard(on, began)
	}
	return err
}

// killControllers kills the older controller manager. One of the first two that it kills is the leader.
func killControllers(_ context.Context, s *stage) error {
	found, err := s.find("kube-controller-manager")
	if err != nil {
		return nil //nolint:nilerr // they are being restarted
	}
	oldest := slices.MinFunc(found, func(a, b procs.Process) int { return a.PID - b.PID })
	return syscall.Kill(oldest.PID, syscall.SIGKILL)
}
