package audit_test

import (
	"testing"
)

// container returns fieldsV1 of the container app.
func container(fields string) string {
	return `"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{}` + fields + `}}`
}

func TestContestedFields(t *testing.T) {
	const (
		manifest = `{"spec":{"paused":true,"cpu":"0.5","containers":[{"name":"app","image":"a","tty":true}]}}`
		app      = `"containers":[{"name":"app","image":"b","tty":false,"stdin":true}]`
	)
	for sentence, test := range map[string]struct {
		object object
		want   string
	}{
		"a controller wrote a value that differs from the manifest": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("pauser", "Update", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | sets true, overwriting pauser | does not keep it | pauser+kubectl-client-side-apply",
		},
		"a user did": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("kubectl-edit", "Update", "", `"f:paused":{}`)}}, "",
		},
		"the API server normalized a quantity": {
			object{manifest: manifest, spec: `{"cpu":"500m"}`, entries: []string{kubectl(`"f:cpu":{}`)}}, "",
		},
		"a controller wrote the same value as the manifest": {
			object{manifest: manifest, spec: `{"paused":true}`, entries: []string{kubectl(``), entry("pauser", "Update", "", `"f:paused":{}`)}}, "",
		},
		"the manager is not recorded": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("ancient-changes", "Update", "", `"f:paused":{}`)}}, "",
		},
		"a controller wrote several fields of a container": {
			object{manifest: manifest, spec: `{` + app + `}`, entries: []string{
				kubectl(container(``)), entry("resizer", "Update", "", container(`,"f:image":{},"f:tty":{}`)),
			}},
			"contested | .spec.containers[name=\"app\"].image | \"b\" | sets \"a\", overwriting resizer | does not keep it | resizer+kubectl-client-side-apply\n" +
				"contested | .spec.containers[name=\"app\"].tty | false | sets true, overwriting resizer | does not keep it | resizer+kubectl-client-side-apply",
		},
		"two server-side appliers of a whole container, with a default in it": {
			object{spec: `{` + app + `}`, entries: []string{
				entry("a", "Apply", "", container(`,"f:image":{},"f:tty":{}`)), entry("b", "Apply", "", container(`,"f:image":{},"f:tty":{}`)),
			}},
			"contested | .spec.containers[name=\"app\"] | (3 fields) | conflicts once a and b differ | does not keep it | a+b",
		},
		"two server-side appliers of different fields in a container": {
			object{spec: `{` + app + `}`, entries: []string{
				entry("a", "Apply", "", container(`,"f:image":{}`)), entry("b", "Apply", "", container(`,"f:tty":{}`)),
			}}, "",
		},
		"one manager applies client-side and server-side": {
			object{manifest: `{"spec":{"paused":true}}`, spec: `{"paused":true}`, entries: []string{
				kubectl(`"f:paused":{}`), entry("kubectl-client-side-apply", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"a server-side applier took over a field that another manifest sets": {
			object{manifest: manifest, spec: `{"paused":false}`, entries: []string{kubectl(``), entry("flux", "Apply", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | sets true, as kubectl-client-side-apply and flux differ | does not keep it | kubectl-client-side-apply+flux",
		},
		"helm and a server-side applier": {
			object{spec: `{"paused":false}`, entries: []string{entry("helm", "Update", "", `"f:paused":{}`), entry("flux", "Apply", "", `"f:paused":{}`)}},
			"contested | .spec.paused | false | overwrites the other once helm and flux differ | does not keep it | helm+flux",
		},
		"a server-side applier sets a default of the client that created the object": {
			object{manifest: `{"spec":{}}`, spec: `{"paused":false}`, entries: []string{
				kubectl(`"f:paused":{}`), entry("flux", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"the annotation is updated for a server-side applier": {
			object{manifest: `{"spec":{"paused":true}}`, spec: `{"paused":true}`, entries: []string{
				`{"manager":"kubectl-last-applied","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":
					{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}}`,
				entry("kubectl", "Apply", "", `"f:paused":{}`),
			}}, "",
		},
		"two server-side appliers of replicas without an autoscaler": {
			object{spec: `{"replicas":3}`, entries: []string{entry("a", "Apply", "", replicas), entry("b", "Apply", "", replicas)}},
			"contested | .spec.replicas | 3 | conflicts once a and b differ | does not keep it | a+b",
		},
		"a scaler that the configuration does not list, against the manifest": {
			object{manifest: `{"spec":{"replicas":3}}`, spec: `{"replicas":7}`, entries: []string{kubectl(``), entry("scaler", "Update", "scale", replicas)}},
			"contested | .spec.replicas | 7 | sets 3, overwriting scaler | does not keep it | scaler+kubectl-client-side-apply",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			check(t, test.want, reportOf(t, test.object.text(), shop("")))
		})
	}
}

func TestSecretValuesAreHidden(t *testing.T) {
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
