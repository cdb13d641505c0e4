package e2e_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

// injectorVariable is the path of bin/certmanager, without which its test is skipped.
const injectorVariable = "E2E_CERTMANAGER"

// TestTheInjectorsBundlesAreNeverLost watches objects outside namespaces during 100 applies of each, client-side and then server-side,
// while cert-manager's cainjector and the controller manager maintain a field of each, and the CA changes. Twins that do not opt in lose
// the field, to show that the watch would see it.
func TestTheInjectorsBundlesAreNeverLost(t *testing.T) {
	binary := os.Getenv(injectorVariable)
	if binary == "" {
		t.Skip(injectorVariable + " is not set; run make e2e-clients")
	}
	n := newNamespace(t, "")
	n.kubectl("apply", "--server-side", "-f", binary+"-crds.yaml")
	n.eventually("the API server serves cert-manager's kinds", func() bool { return n.run("", "get", "certificates,issuers").Err == nil })
	injector, err := process.Start(filepath.Join(cluster.Plane.Dir, "certmanager.log"), binary, "--kubeconfig="+cluster.Plane.Kubeconfig)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = injector.Stop(5 * time.Second) })
	inject := strings.NewReplacer("annotations: {", "annotations: {cert-manager.io/inject-ca-from-secret: "+n.name+"/ca, ")
	var all, twins []*maintained
	for i, of := range []func() outside{definition, aggregatedAPI, aggregatedRole} {
		group := n.name + "-" + strconv.Itoa(i) // the API server creates an APIService for that of a CRD
		own, twin := of().in(group+".own.example.com"), of().in(group+".twin.example.com")
		own.manifest, twin.manifest = inject.Replace(own.manifest), inject.Replace(twin.manifest)
		twin.manifest = strings.Replace(twin.manifest, optIn, "", 1)
		all, twins = append(all, &maintained{outside: own}), append(twins, &maintained{outside: twin})
	}
	both := slices.Concat(all, twins)
	for _, m := range both {
		m.apply(n, 0)
	}
	time.Sleep(1100 * time.Millisecond) // see play
	n.injects(newCA(t))
	for _, m := range both {
		if m.manager == aggregatedRole().manager {
			m.controller(n, m.outside)
		}
		n.eventually("the controller writes the field of "+m.name, func() bool { return len(m.value(n)) > 10 })
		m.watch(n)
	}
	for half, args := range [][]string{nil, serverSide()} {
		var running sync.WaitGroup
		for i, m := range both {
			applies := 50
			if i >= len(all) {
				applies = 6
			}
			running.Go(func() {
				for j := range applies {
					m.apply(n, 1+50*half+j, args...)
				}
			})
		}
		running.Wait()
		n.injects(newCA(t))
	}
	for i := range all {
		lost, of := all[i].lost()
		twinLost, ofTwin := twins[i].lost()
		t.Logf("%s %s: lost in %d of %d versions, without handoff in %d of %d", all[i].kind, all[i].field, lost, of, twinLost, ofTwin)
		if lost > 0 || twinLost == 0 || of < ofTwin/2 {
			t.Error("want 0, and more without handoff")
		}
	}
}

func newCA(t *testing.T) (encoded string) {
	t.Helper()
	ca, _, err := cert.GenerateSelfSignedCertKey("server", nil, nil)
	expect.NoError(t, err)
	return base64.StdEncoding.EncodeToString(ca)
}

// injects sets the CA that the cainjector injects.
func (n *namespace) injects(ca string) {
	n.Helper()
	n.apply(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"ca","annotations":{"cert-manager.io/allow-direct-injection":"true"}},"data":{"ca.crt":"` + ca + `"}}`)
}

// maintained is an object of which the versions are watched.
type maintained struct {
	outside

	mutex sync.Mutex
	seen  []string // the values of the field
}

func (m *maintained) apply(n *namespace, generation int, args ...string) {
	n.Helper()
	manifest := strings.ReplaceAll(m.manifest, "GENERATION", strconv.Itoa(generation)) + m.sets[generation%len(m.sets)]
	r := n.run(manifest, append([]string{"apply", "-f", "-"}, args...)...)
	if r.Err != nil && strings.Contains(m.manifest, optIn) {
		n.Errorf("%v: %s", r.Err, r.Stderr)
	}
}

// watch records the values of the field from now on.
func (m *maintained) watch(n *namespace) {
	n.Helper()
	client, err := dynamic.NewForConfig(cluster.Plane.Config)
	expect.NoError(n, err)
	now := m.read(n)
	ctx, cancel := context.WithCancel(n.Context())
	n.Cleanup(cancel)
	resource, _ := schema.ParseResourceArg(m.kind)
	events, err := client.Resource(*resource).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + m.name, ResourceVersion: now.GetResourceVersion(),
	})
	expect.NoError(n, err)
	go func() {
		for e := range events.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				m.mutex.Lock()
				m.seen = append(m.seen, objects.JSONPath(n.T, o, m.field.String()))
				m.mutex.Unlock()
			}
		}
	}()
}

// lost returns in how many of the versions the value was that of a manifest.
func (m *maintained) lost() (times, versions int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, value := range m.seen {
		if len(value) <= 10 || strings.Contains(value, `"pods"`) {
			times++
		}
	}
	return times, len(m.seen)
}
