package merge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge"
)

// Keys that earlier versions of kyaml inferred; kyaml can still be told to.
func TestTwoWayInfersByOtherKeys(t *testing.T) {
	keys := []string{"mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"}
	was := yaml.AssociativeSequenceKeys
	yaml.AssociativeSequenceKeys = keys
	t.Cleanup(func() { yaml.AssociativeSequenceKeys = was })
	for name, c := range map[string]struct{ source, destination, want string }{
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
			kyaml, err := kyamlMerge(yaml.MustParse(c.source), yaml.MustParse(c.destination), true, merge.DestinationFirst)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, kyaml); diff != "" {
				t.Errorf("kyaml (-want +got):\n%s", diff)
			}
			got, err := mergeBothWays(t, decodeYAML(t, c.source), decodeYAML(t, c.destination), &merge.Inferred{Keys: keys}, merge.TwoWayOptions{})
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
	const prepend = merge.SourceFirst
	for name, c := range map[string]twoWayCase{
		"kubectl patch: a second container":         {order: prepend, source: containers(`{name: ctr-2, image: redis}`), destination: containers(`{name: ctr, image: nginx}`), want: containers(`{name: ctr-2, image: redis}, {name: ctr, image: nginx}`)},
		"kubectl patch: tolerations are replaced":   {order: prepend, source: deployment(`tolerations: [{effect: NoSchedule, key: disktype, value: ssd}]`), destination: deployment(`tolerations: [{effect: NoSchedule, key: dedicated, value: test}]`), want: deployment(`tolerations: [{effect: NoSchedule, key: disktype, value: ssd}]`)},
		"kubectl patch: a strategy without its own": {order: prepend, source: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {$retainKeys: [type], type: Recreate}}}`, destination: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}}`, want: `{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {$retainKeys: [type], type: Recreate, rollingUpdate: {maxSurge: 1}}}}`},
		"community: a list is replaced":             {source: containers(`{name: nginx, image: nginx-1.0}, {$patch: replace}`), destination: containers(`{name: log, image: log-1.0}`), want: containers(`{name: nginx, image: nginx-1.0}`)},
		"community: an element is deleted":          {order: prepend, source: containers(`{$patch: delete, name: log}`), destination: containers(`{name: nginx, image: n}, {name: log, image: l}`), want: containers(`{name: nginx, image: n}`)},
		"community: a map is replaced":              {source: `{metadata: {labels: {$patch: replace, a: b}}}`, destination: `{metadata: {labels: {c: d}}}`, want: `{metadata: {labels: {a: b}}}`},
		"kustomize: replicas and an image":          {order: prepend, source: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: my-nginx, resources: {limits: {memory: 512Mi}}}]}}}}`, destination: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, template: {spec: {containers: [{name: my-nginx, image: nginx, ports: [{containerPort: 80}]}]}}}}`, want: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {spec: {containers: [{name: my-nginx, image: nginx, ports: [{containerPort: 80}], resources: {limits: {memory: 512Mi}}}]}}}}`},
		"kustomize: a field is cleared":             {order: prepend, source: `{apiVersion: v1, kind: Service, spec: {type: null}}`, destination: `{apiVersion: v1, kind: Service, spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}}`, want: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP}]}}`},
		"kustomize: a custom resource's list":       {order: prepend, source: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: a}]}}`, destination: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: b}]}}`, want: `{apiVersion: example.com/v1, kind: Shop, spec: {items: [{name: a}]}}`},
	} {
		t.Run(name, c.run)
	}
}
