package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestAnApplierManagesMostOfWhatLastAppliedDeclares is about an update by a manager that no list names, after another one has written
// the annotation.
func TestAnApplierManagesMostOfWhatLastAppliedDeclares(t *testing.T) {
	for sentence, c := range map[string]struct {
		declares, fields, rule string
		want                   bool
	}{
		"all of it":                              {`{"a":1,"b":2}`, `{"f:a":{},"f:b":{}}`, ".spec.c", true},
		"most of it":                             {`{"a":1,"b":2,"c":3}`, `{"f:a":{},"f:b":{}}`, ".spec.c", true},
		"half of it":                             {`{"a":1,"b":2}`, `{"f:a":{}}`, ".spec.c", false},
		"values that the object has no more":     {`{"a":7,"b":8}`, `{"f:a":{},"f:b":{}}`, ".spec.c", false},
		"all of it, which is a controller's":     {`{"a":1}`, `{"f:a":{}}`, ".spec.a", false},
		"all of it, of which a controller's one": {`{"a":1,"b":2}`, `{"f:a":{},"f:b":{}}`, ".spec.a", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			object, err := ownership.ParseObject(fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q},"managedFields":[
				{"manager":"ci","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":%s}}]},"spec":{"a":1,"b":2,"c":3}}`,
				ownership.LastAppliedAnnotation, `{"spec":`+c.declares+`}`, c.fields))
			if err != nil {
				t.Fatal(err)
			}
			found, err := object.Entries()
			if err != nil {
				t.Fatal(err)
			}
			rules, err := ownership.ParseControllerFields(c.rule)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ownership.Managers{}.WithControlled(rules).IsApplier(found[0])); diff != "" {
				t.Errorf("applier (-want +got):\n%s", diff)
			}
		})
	}
}
