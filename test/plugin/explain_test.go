package plugin_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/objects"
)

// TestExplain explains the objects of prepare.
func TestExplain(t *testing.T) {
	for name, lines := range map[string][]string{
		"scaled": {
			"explain deployment/web -n shop",
			"explain deployment/web .spec.replicas -n shop",
			"explain deployment web .spec.revisionHistoryLimit -n shop",
			`explain deploy/web .spec.template.spec.containers[name="app"].image -n shop`,
			"explain deploy/web --owner autoscaler -o yaml -n shop",
			"explain deploy/web -n shop --config testdata/rules.yaml --owner controller .metadata",
			"explain deploy -l tier=front spec.replicas -n shop",
		},
		"serverside": {
			"explain deployment/api -n shop",
			"explain deployment/api .spec.replicas -n shop",
			"explain deployment/api .spec.strategy.type -n shop",
			"explain deployment/worker .spec.replicas -n shop",
		},
		"custom": {
			"explain gadget/web -n shop",
			"explain gadget/web spec.pool.size -n shop",
		},
		"unscalable": {
			"explain cronjob/report -n shop",
			"explain cronjob/report .spec.replicas -n shop",
		},
		"all": {
			"explain deployments,gadgets -A --owner autoscaler",
			"explain deployments,gadgets -A --owner autoscaler .spec",
		},
		"wrong": {
			"explain deployment/nosuch -n shop",
			"explain nosuch/web -n shop",
			"explain deployments -n office",
			"explain deployment/web --context nosuch",
			"status nosuch",
			"enable nosuch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, transcript(t, cluster.controlPlane.Kubeconfig, lines...))
		})
	}
}

func TestMissingPermissionsAreGaps(t *testing.T) {
	checkGolden(t, "limited", transcript(t, cluster.limited,
		"explain deployment/web .spec.replicas -n shop",
		"explain gadget/web .spec.pool.size -n shop",
		"explain cronjob/report -n shop",
		"explain deployments,cronjobs .spec.replicas -n shop",
		"explain deployments -A .spec.replicas",
		"enable shop",
		"status",
	))
}

func TestExplainExportedObjects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	save := func() string {
		saved := must(t, "get", "deployment/web", "hpa/web", "-n", "shop", "-o", "yaml", "--show-managed-fields")
		objects.Write(t, saved, file)
		return saved
	}
	now := time.Now()
	for _, format := range []string{"", " -o yaml", " .spec.replicas"} {
		// If a controller writes in the meantime, the outputs differ, so retry.
		for tries := 1; ; tries++ {
			saved := save()
			_, online, _ := strings.Cut(handoffAt(t, now, cluster.controlPlane.Kubeconfig, "explain deployment/web -n shop"+format), "\n")
			_, offline, _ := strings.Cut(handoffAt(t, now, "/no/such/file", "explain deployment/web -f "+file+format), "\n")
			if online == offline {
				break
			}
			if tries == 5 || saved == save() {
				t.Errorf("%s: of the cluster:\n%s\nof the file:\n%s", format, online, offline)
				break
			}
		}
	}
}
