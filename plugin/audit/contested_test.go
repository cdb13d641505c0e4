package audit_test

import (
	"testing"
)

// container claims fields of the container app.
func container(fields string) string {
	return `"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{}` + fields + `}}`
}

func TestWhoFightsOverFields(t *testing.T) {
	const (
		manifest = `{"spec":{"paused":true,"cpu":"0.5","containers":[{"name":"app","image":"a","tty":true}]}}`
		app      = `"containers":[{"name":"app","image":"b","tty":false,"stdin":true}]`
	)
	for sentence, test := range map[string]struct {
		object object
		want   string
	}{
		"a controller has written another value than the manifest's": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("pauser", "Update", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | sets true, overwriting pauser | does not keep it | pauser+kubectl-client-side-apply",
		},
		"a person has": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:paused":{}`)}}, "",
		},
		"the API server has rewritten a quantity": {
			object{manifest: manifest, spec: `{"cpu":"500m"}`, entries: []string{kubectl(`"f:cpu":{}`)}}, "",
		},
		"a controller has written what the manifest says": {
			object{manifest: manifest, spec: `{"paused":true}`, entries: []string{kubectl(``), entry("pauser", "Update", "", `"f:paused":{}`)}}, "",
		},
		"it is not recorded who has": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("ancient-changes", "Update", "", `"f:paused":{}`)}}, "",
		},
		"a controller has written several fields of a container": {
			object{manifest: manifest, spec: `{` + app + `}`, entries: []string{
				kubectl(container(``)), entry("resizer", "Update", "", container(`,"f:image":{},"f:tty":{}`)),
			}},
			"contested | .spec.containers[name=\"app\"].image | \"b\" | sets \"a\", overwriting resizer | does not keep it | resizer+kubectl-client-side-apply\n" +
				"contested | .spec.containers[name=\"app\"].tty | false | sets true, overwriting resizer | does not keep it | resizer+kubectl-client-side-apply",
		},
		"two apply a whole container server-side, of which the API server has set a part": {
			object{spec: `{` + app + `}`, entries: []string{
				entry("a", "Apply", "", container(`,"f:image":{},"f:tty":{}`)), entry("b", "Apply", "", container(`,"f:image":{},"f:tty":{}`)),
			}},
			"contested | .spec.containers[name=\"app\"] | (3 fields) | conflicts once a and b differ | does not keep it | a+b",
		},
		"two apply other fields of a container server-side": {
			object{spec: `{` + app + `}`, entries: []string{
				entry("a", "Apply", "", container(`,"f:image":{}`)), entry("b", "Apply", "", container(`,"f:tty":{}`)),
			}}, "",
		},
		"one applies in two ways": {
			object{manifest: `{"spec":{"paused":true}}`, spec: `{"paused":true}`, entries: []string{
				kubectl(`"f:paused":{}`), entry("kubectl-client-side-apply", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"a server-side applier has taken what the manifest of another says": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("flux", "Apply", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | sets true, as kubectl-client-side-apply and flux differ | does not keep it | kubectl-client-side-apply+flux",
		},
		"helm and a server-side applier claim it": {
			object{spec: `{"paused":false}`, entries: []string{entry("helm", "Update", "", `"f:paused":{}`), entry("flux", "Apply", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | overwrites the other once helm and flux differ | does not keep it | helm+flux",
		},
		"a server-side applier claims a default of who created the object": {
			object{manifest: `{"spec":{}}`, spec: `{"paused":false}`, entries: []string{
				kubectl(`"f:paused":{}`), entry("flux", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"the annotation is kept up by a server-side applier": {
			object{manifest: `{"spec":{"paused":true}}`, spec: `{"paused":true}`, entries: []string{
				`{"manager":"kubectl-last-applied","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":
					{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}}`,
				entry("kubectl", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"two apply the size of what no autoscaler sizes": {
			object{spec: `{"replicas":3}`, entries: []string{entry("a", "Apply", "", replicas), entry("b", "Apply", "", replicas)}},
			"contested | .spec.replicas | 3 | conflicts once a and b differ | does not keep it | a+b",
		},
		"a scaler that no list names goes against the manifest": {
			object{manifest: `{"spec":{"replicas":3}}`, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("scaler", "Update", "scale", replicas)}},
			"contested | .spec.replicas | 7 | sets 3, overwriting scaler | does not keep it | scaler+kubectl-client-side-apply",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			check(t, test.want, reportOf(t, test.object.text(), shop("")))
		})
	}
}

func TestWhatASecretHoldsIsNotTold(t *testing.T) {
	o := object{
		kind: "Secret", apiVersion: "v1", manifest: `{"data":{"token":"bWFuaWZlc3Q="}}`, spec: `{},"data":{"token":"bGl2ZQ=="}`,
		entries: []string{kubectl(``), `{"manager":"rotator","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:token":{}}}}`},
	}
	report := reportOf(t, o.text(), shop(""))
	check(t, "contested | .data.token | *** | sets ***, overwriting rotator | does not keep it | rotator+kubectl-client-side-apply", report)
	if field := report.Risks[0].Fields[0]; field.Value != nil || field.ManifestValue != nil {
		t.Errorf("%s, %s", field.Value, field.ManifestValue)
	}
}
