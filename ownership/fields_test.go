package ownership_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// fieldManagers are the managers of the tests.
func fieldManagers() ownership.Managers {
	return ownership.Managers{
		Autoscalers: []string{"keda"}, Appliers: []string{"kubectl-client-side-apply", "helm"}, Imperative: []string{"kubectl", "kubectl-*"},
	}
}

// entryOf returns an entry of managedFields; who is manager/operation, for a subresource with /subresource behind it.
func entryOf(who, time, fields string) string {
	parts := append(strings.Split(who, "/"), "")
	return entry(parts[0], parts[1], time, fields, parts[2])
}

// liveWith is a live object of which body is all but the metadata; declared is its last-applied annotation, if any.
func liveWith(body, declared string, entries ...string) string {
	annotations := ""
	if declared != "" {
		text, _ := json.Marshal(declared) //nolint:errchkjson // a string
		annotations = `,"annotations":{"` + ownership.LastAppliedAnnotation + `":` + string(text) + `}`
	}
	managedFields := ""
	if len(entries) > 0 {
		managedFields = `,"managedFields":[` + strings.Join(entries, ",") + `]`
	}
	return `{"apiVersion":"v1","kind":"Web","metadata":{"name":"web","uid":"1"` + annotations + managedFields + `}` + body + `}`
}

// linesOf shows fields: path=value owner by since [managers] what is declared.
func linesOf(fields ownership.OwnedFields) []string {
	lines := make([]string, 0, len(fields))
	for _, f := range fields {
		managers := make([]string, 0, len(f.Entries))
		for _, h := range f.Entries {
			managers = append(managers, strings.TrimSuffix(h.Manager+"/"+h.Operation+"/"+h.Subresource, "/"))
		}
		line := fmt.Sprintf("%s=%s %s %s %s %v", f.Path, f.Value, f.Owner.Kind, f.Owner.By, f.Since, managers)
		line += []string{"", " sets it", " null"}[f.Declared]
		if f.DeclaredValue != nil {
			line += " to " + string(f.DeclaredValue)
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

const (
	clientSide = "kubectl-client-side-apply/Update"
	annotated  = `"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}`
)

type fieldsCase struct {
	context ownership.ObjectContext
	rules   []ownership.Pattern
	live    string
	want    []string
}

func (c fieldsCase) run(t *testing.T) {
	t.Helper()
	c.context.Managers = ruled(fieldManagers(), ownership.Rule{Fields: c.rules})
	fields, err := c.context.OwnedFields(object(t, c.live))
	expect.NoError(t, err)
	expect.Equal(t, "fields", c.want, linesOf(fields), cmpopts.EquateEmpty())
}

func TestFieldsRejectsInvalidObjects(t *testing.T) {
	for name, c := range map[string]struct {
		live string
		want error
		says string
	}{
		"managedFields are no list":             {`{"metadata":{"managedFields":{}}}`, ownership.ErrManagedFields, "not a list"},
		"a set cannot be parsed":                {liveWith("", "", entryOf("me/Update", "", `{"k:x":{}}`)), ownership.ErrManagedFields, "the field set of me"},
		"the annotation is no JSON":             {liveWith("", `{"spec":`), ownership.ErrLastApplied, ""},
		"the annotation is no object":           {liveWith("", `[]`), ownership.ErrLastApplied, "not a JSON object"},
		"the annotation is no string":           {`{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":1}}}`, ownership.ErrLastApplied, "not a string"},
		"the annotation is empty":               {`{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":""}}}`, ownership.ErrLastApplied, ""},
		"the annotation repeats a name":         {liveWith("", `{"a":1,"a":2}`), ownership.ErrLastApplied, "duplicate"},
		"the annotation goes on behind its end": {liveWith("", `{} {}`), ownership.ErrLastApplied, "more after the value"},
	} {
		t.Run(name, func(t *testing.T) {
			fields, err := ownership.ObjectContext{}.OwnedFields(object(t, c.live))
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
			expect.Equal(t, "fields beside an error", 0, len(fields))
		})
	}
}
