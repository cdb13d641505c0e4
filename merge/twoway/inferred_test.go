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
			got, err := mergeBothWays(t, decodeYAML(t, c.manifest), decodeYAML(t, c.live), &twoway.Inferred{Keys: keys}, twoway.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("merge (-want +got):\n%s", diff)
			}
		})
	}
}

// The examples of the documentation: kubernetes.io "Update API Objects in Place Using kubectl patch" and strategic merge
// patches in kubernetes/community; kubectl.docs.kubernetes.io "patchesStrategicMerge", by kustomize's order of lists.
func TestTwoWayOfTheDocumentation(t *testing.T) {
	const prepend = twoway.ManifestFirst
	for name, c := range map[string]twoWayCase{
		"kubectl patch: a second container":         {order: prepend, manifest: containers(`{name: ctr-2, image: redis}`), live: containers(`{name: ctr, image: nginx}`), want: containers(`{name: ctr-2, image: redis}, {name: ctr, image: nginx}`)},
		"kubectl patch: tolerations are replaced":   {order: prepend, manifest: deployment(`tolerations: [{effect: NoSchedule, key: disktype, value: ssd}]`), live: deployment(`tolerations: [{effect: NoSchedule, key: dedicated, value: test}]`), want: deployment(`tolerations: [{effect: NoSchedule, key: disktype, value: ssd}]`)},
		"kubectl patch: a strategy without its own": {order: prepend, manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {$retainKeys: [type], type: Recreate}}}`, live: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}`, want: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {$retainKeys: [type], type: Recreate, rollingUpdate: {maxSurge: 1}}}}`},
		"community: a list is replaced":             {manifest: containers(`{name: nginx, image: nginx-1.0}, {$patch: replace}`), live: containers(`{name: log, image: log-1.0}`), want: containers(`{name: nginx, image: nginx-1.0}`)},
		"community: an element is deleted":          {order: prepend, manifest: containers(`{$patch: delete, name: log}`), live: containers(`{name: nginx, image: n}, {name: log, image: l}`), want: containers(`{name: nginx, image: n}`)},
		"community: a map is replaced":              {manifest: `{metadata: {labels: {$patch: replace, a: b}}}`, live: `{metadata: {labels: {c: d}}}`, want: `{metadata: {labels: {a: b}}}`},
		"kustomize: replicas and an image":          {order: prepend, manifest: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: my-nginx, resources: {limits: {memory: 512Mi}}}]}}}}`, live: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, template: {spec: {containers: [{name: my-nginx, image: nginx, ports: [{containerPort: 80}]}]}}}}`, want: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: my-nginx, image: nginx, ports: [{containerPort: 80}], resources: {limits: {memory: 512Mi}}}]}}}}`},
		"kustomize: a field is cleared":             {order: prepend, manifest: `{apiVersion: v1, kind: Service, spec: {type: null}}`, live: `{apiVersion: v1, kind: Service, spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}}`, want: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}]}}`},
		"kustomize: a custom resource's list":       {order: prepend, manifest: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: a}]}}`, live: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: b}]}}`, want: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: a}]}}`},
	} {
		t.Run(name, c.run)
	}
}

// TestTwoWayOfKindsThatAreNotStrings merges objects whose kind cannot be looked up: lists are replaced.
func TestTwoWayOfKindsThatAreNotStrings(t *testing.T) {
	for _, kind := range []string{`1`, `null`, `true`, `[]`, `{}`, `""`} {
		manifest, live := `{"apiVersion":"v1","kind":`+kind+`,"spec":{"containers":[{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`
		want := `{"apiVersion":"v1","kind":` + kind + `,"spec":{"containers":[{"name":"b"}]}}`
		if kind == "null" {
			want = `{"apiVersion":"v1","spec":{"containers":[{"name":"b"}]}}`
		}
		got, err := twoway.MergeJSON([]byte(manifest), []byte(live), twoway.Kustomize(), twoway.Options{})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s and the error %v, want %s", kind, got, err, want)
		}
	}
}
