package ownership_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	sizePath = ".spec.size"
	ownsSize = `{"f:spec":{"f:size":{}}}`
)

// sizes is a write of .spec.size under a rule.
type sizes struct {
	rule ownership.Rule
	// live, base and manifest are its values; without a base and a manifest, the write is one of Helm 3.
	live, base, manifest string
	// record is the annotation of live, recordedBy the managers that manage it, and now that of the incoming object, if it is another one.
	record, recordedBy, now string
	entries                 []string // of live, besides the applier's
	drops                   bool     // the manifest lacks the field
	removes                 bool     // so does the incoming object
}

func (s sizes) write(t *testing.T) ownership.Write {
	t.Helper()
	s.rule.Name, s.rule.Fields = "sizes", fieldpattern.MustParse(sizePath)
	applier, owns := "kubectl-client-side-apply", strings.Replace(ownsSize, "{", "{"+ownsLastApplied[1:len(ownsLastApplied)-1]+",", 1)
	of := func(size, manifest, record string, managers ...string) ownership.Object {
		annotations := map[string]string{}
		if s.base != "" {
			annotations[ownership.LastAppliedAnnotation] = manifest
		}
		if record != "" {
			annotations[ownership.AppliedAnnotation] = record
		}
		spec := fmt.Sprintf(`{"size":%s}`, size)
		if size == "" {
			spec = "{}"
		}
		return object(t, fmt.Sprintf(`{"metadata":{"annotations":%s,"managedFields":[%s]},"spec":%s}`, jsontest.Encode(t, annotations), strings.Join(managers, ","), spec))
	}
	declares := func(size string) string { return fmt.Sprintf(`{"spec":{"size":%s}}`, size) }
	manifest, incoming := declares(s.manifest), s.manifest
	if s.drops {
		manifest, incoming = `{"spec":{}}`, s.live
	}
	if s.removes {
		incoming = ""
	}
	now := cmp.Or(s.now, s.record)
	if s.base == "" {
		applier, owns = "helm", ownsSize
	}
	if s.recordedBy != "" {
		s.entries = append(s.entries, entry(s.recordedBy, "Update", early, `{"f:metadata":{"f:annotations":{"f:`+ownership.AppliedAnnotation+`":{}}}}`, ""))
	}
	managers := ownership.Managers{Appliers: []string{applier}, Imperative: []string{"kubectl-*"}}
	w := read(t, ruled(managers, s.rule), applier, of(s.live, declares(s.base), s.record, s.entries...), of(incoming, manifest, now, entry(applier, "Update", late, owns, "")))
	w.Kind = appsv1.SchemeGroupVersion.WithKind("Widget")
	return w
}

// recordOf is the record after an apply of a value.
func recordOf(t *testing.T, value string) string {
	t.Helper()
	w := sizes{rule: ownership.Rule{Edit: ownership.EditApply}, live: "1", base: "3", manifest: value}.write(t)
	text, changed := search(t, w).AppliedValues()
	if !changed {
		t.Fatalf("recording %s", value)
	}
	return string(text)
}

