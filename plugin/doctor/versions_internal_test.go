package doctor

import (
	"testing"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestOldClustersAreAFinding(t *testing.T) {
	for version, want := range map[string]int{"v1.29.14": 1, "v1.30.0": 0, "v1.36.3": 0, "v1.31.4-gke.1183000": 0, "v1.29.1-eks-1": 1} {
		server := &fake.FakeDiscovery{Fake: &clientgotesting.Fake{}, FakedServerVersion: &apiversion.Info{GitVersion: version}}
		d := &diagnosis{check: &Check{}, discovery: server}
		d.checkAPIServer(t.Context())
		expect.Equal(t, version+": findings", want, len(d.check.Findings))
	}
}
