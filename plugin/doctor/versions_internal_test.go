package doctor

import (
	"strings"
	"testing"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

func TestVersionsThatDoNotFitAreFindings(t *testing.T) {
	for sentence, c := range map[string]struct {
		plugin, webhook string
		want            string // a part of the finding and its remedy; "": none
	}{
		"the same version":      {"v0.2.0", "v0.2.0", ""},
		"another patch":         {"v0.2.0", "v0.2.1", ""},
		"an older webhook":      {"v0.2.0", "v0.1.3", "the webhook is v0.1.3 and the plugin v0.2.0: previews can differ from what the webhook does upgrade the older one"},
		"an older plugin":       {"v0.9.0", "v1.0.0", "the webhook is v1.0.0 and the plugin v0.9.0"},
		"a build from a commit": {"5dfafb46a7b0", "v1.0.0", ""},
		"an unknown webhook":    {"v0.2.0", "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := &diagnosis{in: &installation.Installation{}, options: Options{Version: c.plugin}, version: c.webhook, check: &Check{}}

			d.checkVersions(t.Context())
			var texts []string
			for _, f := range d.check.Findings {
				texts = append(append(texts, f.Problem), f.Remedies...)
			}
			got := strings.Join(texts, " ")
			if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestOldClustersAreAFinding(t *testing.T) {
	for version, want := range map[string]int{"v1.29.14": 1, "v1.30.0": 0, "v1.36.3": 0, "v1.31.4-gke.1183000": 0, "v1.29.1-eks-1": 1} {
		server := &fake.FakeDiscovery{Fake: &clientgotesting.Fake{}, FakedServerVersion: &apiversion.Info{GitVersion: version}}
		d := &diagnosis{check: &Check{}, discovery: server}

		d.checkAPIServer(t.Context())
		if len(d.check.Findings) != want {
			t.Errorf("%s: want %d findings, got %v", version, want, d.check.Findings)
		}
	}
}
