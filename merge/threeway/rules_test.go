package threeway_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// Rules that the documents do not state.

var nullInTheManifest = map[string]documented{
	"null clears what live has":                     {``, `{spec: {paused: null}}`, `{spec: {paused: true, replicas: 2}}`, `{spec: {replicas: 2}}`},
	"null clears an object with all its fields":     {``, `{spec: {strategy: null}}`, `{spec: {strategy: {type: Recreate}}}`, `{spec: {}}`},
	"null clears a list that merges":                {``, `{metadata: {finalizers: null}}`, `{metadata: {finalizers: [a, b]}}`, `{metadata: {}}`},
	"null for a field that live lacks adds nothing": {``, `{spec: {paused: null}}`, `{spec: {}}`, `{spec: {}}`},
	"null clears a field that was set again":        {`{spec: {paused: null}}`, `{spec: {paused: null}}`, `{spec: {paused: true}}`, `{spec: {}}`},
	"null in a new object is dropped":               {``, `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`, `{spec: {}}`, `{spec: {strategy: {type: Recreate}}}`},
	"null in an existing element clears its field":  {``, pods(`{name: x, image: null}`), pods(`{name: x, image: i, stdin: true}`), pods(`{name: x, stdin: true}`)},
	"null in a new element stays":                   {``, pods(`{name: x, image: null}`), pods(`{name: y}`), pods(`{name: x, image: null}, {name: y}`)},
	"null in a list that replaces another stays":    {``, podSpec(`tolerations: [{key: a, value: null}]`), podSpec(`tolerations: [{key: b}]`), podSpec(`tolerations: [{key: a, value: null}]`)},
}

// A custom resource under client-side apply, where kubectl sends a JSON merge patch.
var nullInAMergePatch = map[string]documented{
	"null clears what live has":                  {``, `{spec: {a: null}}`, `{spec: {a: 1, b: 2}}`, `{spec: {b: 2}}`},
	"null that the base also has clears nothing": {`{spec: {a: null}}`, `{spec: {a: null}}`, `{spec: {a: 1}}`, `{spec: {a: 1}}`},
	"null is dropped everywhere":                 {``, `{spec: {list: [{a: null, b: 1}]}}`, `{spec: {list: []}}`, `{spec: {list: [{b: 1}]}}`},
}

var retainKeys = map[string]documented{
	"another member of a union replaces live's member":   {``, podSpec(`volumes: [{name: v, hostPath: {path: /x}}]`), podSpec(`volumes: [{name: v, emptyDir: {}}]`), podSpec(`volumes: [{name: v, hostPath: {path: /x}}]`)},
	"the member that the manifest sets is merged":        {``, podSpec(`volumes: [{name: v, hostPath: {path: /x}}]`), podSpec(`volumes: [{name: v, hostPath: {path: /y, type: File}}]`), podSpec(`volumes: [{name: v, hostPath: {path: /x, type: File}}]`)},
	"a manifest that sets no member keeps live's member": {``, `{spec: {strategy: {}}}`, `{spec: {strategy: {type: Recreate}}}`, `{spec: {strategy: {type: Recreate}}}`},
	"a manifest without the union keeps it":              {``, `{spec: {}}`, `{spec: {strategy: {type: Recreate}}}`, `{spec: {strategy: {type: Recreate}}}`},
}

var orderOfElements = map[string]documented{
	"the manifest's elements are in the manifest's order":                        {``, pods(`{name: b}, {name: a}`), pods(`{name: a}, {name: b}`), pods(`{name: b}, {name: a}`)},
	"an element that only live has stays before the same element":                {``, pods(`{name: a}, {name: b}`), pods(`{name: mesh}, {name: a}, {name: log}, {name: b}`), pods(`{name: mesh}, {name: a}, {name: log}, {name: b}`)},
	"a new element goes before the elements that only live has":                  {pods(`{name: a}`), pods(`{name: a}, {name: new}`), pods(`{name: a}, {name: mesh}`), pods(`{name: a}, {name: new}, {name: mesh}`)},
	"after a deletion, a new element goes after the elements that only live has": {pods(`{name: a}, {name: old}`), pods(`{name: a}, {name: new}`), pods(`{name: a}, {name: old}, {name: mesh}`), pods(`{name: a}, {name: mesh}, {name: new}`)},
	"after two deletions, two new elements go after them":                        {pods(`{name: a}, {name: x}, {name: y}`), pods(`{name: a}, {name: v}, {name: w}`), pods(`{name: a}, {name: x}, {name: mesh}, {name: y}`), pods(`{name: a}, {name: mesh}, {name: v}, {name: w}`)},
	"a set takes the manifest's order":                                           {``, `{metadata: {finalizers: [b, a]}}`, `{metadata: {finalizers: [a, b]}}`, `{metadata: {finalizers: [b, a]}}`},
	"a set keeps live's order if the manifest's values are sorted":               {``, `{metadata: {finalizers: [a, b]}}`, `{metadata: {finalizers: [b, a]}}`, `{metadata: {finalizers: [b, a]}}`},
}

var keysOfElements = map[string]documented{
	"containers by name":                         {``, pods(`{name: a, image: new}`), pods(`{name: a, image: old}, {name: b}`), pods(`{name: a, image: new}, {name: b}`)},
	"ports of a container by containerPort":      {``, pods(`{name: a, ports: [{containerPort: 80, name: web}]}`), pods(`{name: a, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81}]}`), pods(`{name: a, ports: [{containerPort: 80, name: web, protocol: TCP}, {containerPort: 81}]}`)},
	"mounts of a container by mountPath":         {``, pods(`{name: a, volumeMounts: [{mountPath: /x, name: new}]}`), pods(`{name: a, volumeMounts: [{mountPath: /x, name: old, readOnly: true}]}`), pods(`{name: a, volumeMounts: [{mountPath: /x, name: new, readOnly: true}]}`)},
	"elements with different keys are different": {pods(`{name: a, image: i}`), pods(`{name: b, image: i}`), pods(`{name: a, image: i, stdin: true}`), pods(`{name: b, image: i}`)},
}

func TestNullInTheManifest(t *testing.T)  { asDocumented(t, nullInTheManifest, &appsv1.Deployment{}) }
func TestRetainKeys(t *testing.T)         { asDocumented(t, retainKeys, &appsv1.Deployment{}) }
func TestTheOrderOfElements(t *testing.T) { asDocumented(t, orderOfElements, &appsv1.Deployment{}) }
func TestElementsMatchByKey(t *testing.T) { asDocumented(t, keysOfElements, &appsv1.Deployment{}) }

func TestNullInAMergePatch(t *testing.T) {
	for name, c := range nullInAMergePatch {
		t.Run(name, func(t *testing.T) {
			base, manifest, live, got := c.run(t, schema.JSONMergePatch())
			upstream, err := upstreamMergePatch(base, manifest, live)
			same(t, "upstream", string(got), upstream, err)
		})
	}
}

// podSpec returns a Deployment with a pod spec, pods one with containers.
func podSpec(spec string) string { return `{spec: {template: {spec: {` + spec + `}}}}` }

func pods(containers string) string { return podSpec(`containers: [` + containers + `]`) }
