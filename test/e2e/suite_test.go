package e2e_test

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

const patience = 60 * time.Second

//go:embed testdata
var files embed.FS

// testdata returns the text of testdata/NAME.yaml.
func testdata(name string) string {
	text, err := files.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		panic(err) // a mistake in this package
	}
	return string(text)
}

// kubeconfigVariable is the kubeconfig of a cluster in which the webhook is installed. If it is empty, the suite starts its own
// control plane, and the webhook as a local process.
const kubeconfigVariable = "E2E_KUBECONFIG"

// cluster is shared by all tests of the suite.
var cluster struct {
	Plane *controlplane.ControlPlane
	// Webhook is the webhook under test, either a local process or in the cluster.
	Webhook interface {
		Metrics(ctx context.Context) (string, error)
		Log() string
	}
	client client.Client
	reader *objects.Reader
	crds   sync.Map // a sync.Once for each name
	// ruled is a webhook with testdata/rules.yaml, for the namespaces with a label.
	ruled struct {
		once    sync.Once
		webhook *handofftest.Webhook
	}
	stop func() error
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			_ = stop() // the error of start is the cause
			return 1
		}
		code := m.Run()
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		return code
	}())
}

func start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if kubeconfig := os.Getenv(kubeconfigVariable); kubeconfig != "" {
		err = connect(ctx, kubeconfig)
	} else {
		err = startLocal(ctx)
	}
	if err != nil {
		return err
	}
	config := rest.CopyConfig(cluster.Plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	if cluster.reader, err = objects.NewReader(config); err != nil {
		return err
	}
	return installGuard(ctx)
}

// startLocal starts a control plane, whose HorizontalPodAutoscalers may scale to 0, and the webhook as a local process.
func startLocal(ctx context.Context) error {
	started, err := handofftest.StartCluster(ctx, controlplane.Options{Output: os.Stderr, FeatureGates: "HPAScaleToZero=true"})
	if err != nil {
		return err
	}
	cluster.Plane, cluster.Webhook, cluster.stop = started.Plane, started.Webhook, started.Stop
	return started.Webhook.Register(ctx)
}

// connect connects to an existing cluster in which the webhook is installed.
func connect(ctx context.Context, kubeconfig string) (err error) {
	if cluster.Plane, err = controlplane.Connect(ctx, kubeconfig); err != nil {
		return err
	}
	cluster.stop = cluster.Plane.Stop
	installed, err := handofftest.InCluster(ctx, cluster.Plane)
	if err != nil {
		return err
	}
	cluster.Webhook = installed
	return nil
}

func stop() error {
	if cluster.stop == nil {
		return errors.New("nothing was started")
	}
	if ruled := cluster.ruled.webhook; ruled != nil {
		return errors.Join(ruled.Stop(), cluster.stop())
	}
	return cluster.stop()
}

// withCRDs installs CustomResourceDefinitions once for all tests.
func withCRDs(t *testing.T, manifest string, names ...string) {
	t.Helper()
	once, _ := cluster.crds.LoadOrStore(names[0], new(sync.Once))
	once.(*sync.Once).Do(func() { //nolint:forcetypeassert // it contains no others
		n := &namespace{T: t, name: "default"}
		n.apply(manifest)
		n.kubectl(append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, names...)...)
	})
}

func withScalers(t *testing.T) {
	t.Helper()
	withCRDs(t, testdata("scalers"), "crd/scaledobjects.keda.sh", "crd/rollouts.argoproj.io", "crd/canaries.flagger.app", "crd/machinedeployments.cluster.x-k8s.io")
}

func withVirtualServices(t *testing.T) {
	t.Helper()
	withCRDs(t, objects.VirtualServices(), "crd/virtualservices.networking.istio.io")
}

func withDeploymentConfigs(t *testing.T) {
	t.Helper()
	withCRDs(t, objects.CRD("apps.openshift.io", "DeploymentConfig", testdata("deploymentconfigs")), "crd/deploymentconfigs.apps.openshift.io")
}

func withGadgets(t *testing.T) {
	t.Helper()
	withCRDs(t, objects.CRD("e2e.example.com", "Gadget", testdata("gadgets")), "crd/gadgets.e2e.example.com")
}

// localOnly skips a test that starts its own webhooks, if the suite runs against a cluster that could not reach them.
func localOnly(t *testing.T) {
	t.Helper()
	if cluster.Plane.Elsewhere() {
		t.Skip("the test starts local webhooks with users that this API server does not know")
	}
}
