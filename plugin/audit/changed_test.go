package audit_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/audit"
)

// TestValuesThatTheNextApplyOverwritesAreListed verifies that an audit lists what others wrote in fields of the manifest, but for what
// handoff keeps once the manifest drops the field.
func TestValuesThatTheNextApplyOverwritesAreListed(t *testing.T) {
	const manifest = `{"spec":{"minReadySeconds":5,"paused":true,"replicas":3}}`
	// sized returns a Deployment with a memory request that kubectl set has doubled. Its manifest sets the resources.
	sized := func(resources string) object {
		inContainer := func(resources string) string {
			return `{"template":{"spec":{"containers":[{"name":"app","resources":` + resources + `}]}}}`
		}
		memory := `"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{"f:requests":{"f:memory":{}}}}}}}`
		return object{
			manifest: `{"spec":` + inContainer(resources) + `}`, spec: inContainer(strings.Replace(resources, "64Mi", "128Mi", 1)),
			entries: []string{kubectl(``), entry("kubectl-set", "Update", "", memory)},
		}
	}
	for sentence, test := range map[string]struct {
		object object
		want   string
	}{
		"a person's value, which the next apply overwrites": {
			object{manifest: manifest, spec: `{"minReadySeconds":9}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:minReadySeconds":{}`)}},
			".spec.minReadySeconds | kubectl-edit",
		},
		"the same value as the manifest": {
			object{manifest: manifest, spec: `{"minReadySeconds":5}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:minReadySeconds":{}`)}}, "",
		},
		"a field that the manifest does not have": {
			object{manifest: manifest, spec: `{"revisionHistoryLimit":2}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:revisionHistoryLimit":{}`)}}, "",
		},
		"a unit, which is kept when it is dropped": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:paused":{}`)}}, "",
		},
		"all of a unit that the manifest sets": {sized(`{"requests":{"memory":"64Mi"}}`), ""},
		"a part of a unit, which is removed when it is dropped and the rest is not": {
			sized(`{"requests":{"cpu":"1","memory":"64Mi"}}`), `.spec.template.spec.containers[name="app"].resources.requests.memory | kubectl-set`,
		},
		"the replicas": {
			object{manifest: manifest, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("kubectl", "Update", "scale", replicas)}}, "",
		},
		"a controller's value, which it writes again": {
			object{manifest: manifest, spec: `{"minReadySeconds":9}`, entries: []string{kubectl(``), entry("sizer", "Update", "", `"f:minReadySeconds":{}`)}},
			".spec.minReadySeconds | sizer",
		},
		"another applier's value": {
			object{manifest: manifest, spec: `{"minReadySeconds":9}`, entries: []string{kubectl(``), entry("flux", "Apply", "", `"f:minReadySeconds":{}`)}}, "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			report := reportOf(t, test.object.text(), shop(""))
			var got []string
			for _, note := range notes(report, audit.Changed) {
				got = append(got, note.Field+" | "+note.Manager)
			}
			expect.Equal(t, "changed", test.want, strings.Join(got, "\n"))
			var table strings.Builder
			expect.NoError(t, report.Table(&table, false))
			const note = "\nChanged since the manifest set it; "
			if listed := strings.Contains(table.String(), note); listed != (test.want != "") {
				t.Errorf("the note is in the table: %v\n%s", listed, table.String())
			}
		})
	}
}
