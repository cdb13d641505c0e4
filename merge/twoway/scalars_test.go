package twoway_test

import "testing"

// The cases of kyaml's yaml/merge2/scalar_test.go. Merge does not handle comments and styles: "preserves null marker" and "Verify
// key style behavior" compare only the values.
func TestTwoWayOfScalars(t *testing.T) {
	for name, c := range map[string]twoWayCase{
		"replace scalar -- different value in dest: the manifest's value wins":         {manifest: `{kind: D, field: new}`, live: `{kind: D, field: old}`, want: `{kind: D, field: new}`},
		"replace scalar -- missing from dest: the manifest's value is added":           {manifest: `{kind: D, field: new}`, live: `{kind: D}`, want: `{kind: D, field: new}`},
		"keep scalar -- same value in src and dest: it stays":                          {manifest: `{kind: D, field: one}`, live: `{kind: D, field: one}`, want: `{kind: D, field: one}`},
		"keep scalar -- unspecified in src: it stays":                                  {manifest: `{kind: D}`, live: `{kind: D, field: one}`, want: `{kind: D, field: one}`},
		"remove scalar -- null in src: it is removed":                                  {manifest: `{kind: D, field: null}`, live: `{kind: D, field: one}`, want: `{kind: D}`},
		"remove scalar -- empty in src: an empty value is null in YAML":                {manifest: "kind: D\nfield:\n", live: `{kind: D, field: one}`, want: `{kind: D}`},
		"remove scalar -- null in src, missing in dest: no null is added":              {manifest: `{kind: D, field: null}`, live: `{kind: D}`, want: `{kind: D}`},
		"remove scalar -- null in src, empty in dest: it is removed":                   {manifest: `{kind: D, field: null}`, live: "kind: D\nfield:\n", want: `{kind: D}`},
		"remove scalar -- null in src, null in dest: it is removed":                    {manifest: `{kind: D, field: null}`, live: `{kind: D, field: null}`, want: `{kind: D}`},
		"keep scalar -- missing in src, null in dest: it stays":                        {manifest: `{kind: D}`, live: `{kind: D, field: null}`, want: `{kind: D, field: null}`},
		"keep scalar -- missing in src, null in dest, preserves marker":                {manifest: `{kind: D}`, live: `{kind: D, field: ~}`, want: `{kind: D, field: null}`},
		"merge an empty value: an empty object is a value":                             {manifest: `{kind: D, field: {}}`, live: `{kind: D}`, want: `{kind: D, field: {}}`},
		"a number over a string with the same text is a number":                        {manifest: `{field: 5}`, live: `{field: "5"}`, want: `{field: 5}`},
		"a string over a number with the same text is a string":                        {manifest: `{field: "5"}`, live: `{field: 5}`, want: `{field: "5"}`},
		"a boolean over a null is a boolean":                                           {manifest: `{field: false}`, live: `{field: null}`, want: `{field: false}`},
		"an empty string is a value":                                                   {manifest: `{field: ""}`, live: `{field: old}`, want: `{field: ""}`},
		"null over an object is nothing":                                               {manifest: `null`, live: `{field: old}`, want: ``},
		"an object over null is the manifest":                                          {manifest: `{field: {a: null, b: 1}}`, live: `null`, want: `{field: {b: 1}}`},
		"a null in an object that only live has stays":                                 {manifest: `{}`, live: `{a: {b: null}}`, want: `{a: {b: null}}`},
		"a null in a new object is removed":                                            {manifest: `{a: {b: {c: null}}}`, live: `{}`, want: `{a: {b: {}}}`},
		"a null in a list that is replaced stays":                                      {manifest: `{a: [null, {b: null}]}`, live: `{a: [1]}`, want: `{a: [null, {b: null}]}`},
		"an object over a null is the object without its nulls":                        {manifest: `{a: {b: null, c: 1}}`, live: `{a: null}`, want: `{a: {c: 1}}`},
		"a list over a null is the list":                                               {manifest: `{a: [1]}`, live: `{a: null}`, want: `{a: [1]}`},
		"null over null in an object that the manifest has is removed":                 {manifest: `{a: {b: null}}`, live: `{a: {b: null, c: null}}`, want: `{a: {c: null}}`},
		"a scalar over another at the root is the manifest's scalar":                   {manifest: `a`, live: `b`, want: `a`},
		"a field with the name of an order directive is a field":                       {manifest: `{$setElementOrder/a: [{name: x}], $retainKeys: [a]}`, live: `{a: 1}`, want: `{a: 1, $setElementOrder/a: [{name: x}], $retainKeys: [a]}`},
		"a field with the name of a deletion directive is a field":                     {manifest: `{$deleteFromPrimitiveList/a: [x]}`, live: `{a: [x, y]}`, want: `{a: [x, y], $deleteFromPrimitiveList/a: [x]}`},
		"a field with the name of an order directive is a list, whose key is inferred": {infer: true, manifest: `{$setElementOrder/a: [{name: y}]}`, live: `{$setElementOrder/a: [{name: x}]}`, want: `{$setElementOrder/a: [{name: x}, {name: y}]}`},
	} {
		t.Run(name, c.run)
	}
}