func TestAppliedValues(t *testing.T) {
	resizer, person := entry("resizer", "Update", early, ownsSize, ""), entry("kubectl-edit", "Update", early, ownsSize, "")
	apply, anyWriter := ownership.Rule{Edit: ownership.EditApply}, ownership.Rule{Writers: []string{ownership.AnyWriter}}
	recorded3 := recordOf(t, "3")
	both := strings.Replace(recorded3, "{\"kubectl", "{\"helm\":\"x\",\"kubectl", 1)
	for sentence, c := range map[string]struct {
		sizes
		want    string // the contested field
		record  string
		changed bool
	}{
		"an unchanged value":                      {sizes{rule: apply, live: "7", base: "3", manifest: "3", record: recorded3, entries: []string{resizer}}, "Controller resizer sizes", recorded3, false},
		"another value":                           {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: recorded3, entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a value that was applied unseen":         {sizes{rule: apply, live: "7", base: "4", manifest: "4", record: recorded3, entries: []string{resizer}}, "Controller resizer sizes", recordOf(t, "4"), true},
		"nothing recorded":                        {sizes{rule: apply, live: "7", base: "3", manifest: "4", entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a record that cannot be read":            {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: "{", entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a record of another type":                {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: `{".spec.size":[]}`, entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a record that is too long":               {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: recorded3 + strings.Repeat(" ", 16<<10), entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a record by somebody else":               {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: recorded3, recordedBy: "kubectl-rollout", entries: []string{resizer}}, "Controller resizer sizes, edited", recordOf(t, "4"), true},
		"a record by somebody else that is right": {sizes{rule: apply, live: "7", base: "3", manifest: "3", record: recorded3, recordedBy: "kubectl-rollout", entries: []string{resizer}}, "Controller resizer sizes", recorded3, true},
		"a record of another applier's":           {sizes{rule: apply, live: "7", base: "3", manifest: "3", record: both, entries: []string{resizer}}, "Controller resizer sizes", both, false},
		"a field that the manifest drops":         {sizes{rule: apply, live: "7", base: "3", drops: true, record: recorded3, entries: []string{resizer}}, "Controller resizer sizes", recorded3, false},
		"a dropped field, and nothing recorded":   {sizes{rule: apply, live: "7", base: "3", drops: true, entries: []string{resizer}}, "Controller resizer sizes", "{}", false},
		"a path that the object lacks":            {sizes{rule: apply, live: "7", base: "3", manifest: "3", record: strings.Replace(recorded3, "{", `{".spec.gone":{"a":"b"},`, 1), entries: []string{resizer}}, "Controller resizer sizes", recorded3, true},
		"a field that the manifest sets first":    {sizes{rule: apply, base: "null", manifest: "3"}, "", recorded3, true},
		"a person's value":                        {sizes{rule: apply, live: "7", base: "3", manifest: "4", record: recorded3, entries: []string{person}}, "", recordOf(t, "4"), true},
		"Helm 3":                                  {sizes{rule: apply, live: "7", manifest: "3", entries: []string{resizer}}, "Controller resizer sizes", strings.Replace(recorded3, "kubectl-client-side-apply", "helm", 1), true},
		"Helm 3 with another value":               {sizes{rule: apply, live: "7", manifest: "4", record: strings.Replace(recorded3, "kubectl-client-side-apply", "helm", 1), entries: []string{resizer}}, "Controller resizer sizes, edited", strings.Replace(recordOf(t, "4"), "kubectl-client-side-apply", "helm", 1), true},
		"Helm 3 whose manifest drops the field":   {sizes{rule: apply, live: "7", drops: true, removes: true, record: strings.Replace(recorded3, "kubectl-client-side-apply", "helm", 1), entries: []string{resizer}}, "Controller resizer sizes", strings.Replace(recorded3, "kubectl-client-side-apply", "helm", 1), false},
		"a controller's entry of another version": {sizes{rule: apply, live: "7", base: "3", manifest: "3", record: recorded3, entries: []string{strings.Replace(resizer, "apps/v1", "apps/v1beta1", 1)}}, "Controller resizer sizes", recorded3, false},
		"edit: keep records nothing":              {sizes{live: "7", base: "3", manifest: "4", entries: []string{resizer}}, "Controller resizer sizes", "", false},

		"any writer: a person's value":                          {sizes{rule: anyWriter, live: "7", base: "3", manifest: "3", record: recorded3, entries: []string{person}}, "Controller kubectl-edit sizes", recorded3, false},
		"any writer: a person's value that is the manifest's":   {sizes{rule: anyWriter, live: "3", base: "3", manifest: "4", entries: []string{person}}, "", recordOf(t, "4"), true},
		"any writer: the value that is recorded":                {sizes{rule: anyWriter, live: "3", base: "2", manifest: "4", record: recorded3, entries: []string{person}}, "", recordOf(t, "4"), true},
		"any writer: a value in nobody's entry, not recorded":   {sizes{rule: anyWriter, live: "7", base: "2", manifest: "3", record: recorded3}, "", recorded3, false},
		"any writer: a value in the applier's entry only":       {sizes{rule: anyWriter, live: "7", base: "2", manifest: "3", record: recorded3, entries: []string{entry("kubectl-client-side-apply", "Update", early, ownsSize, "")}}, "Controller  sizes", recorded3, false},
		"any writer: the applier's entry, and nothing recorded": {sizes{rule: anyWriter, live: "7", base: "2", manifest: "3", entries: []string{entry("kubectl-client-side-apply", "Update", early, ownsSize, "")}}, "", recorded3, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := c.write(t)
			found, got := search(t, w), ""
			text, changed := found.AppliedValues()
			for first := range found.Contested() {
				got = controllerOf(first)
				break
			}
			expect.Equal(t, "contested", c.want, got)
			want, _, _ := strings.Cut(c.want, ", ")
			expect.Equal(t, "OwnedFields", want, ownerIn(t, w.ObjectContext, w.Live, sizePath))
			w.Scale = fieldpath.MakePathOrDie("spec", "size")
			scale, _ := w.ScaleField()
			if got := controllerOf(scale); c.entries != nil && got != c.want { // without entries, it was written through /scale
				t.Errorf("as the scale field: want %q, got %q", c.want, got)
			}
			if changed != c.changed || string(text) != c.record {
				t.Errorf("want %t %s, got %t %s", c.changed, c.record, changed, text)
			}
			if c.now, c.drops = string(text), true; changed && c.recordedBy == "" { // the first call has cut a kept field from last-applied
				if text, changed = search(t, c.write(t)).AppliedValues(); changed {
					t.Errorf("called again, it records %s", text)
				}
			}
		})
	}
}

// TestAValueThatTheManifestSetsByItsOtherNameIsRecorded uses the two names of a pod's service account.
func TestAValueThatTheManifestSetsByItsOtherNameIsRecorded(t *testing.T) {
	of := func(account, manager, operation, entryOfManager string) ownership.Object {
		body := `,"spec":{"template":{"spec":{"serviceAccount":"` + account + `","serviceAccountName":"` + account + `"}}}`
		return object(t, liveWith(body, `{"spec":{"template":{"spec":{"serviceAccountName":"`+account+`"}}}}`, entry(manager, operation, late, entryOfManager, "")))
	}
	const owns = `{"f:spec":{"f:template":{"f:spec":{"f:serviceAccount":{}}}}}`
	rule := ownership.Rule{Fields: fieldpattern.MustParse(".spec.template.spec.serviceAccount"), Edit: ownership.EditApply}
	managers := ruled(ownership.Managers{Appliers: []string{"kubectl-client-side-apply"}}, rule)
	for operation, fields := range map[string]string{"Update": owns, "Apply": strings.Replace(owns, "Account", "AccountName", 1)} {
		is := of("b", "kubectl-client-side-apply", operation, fields)
		text, changed := search(t, read(t, managers, "kubectl-client-side-apply", of("a", "tuner", "Update", owns), is)).AppliedValues()
		if !changed || !strings.Contains(string(text), ".spec.template.spec.serviceAccount") {
			t.Errorf("%s: want the value of .spec.template.spec.serviceAccount, got %t %s", operation, changed, text)
		}
	}
}

// controllerOf shows the controller that owns a field, empty if none does.
func controllerOf(f ownership.ContestedField) (shown string) {
	if f.Owner.Kind != ownership.Controller {
		return ""
	}
	shown = f.Owner.Kind.String() + " " + f.Owner.By + " " + f.Owner.Rule
	if f.Edited {
		shown += ", edited"
	}
	return shown
}

// ownerIn returns the controller or autoscaler that owns a field according to ObjectContext.OwnedFields, empty if none does.
func ownerIn(t *testing.T, context ownership.ObjectContext, live ownership.Object, path string) string {
	t.Helper()
	fields, err := context.OwnedFields(live)
	expect.NoError(t, err)
	for _, f := range fields {
		if f.Path.String() == path && f.Owner.Kind >= ownership.Controller {
			return f.Owner.Kind.String() + " " + f.Owner.By + " " + f.Owner.Rule
		}
	}
	return ""
}

// TestAppliedValuesStayWithinTheLimits verifies that a record is never why the API server rejects an object.
func TestAppliedValuesStayWithinTheLimits(t *testing.T) {
	for sentence, c := range map[string]struct {
		annotation int // the length of another annotation
		before     string
		want       string
		changed    bool
	}{
		"space for it":             {1000, "", "recorded", true},
		"no space for it":          {256<<10 - 50, "", "{}", false},
		"no space for it any more": {256<<10 - 50, `{".spec.size":{"a":"b"}}`, "{}", true},
		"no space for anything":    {256 << 10, "{}", "{}", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := sizes{rule: ownership.Rule{Edit: ownership.EditApply}, live: "7", base: "3", manifest: "3", record: c.before}
			w := s.write(t)
			large := strings.Replace(string(w.Incoming.Text()), `"annotations":{`, `"annotations":{"a":"`+strings.Repeat("x", c.annotation)+`",`, 1)
			w.Incoming = object(t, large)
			text, changed := search(t, w).AppliedValues()
			got := string(text)
			if strings.Contains(got, sizePath) {
				got = "recorded"
			}
			if got != c.want || changed != c.changed {
				t.Errorf("want %s %t, got %s %t", c.want, c.changed, got, changed)
			}
		})
	}
}
