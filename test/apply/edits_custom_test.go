package apply_test

// customEdits returns edits of a custom resource, for which kubectl apply sends a JSON merge patch: only server-side apply uses
// the list types of its schema.
func customEdits() map[string]edit {
	return map[string]edit{
		"custom: fields are set, changed and removed":                              {kind: "Gadget", first: "spec: {size: 3, ratio: 0.5}", second: "spec: {ratio: 1.25, labels: {a: one}}", defaulted: true},
		"custom: a field becomes null":                                             {kind: "Gadget", first: "spec: {size: 3, ratio: 0.5}", second: "spec: {size: 3, ratio: null}"},
		"custom: another manager's field and map entry stay":                       {kind: "Gadget", first: "spec: {labels: {a: one}}", others: []string{`patch OBJECT --type=merge -p {"spec":{"ratio":1.5,"labels":{"theirs":"one"}}}`}, second: "spec: {labels: {b: one}}"},
		"custom: an atomic map merges all the same, another manager's entry stays": {kind: "Gadget", first: "spec: {selector: {a: one}}", others: []string{`patch OBJECT --type=merge -p {"spec":{"selector":{"theirs":"one"}}}`}, second: "spec: {selector: {b: one}}"},
		"custom: a list by keys loses another manager's":                           {kind: "Gadget", first: "spec: {listeners: [{port: 80}]}", others: []string{`patch OBJECT --type=merge -p {"spec":{"listeners":[{"port":80},{"port":90}]}}`}, second: "spec: {listeners: [{port: 81, name: a}, {port: 80}]}", defaulted: true},
		"custom: a set loses another manager's":                                    {kind: "Gadget", first: "spec: {hosts: [a, b]}", others: []string{`patch OBJECT --type=merge -p {"spec":{"hosts":["a","b","theirs"]}}`}, second: "spec: {hosts: [c, a]}"},
		"custom: an atomic list is replaced":                                       {kind: "Gadget", first: "spec: {args: [a, b]}", second: "spec: {args: [b]}"},
		"custom: a list is removed, another becomes empty":                         {kind: "Gadget", first: "spec: {args: [a], hosts: [a]}", second: "spec: {hosts: []}"},
		"custom: objects without a schema merge, another manager's field stays deep inside": {
			kind: "Gadget", first: "spec: {free: {a: {b: 1, c: 1}, l: [{x: 1}]}}", others: []string{`patch OBJECT --type=merge -p {"spec":{"free":{"a":{"theirs":1}}}}`},
			second: "spec: {free: {a: {b: 2}, l: [{z: 1}, {x: 1}], m: null}}",
		},
		"custom: a null that was there before clears nothing": {
			kind: "Gadget", first: "spec: {free: {a: 1, m: null}}", others: []string{`patch OBJECT --type=merge -p {"spec":{"free":{"m":5}}}`}, second: "spec: {free: {a: 2, m: null}}",
		},
		"custom: the whole spec is removed":                                   {kind: "Gadget", first: "spec: {size: 3, args: [a]}", second: "metadata: {labels: {a: one}}"},
		"custom: an object becomes a list":                                    {kind: "Gadget", first: "spec: {free: {a: {b: 1}}}", second: "spec: {free: {a: [1]}}"},
		"custom: finalizers lose another manager's":                           {kind: "Gadget", first: "metadata: {finalizers: [e.org/a]}", others: []string{`patch OBJECT --type=merge -p {"metadata":{"finalizers":["e.org/a","e.org/theirs"]}}`}, second: "metadata: {finalizers: [e.org/b, e.org/a]}"},
		"custom: labels of the object, another manager's stays":               {kind: "Gadget", first: "metadata: {labels: {a: one}}", others: []string{"label OBJECT theirs=one"}, second: "metadata: {labels: {b: one}}"},
		"custom: a size that another manager scaled is reset":                 {kind: "Gadget", first: "spec: {size: 3}", others: []string{`patch OBJECT --type=merge -p {"spec":{"size":7}}`}, second: "spec: {size: 3}"},
		"custom: the same manifest beside another manager's, nothing changes": {kind: "Gadget", first: "spec: {size: 3}", others: []string{`patch OBJECT --type=merge -p {"spec":{"ratio":1.5}}`}, second: "spec: {size: 3}"},
	}
}
