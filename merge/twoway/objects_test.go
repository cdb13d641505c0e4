package twoway_test

import "testing"

// The cases of kyaml's yaml/merge2/map_test.go and merge2_old_test.go.
func TestTwoWayOfObjects(t *testing.T) {
	const live = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: app, labels: {app: java}, annotations: {a.b.c: d.e.f, g: h1, i: j, m: n2}},
		spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.7.9", args: [c, a, b], env: [{name: GREETING, value: hello}, {name: FAREWELL, value: sorrow}]}]}}}}`
	const spec = `spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.7.9", args: [c, a, b], env: [{name: GREETING, value: hello}, {name: FAREWELL, value: sorrow}]}]}}}`
	const head = `apiVersion: apps/v1, kind: Deployment`
	const meta = head + `, metadata: {name: app, labels: {app: java}, annotations: {a.b.c: d.e.f, g: h1, i: j, m: n2}}`
	const annotations = `{` + head + `, metadata: {name: app, labels: {app: java}, annotations: {a.b.c: d.e.f, g: h2, k: l, m: n1}}}`
	const service = `apiVersion: v1, kind: Service, metadata: {name: web}`
	for name, c := range map[string]twoWayCase{
		"strategic merge patch delete 1: the object is deleted":                 {manifest: `{kind: D, $patch: delete}`, live: `{kind: D, spec: {foo: bar1}}`, want: ``},
		"strategic merge patch delete 2: a field is deleted":                    {manifest: `{kind: D, spec: {$patch: delete}}`, live: `{kind: D, spec: {foo: bar, color: red}}`, want: `{kind: D}`},
		"strategic merge patch delete 3: other fields stay":                     {manifest: `{kind: D, spec: {metadata: {name: wut}, template: {$patch: delete}}}`, live: `{kind: D, spec: {metadata: {name: wut}, template: {spec: {containers: [{name: foo}, {name: bar}]}}}}`, want: `{kind: D, spec: {metadata: {name: wut}}}`},
		"strategic merge patch delete 4: the object of a known kind is deleted": {manifest: `{` + head + `, metadata: {name: app}, $patch: delete}`, live: live, want: ``},
		"strategic merge patch replace 1: only the manifest's fields are left":  {manifest: `{kind: D, spec: {metal: heavy, $patch: replace, veggie: carrot}}`, live: `{kind: D, spec: {river: nile, color: red}}`, want: `{kind: D, spec: {metal: heavy, veggie: carrot}}`},
		"merge Map -- update field in dest: the others stay":                    {manifest: `{kind: D, spec: {foo: bar1}}`, live: `{kind: D, spec: {foo: bar0, baz: buz}}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"merge Map -- add field to dest: it is added":                           {manifest: `{kind: D, spec: {foo: bar1, baz: buz}}`, live: `{kind: D, spec: {foo: bar0}}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"merge Map -- add list, empty in dest: all fields are added":            {manifest: `{kind: D, spec: {foo: bar1, baz: buz}}`, live: `{kind: D, spec: {}}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"merge Map -- add list, missing from dest: the object is added":         {manifest: `{kind: D, spec: {foo: bar1, baz: buz}}`, live: `{kind: D}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"merge Map -- add Map first: a field before it is added":                {manifest: `{kind: D, spec: {foo: bar1, baz: buz}}`, live: `{kind: D, spec: {foo: bar1}}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"merge Map -- add Map second: a field after it is added":                {manifest: `{kind: D, spec: {baz: buz, foo: bar1}}`, live: `{kind: D, spec: {foo: bar1}}`, want: `{kind: D, spec: {foo: bar1, baz: buz}}`},
		"keep map -- map missing from src: it stays":                            {manifest: `{kind: D}`, live: `{kind: D, spec: {foo: bar1}}`, want: `{kind: D, spec: {foo: bar1}}`},
		"keep map -- empty list in src: an empty object is added":               {manifest: `{kind: D, items: {}}`, live: `{kind: D, spec: {foo: bar1}}`, want: `{kind: D, spec: {foo: bar1}, items: {}}`},
		"remove Map -- null in src: it is removed":                              {manifest: `{kind: D, spec: null}`, live: `{kind: D, spec: {foo: bar1}}`, want: `{kind: D}`},
		"port patch has no protocol: it matches the port":                       {manifest: `{` + service + `, spec: {ports: [{port: 30900, targetPort: 30900}]}}`, live: `{` + service + `, spec: {ports: [{port: 30900, targetPort: 30900, protocol: TCP}]}}`, want: `{` + service + `, spec: {ports: [{port: 30900, targetPort: 30900, protocol: TCP}]}}`},
		"port patch has no protocol and different port number: a new port":      {manifest: `{` + service + `, spec: {ports: [{port: 30901, targetPort: 30901}]}}`, live: `{` + service + `, spec: {ports: [{port: 30900, targetPort: 30900, protocol: TCP}]}}`, want: `{` + service + `, spec: {ports: [{port: 30900, targetPort: 30900, protocol: TCP}, {port: 30901, targetPort: 30901}]}}`},
		"Verify key style behavior: quotes make no difference to the name":      {manifest: "both: 1\nsource: 1\n\"quoted\": 1\n", live: "both: 1\n'quoted': 0\ndestination: 1\n", want: `{both: 1, source: 1, quoted: 1, destination: 1}`},
		"replace at the root without a kind: live's kind determines how lists merge": {
			manifest: `{$patch: replace, secrets: [{name: a, $patch: delete}, {name: b}]}`, live: `{apiVersion: v1, kind: ServiceAccount, secrets: [{name: c}]}`,
			want: `{secrets: [{name: b}]}`,
		},
		"Merge_map: annotations merge one by one":                     {manifest: annotations, live: live, want: `{` + head + `, metadata: {name: app, labels: {app: java}, annotations: {a.b.c: d.e.f, g: h2, i: j, k: l, m: n1}}, ` + spec + `}`},
		"Merge_clear: null clears all annotations":                    {manifest: `{` + head + `, metadata: {annotations: null}}`, live: live, want: `{` + head + `, metadata: {name: app, labels: {app: java}}, ` + spec + `}`},
		"Merge_mapInverse: the other way round, the other values win": {manifest: live, live: annotations, want: `{` + head + `, metadata: {name: app, labels: {app: java}, annotations: {a.b.c: d.e.f, g: h1, i: j, k: l, m: n2}}, ` + spec + `}`},
		"Merge_listElem: one variable changes, another is added": {manifest: `{` + head + `, spec: {template: {spec: {containers: [{name: nginx, env: [{name: GREETING, value: hi}, {name: NEW, value: new}]}]}}}}`, live: live,
			want: `{` + meta + `, spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.7.9", args: [c, a, b], env: [{name: GREETING, value: hi}, {name: FAREWELL, value: sorrow}, {name: NEW, value: new}]}]}}}}`},
		"Merge_list: arguments are replaced as a whole": {manifest: `{` + head + `, spec: {template: {spec: {containers: [{name: nginx, args: [e, d, f]}]}}}}`, live: live,
			want: `{` + meta + `, spec: {template: {spec: {containers: [{name: nginx, image: "nginx:1.7.9", args: [e, d, f], env: [{name: GREETING, value: hello}, {name: FAREWELL, value: sorrow}]}]}}}}`},
		"Merge_commentsKept, Merge_commentsOverride: of comments, the values are left": {infer: true, manifest: "a:\n  b:\n    # header\n    c: e # line\n", live: "a:\n  b:\n    c: d\n    # footer\n", want: `{a: {b: {c: e}}}`},
	} {
		t.Run(name, c.run)
	}
}
