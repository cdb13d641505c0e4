package twoway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge/twoway"
)

// Keys that earlier versions of kyaml inferred. kyaml can still be configured to.
func TestTwoWayInfersByOtherKeys(t *testing.T) {
	keys := []string{"mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"}
	was := yaml.AssociativeSequenceKeys
	yaml.AssociativeSequenceKeys = keys
	t.Cleanup(func() { yaml.AssociativeSequenceKeys = was })
	for name, c := range map[string]struct{ manifest, live, want string }{
		"by mountPath":               {`{a: [{mountPath: /x, v: 1}]}`, `{a: [{mountPath: /x, w: 1}, {mountPath: /y}]}`, `{a: [{mountPath: /x, v: 1, w: 1}, {mountPath: /y}]}`},
		"by mountPath before name":   {`{a: [{mountPath: /x, name: a}]}`, `{a: [{mountPath: /x, name: b}]}`, `{a: [{mountPath: /x, name: a}]}`},
		"by devicePath":              {`{a: [{devicePath: /x, v: 1}]}`, `{a: [{devicePath: /x}]}`, `{a: [{devicePath: /x, v: 1}]}`},
		"by ip":                      {`{a: [{ip: 1.1.1.1, v: 1}]}`, `{a: [{ip: 2.2.2.2}]}`, `{a: [{ip: 2.2.2.2}, {ip: 1.1.1.1, v: 1}]}`},
		"by type":                    {`{a: [{type: Ready, status: x}]}`, `{a: [{type: Ready, status: y}]}`, `{a: [{type: Ready, status: x}]}`},
		"by topologyKey":             {`{a: [{topologyKey: zone, v: 1}]}`, `{a: [{topologyKey: zone}]}`, `{a: [{topologyKey: zone, v: 1}]}`},
		"by containerPort, a number": {`{a: [{containerPort: 80, v: 1}]}`, `{a: [{containerPort: 80, w: 1}]}`, `{a: [{containerPort: 80, v: 1, w: 1}]}`},
		"by name, which all have":    {`{a: [{name: x, v: 1}, {name: y, type: t}]}`, `{a: [{name: x}]}`, `{a: [{name: x, v: 1}, {name: y, type: t}]}`},
		"by none":                    {`{a: [{b: 1}]}`, `{a: [{c: 1}]}`, `{a: [{b: 1}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			want := decodeYAML(t, c.want)
			kyaml, err := kyamlMerge(yaml.MustParse(c.manifest), yaml.MustParse(c.live), true, twoway.LiveFirst)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, kyaml); diff != "" {
				t.Errorf("kyaml (-want +got):\n%s", diff)
			}
			got, err := mergeDecoded(t, decodeYAML(t, c.manifest), decodeYAML(t, c.live), &twoway.Inferred{Keys: keys}, twoway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("merge (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTwoWayOfKindsThatAreNotStrings merges objects whose kind cannot be looked up: lists are replaced.
func TestTwoWayOfKindsThatAreNotStrings(t *testing.T) {
	for _, kind := range []string{`1`, `null`, `true`, `[]`, `{}`, `""`} {
		manifest, live := `{"apiVersion":"v1","kind":`+kind+`,"spec":{"containers":[{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`
		want := `{"spec":{"containers":[{"name":"b"}]},"apiVersion":"v1","kind":` + kind + `}`
		if kind == "null" {
			want = `{"spec":{"containers":[{"name":"b"}]},"apiVersion":"v1"}`
		}
		got, err := twoway.Merge([]byte(manifest), []byte(live), twoway.Kustomize(), twoway.Options{})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s and the error %v, want %s", kind, got, err, want)
		}
	}
}
