package merge_test

import "testing"

// The cases of kyaml's yaml/merge2/scalar_test.go. Comments and styles are not TwoWay's business: of "preserves null
// marker" and "Verify key style behavior" the values are left.
func TestTwoWayOfScalars(t *testing.T) {
	for name, c := range map[string]twoWayCase{
		"replace scalar -- different value in dest: source's wins":          {source: `{kind: D, field: new}`, destination: `{kind: D, field: old}`, want: `{kind: D, field: new}`},
		"replace scalar -- missing from dest: source's is added":            {source: `{kind: D, field: new}`, destination: `{kind: D}`, want: `{kind: D, field: new}`},
		"keep scalar -- same value in src and dest: it stays":               {source: `{kind: D, field: one}`, destination: `{kind: D, field: one}`, want: `{kind: D, field: one}`},
		"keep scalar -- unspecified in src: it stays":                       {source: `{kind: D}`, destination: `{kind: D, field: one}`, want: `{kind: D, field: one}`},
		"remove scalar -- null in src: it goes":                             {source: `{kind: D, field: null}`, destination: `{kind: D, field: one}`, want: `{kind: D}`},
		"remove scalar -- empty in src: nothing is null in YAML":            {source: "kind: D\nfield:\n", destination: `{kind: D, field: one}`, want: `{kind: D}`},
		"remove scalar -- null in src, missing in dest: no null comes in":   {source: `{kind: D, field: null}`, destination: `{kind: D}`, want: `{kind: D}`},
		"remove scalar -- null in src, empty in dest: it goes":              {source: `{kind: D, field: null}`, destination: "kind: D\nfield:\n", want: `{kind: D}`},
		"remove scalar -- null in src, null in dest: it goes":               {source: `{kind: D, field: null}`, destination: `{kind: D, field: null}`, want: `{kind: D}`},
		"keep scalar -- missing in src, null in dest: it stays":             {source: `{kind: D}`, destination: `{kind: D, field: null}`, want: `{kind: D, field: null}`},
		"keep scalar -- missing in src, null in dest, preserves marker":     {source: `{kind: D}`, destination: `{kind: D, field: ~}`, want: `{kind: D, field: null}`},
		"merge an empty value: an empty object is one":                      {source: `{kind: D, field: {}}`, destination: `{kind: D}`, want: `{kind: D, field: {}}`},
		"a number over a string of the same text is a number":               {source: `{field: 5}`, destination: `{field: "5"}`, want: `{field: 5}`},
		"a string over a number of the same text is a string":               {source: `{field: "5"}`, destination: `{field: 5}`, want: `{field: "5"}`},
		"a boolean over a null is a boolean":                                {source: `{field: false}`, destination: `{field: null}`, want: `{field: false}`},
		"an empty string is a value":                                        {source: `{field: ""}`, destination: `{field: old}`, want: `{field: ""}`},
		"null over the whole is nothing":                                    {source: `null`, destination: `{field: old}`, want: ``},
		"the whole over null is source":                                     {source: `{field: {a: null, b: 1}}`, destination: `null`, want: `{field: {b: 1}}`},
		"a null within what only destination has stays":                     {source: `{}`, destination: `{a: {b: null}}`, want: `{a: {b: null}}`},
		"a null within what source brings goes":                             {source: `{a: {b: {c: null}}}`, destination: `{}`, want: `{a: {b: {}}}`},
		"a null within a list that is replaced stays":                       {source: `{a: [null, {b: null}]}`, destination: `{a: [1]}`, want: `{a: [null, {b: null}]}`},
		"an object over a null is the object without its nulls":             {source: `{a: {b: null, c: 1}}`, destination: `{a: null}`, want: `{a: {c: 1}}`},
		"a list over a null is the list":                                    {source: `{a: [1]}`, destination: `{a: null}`, want: `{a: [1]}`},
		"null over null in an object that source mentions goes":             {source: `{a: {b: null}}`, destination: `{a: {b: null, c: null}}`, want: `{a: {c: null}}`},
		"a scalar over another at the root is source's":                     {source: `a`, destination: `b`, want: `a`},
		"a field that means an order is a field":                            {source: `{$setElementOrder/a: [{name: x}], $retainKeys: [a]}`, destination: `{a: 1}`, want: `{a: 1, $setElementOrder/a: [{name: x}], $retainKeys: [a]}`},
		"a field that means a deletion from a list of scalars is a field":   {source: `{$deleteFromPrimitiveList/a: [x]}`, destination: `{a: [x, y]}`, want: `{a: [x, y], $deleteFromPrimitiveList/a: [x]}`},
		"a field that means an order is a list of its own, and is inferred": {infer: true, source: `{$setElementOrder/a: [{name: y}]}`, destination: `{$setElementOrder/a: [{name: x}]}`, want: `{$setElementOrder/a: [{name: x}, {name: y}]}`},
	} {
		t.Run(name, c.run)
	}
}
