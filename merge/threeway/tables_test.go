package threeway_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// tableField is a field of a Deployment for which both documents have a merge table.
type tableField struct {
	around           string // what stands around the field, with %s in its place
	file, live, base string // the field where the file, live or last-applied has it
	both             string // what comes of the first row of the table
}

// TestTheMergeTables tests all rows of the merge tables of both documents. A "-" in a table means that the field makes no
// difference: each row is tested with and without it.
func TestTheMergeTables(t *testing.T) {
	for kind, f := range map[string]tableField{
		"a primitive":                {`{spec: {%s}}`, `paused: true`, `paused: false`, `paused: false`, `paused: true`},
		"an object":                  {`{spec: {template: {spec: {%s}}}}`, `securityContext: {runAsUser: 2}`, `securityContext: {runAsUser: 1, fsGroup: 1}`, `securityContext: {runAsUser: 1}`, `securityContext: {runAsUser: 2, fsGroup: 1}`},
		"a key of a map":             {`{metadata: {labels: {%s}}}`, `a: new`, `a: old`, `a: old`, `a: new`},
		"a value of a set":           {`{metadata: {finalizers: [%s]}}`, `a`, `a`, `a`, `a`},
		"an element of a keyed list": {`{spec: {template: {spec: {containers: [%s]}}}}`, `{name: x, image: new}`, `{name: x, image: old, stdin: true}`, `{name: x, image: old}`, `{name: x, image: new, stdin: true}`},
		"a list that is replaced":    {`{spec: {template: {spec: {containers: [{name: x, %s}]}}}}`, `args: [a, c]`, `args: [a, b, d]`, `args: [a, b]`, `args: [a, c]`},
	} {
		cases := map[string]documented{}
		for _, base := range []string{f.base, ""} {
			for _, live := range []string{f.live, ""} {
				cases[row(kind, f.file, live, base)] = f.of(base, f.file, live, f.added(live))
				cases[row(kind, "", live, base)] = f.of(base, "", live, f.removed(live, base))
			}
		}
		asDocumented(t, cases, &appsv1.Deployment{})
	}
}

// row names a row by the inputs that have the field.
func row(kind, file, live, base string) string {
	verb := func(field string) string {
		if field == "" {
			return "lacks"
		}
		return "has"
	}
	return fmt.Sprintf("%s: the file %s it, live %s it, last-applied %s it", kind, verb(file), verb(live), verb(base))
}

func (f tableField) of(base, file, live, want string) documented {
	within := func(field string) string { return fmt.Sprintf(f.around, field) }
	return documented{within(base), within(file), within(live), within(want)}
}

// added is the result of the first two rows: the file has the field.
func (f tableField) added(live string) string {
	if live == "" {
		return f.file
	}
	return f.both
}

// removed is the result of the last two rows: the file lacks the field.
func (f tableField) removed(live, base string) string {
	if base != "" {
		return ""
	}
	return live
}
