package plugin_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestPreview previews applies to the objects of prepare. No webhook is installed here; the end-to-end suite, with a webhook,
// compares each of its applies with a preview.
func TestPreview(t *testing.T) {
	for name, lines := range map[string][]string{
		"preview": {
			"preview -n shop -f testdata/objects.yaml",
			"preview -n shop -f testdata/preview/web.yaml",
			"preview -n shop -f testdata/preview/web.yaml -o wide",
			"preview -n shop -f testdata/preview/web.yaml -o jsonpath={.items[0].fields[?(@.verdict)].path}",
			"preview -n office -f testdata/objects.yaml",
		},
		"previewserverside": {
			"preview -n shop --server-side -f testdata/api.yaml",
			"preview -n shop --server-side -f testdata/preview/worker.yaml",
			"preview -n shop --server-side --force-conflicts -f testdata/preview/worker.yaml",
			"preview -n shop --server-side --force-conflicts -f testdata/preview/web.yaml",
		},
		"previewwrong": {
			"preview -n shop -f testdata/preview/wrong.yaml",
			"preview -n shop -f testdata/preview/wrong.yaml --validate=ignore",
			"preview -n shop -f testdata/preview/type.yaml",
			"preview -n shop -f testdata/preview/unknown.yaml",
			"preview -n nosuch -f testdata/preview/web.yaml",
			"preview -n shop -f testdata/preview/web.yaml --context nosuch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, transcript(t, cluster.controlPlane.Kubeconfig, lines...))
		})
	}
	checkGolden(t, "previewlimited", transcript(t, cluster.limited, "preview -n shop -f testdata/preview/web.yaml"))
}

// TestPreviewWithoutPermissionToReadNamespaces verifies that the permissions of an apply are sufficient.
func TestPreviewWithoutPermissionToReadNamespaces(t *testing.T) {
	if _, err := kubectl("apply", "-f", "testdata/preview/team.yaml"); err != nil {
		t.Fatal(err)
	}
	team, err := cluster.controlPlane.AddUser("team")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "previewteam", transcript(t, team,
		"preview -n shop -f testdata/preview/web.yaml",
		"preview -n shop -l tier=back -f testdata/objects.yaml",
		"preview -n shop -l tier=front -f testdata/objects.yaml -o jsonpath={.items[*].mode}",
	))
}

// TestPreviewOfRejectedApply tests row 7, in a namespace where handoff is enabled but its webhook is not installed.
func TestPreviewOfRejectedApply(t *testing.T) {
	for _, step := range [][]string{
		{"create", "namespace", "stock"},
		{"annotate", "namespace", "stock", ownership.ModeAnnotation + "=" + string(ownership.ModeEnforce)},
		{"apply", "-n", "stock", "-f", "testdata/preview/set.yaml"},
	} {
		if _, err := kubectl(step...); err != nil {
			t.Fatal(err)
		}
	}
	checkGolden(t, "previewrefused", transcript(t, cluster.controlPlane.Kubeconfig,
		"preview -n stock -f testdata/preview/set.yaml",
		"preview -n stock -f testdata/preview/ondelete.yaml",
		"preview -n stock --server-side --field-manager=kubectl-client-side-apply -f testdata/preview/ondelete.yaml",
	))
}
