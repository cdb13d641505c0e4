package share

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuditCountsWritesByNamespaceSinceItWasOpened(t *testing.T) {
	line := func(verb, user, ref, code string) string {
		return `{"verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":` + ref +
			`,"responseStatus":{"code":` + code + `}}` + "\n"
	}
	const (
		deployment = `{"resource":"deployments","namespace":"without-applies"}`
		scale      = `{"resource":"deployments","subresource":"scale","namespace":"without-applies"}`
		event      = `{"resource":"events","namespace":"without-applies"}`
		elsewhere  = `{"resource":"deployments","namespace":"with-applies"}`
	)
	path := filepath.Join(t.TempDir(), auditLog)
	if err := os.WriteFile(path, []byte(line("patch", "admin", deployment, "200")), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := openAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	later := line("create", "admin", deployment, "201") + line("patch", "admin", deployment, "200") +
		line("patch", "admin", deployment, "409") + line("patch", loadUser, deployment, "200") +
		line("update", "admin", scale, "200") + line("create", "admin", event, "201") +
		line("update", "admin", elsewhere, "200") + `{"verb":"still being wr`
	if err := os.WriteFile(path, append([]byte(line("patch", "admin", deployment, "200")), later...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := log.counts()
	if err != nil {
		t.Fatal(err)
	}
	want := &counts{
		reviews: map[string]int{},
		writes: map[string]map[string]int{
			"without-applies": {"create deployments": 1, "patch deployments": 1, "update deployments/scale": 1},
			"with-applies":    {"update deployments": 1},
		},
		events:  map[string]map[string]int{"without-applies": {"create events": 1}},
		updates: map[string]int{"without-applies": 1, "with-applies": 1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
