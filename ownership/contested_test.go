package ownership_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAFieldGoesWithTheListElementThatItIsIn verifies when a controller's field in a list element is contested.
func TestAFieldGoesWithTheListElementThatItIsIn(t *testing.T) {
	rule := ownership.Rule{Fields: fieldpattern.MustParse(`.spec.list[name="a"].x`), Writers: []string{"resizer"}}
	managers := ruled(ownership.Managers{Appliers: []string{"flux"}}, rule)
	resized := entry("resizer", "Update", early, `{"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{"f:x":{}}}}}`, "")
	live := object(t, liveWith(`,"spec":{"list":[{"name":"a","x":1}]}`, "", resized))
	for incoming, want := range map[string]bool{
		`{"list":[{"name":"a"}]}`: true,
		`{"list":[]}`:             false,
		`{}`:                      false,
		`{"list":["a"]}`:          false,
		`{"list":{}}`:             false,
	} {
		is := object(t, liveWith(`,"spec":`+incoming, "", entry("flux", "Apply", late, ownsImage, "")))
		contested := slices.Collect(search(t, read(t, managers, "flux", live, is)).Contested())
		expect.Equal(t, incoming+": contested", want, len(contested) == 1)
	}
}

// TestAUnitGoesWithItsParent has writes that drop units which a person has set.
func TestAUnitGoesWithItsParent(t *testing.T) {
	const (
		person = `{"f:spec":{"f:paused":{},"f:template":{"f:metadata":{"f:labels":{"f:tier":{}}}}}}`
		base   = `{"spec":{"paused":false,"template":{"metadata":{"labels":{"tier":"front"}}}}}`
		live   = `,"spec":{"paused":true,"template":{"metadata":{"labels":{"tier":"back"}},"spec":{"containers":[{}]}}}`
		pod    = `"spec":{"containers":[{}]}`
	)
	for sentence, c := range map[string]struct {
		incoming, manifest string
		want               []string
	}{
		"their parents stay":             {`,"spec":{"template":{"metadata":{"labels":{"a":"b"}},` + pod + `}}`, `{"spec":{}}`, []string{".spec.paused", ".spec.template.metadata.labels.tier"}},
		"the map of the label goes":      {`,"spec":{"template":{"metadata":{"name":"a"},` + pod + `}}`, `{"spec":{}}`, []string{".spec.paused", ".spec.template.metadata.labels.tier"}},
		"what is around the map goes":    {`,"spec":{"template":{` + pod + `}}`, `{"spec":{}}`, []string{".spec.paused"}},
		"what is around the map is null": {`,"spec":{"template":{"metadata":null,` + pod + `}}`, `{"spec":{}}`, []string{".spec.paused"}},
		"all is null":                    {`,"spec":null`, `{"spec":{}}`, nil},
		"all goes":                       {``, `{}`, nil},
	} {
		is := object(t, liveWith(c.incoming, c.manifest, entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, "")))
		w := read(t, managers, "kubectl-client-side-apply", object(t, liveWith(live, base, entry("kubectl-label", "Update", early, person, ""))), is)
		w.Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
		var got []string
		for field := range search(t, w).Contested() {
			got = append(got, field.Path.String())
		}
		expect.Equal(t, sentence+": contested", c.want, got)
	}
}

// TestAUnitIsThatOfWhoWroteAValueInIt has a manifest that drops resources, of which it has set the CPU.
func TestAUnitIsThatOfWhoWroteAValueInIt(t *testing.T) {
	sets := func(manager, inResources string) string {
		in := `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":` + inResources + `}}}}}}`
		return entry(manager, "Update", early, in, "")
	}
	of := func(resources string) string {
		return `"spec":{"template":{"spec":{"containers":[{"name":"a"` + resources + `}]}}}`
	}
	applied := sets("kubectl-client-side-apply", `{"f:limits":{"f:cpu":{}}}`)
	edited := sets("kubectl-edit", `{"f:limits":{"f:memory":{}}}`)
	for sentence, c := range map[string]struct {
		limits  string
		entries []string
		want    string // the manager
	}{
		"of nobody, if another manager has only made it":          {`{"cpu":"1","memory":"2"}`, []string{sets("kubectl-create", `{}`), applied}, ""},
		"of nobody, if another manager has only made a map in it": {`{"cpu":"1","memory":"2"}`, []string{sets("kubectl-create", `{".":{},"f:limits":{}}`), applied}, ""},
		"of who has set a value, and not of who made the map":     {`{"cpu":"1","memory":"2"}`, []string{sets("kubectl-create", `{".":{},"f:limits":{}}`), applied, edited}, "kubectl-edit"},
		"of who has emptied a map":                                {`{}`, []string{sets("kubectl-edit", `{"f:limits":{}}`)}, "kubectl-edit"},
		"of who has set all of it, as one value":                  {`{"cpu":"2"}`, []string{sets("kubectl-edit", `{}`)}, "kubectl-edit"},
	} {
		base := "{" + of(`,"resources":{"limits":{"cpu":"1"}}`) + "}"
		was := object(t, liveWith(","+of(`,"resources":{"limits":`+c.limits+`}`), base, c.entries...))
		is := object(t, liveWith(","+of(""), "{"+of("")+"}", entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, "")))
		w := read(t, managers, "kubectl-client-side-apply", was, is)
		w.Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
		s, got := search(t, w), ""
		for field := range s.Contested() {
			got = field.Owner.By
		}
		expect.Equal(t, sentence+": manager", c.want, got)
		isDecided := func(fieldpath.Path) bool { return c.want != "" }
		for _, f := range s.Removed(isDecided) {
			t.Errorf("%s: removed: %+v", sentence, f)
		}
	}
}

// TestAFieldGoesWithADroppedParent has a controller's field that the write sets to the API server's default, and what the manifest drops.
func TestAFieldGoesWithADroppedParent(t *testing.T) {
	rule := ownership.Rule{Fields: fieldpattern.MustParse(".spec.pool.size"), Writers: []string{"resizer"}}
	resized := entry("resizer", "Update", early, `{"f:spec":{"f:pool":{"f:size":{}}}}`, "")
	for sentence, c := range map[string]struct {
		base, manifest, incoming string
		want                     bool
	}{
		"its parent":             {`{"spec":{"pool":{"min":1}}}`, `{"spec":{}}`, "1", true},
		"nothing":                {`{"spec":{"pool":{"min":1}}}`, `{"spec":{"pool":{"min":1}}}`, "1", false},
		"the whole spec":         {`{"spec":{}}`, `{}`, "1", false},
		"the whole spec, by far": {`{"spec":{"pool":{"min":1}}}`, `{}`, "1", false},
		"its value":              {`{"spec":{}}`, `{"spec":{"a":1}}`, "null", true},
	} {
		of := func(size, manifest string, entries ...string) ownership.Object {
			return object(t, liveWith(`,"spec":{"pool":{"size":`+size+`}}`, manifest, entries...))
		}
		w := read(t, ruled(managers, rule), "kubectl-client-side-apply", of("7", c.base, resized),
			of(c.incoming, c.manifest, entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, "")))
		fields := slices.Collect(search(t, w).Contested())
		if len(fields) != 1 || fields[0].Removed != c.want {
			t.Errorf("%s: want removed %t, got %+v", sentence, c.want, fields)
		}
	}
}

// TestRemoved has values of a person that a write removes, also those that the API server sets again.
func TestRemoved(t *testing.T) {
	const by = `{"f:spec":{"f:image":{},"f:pool":{"f:size":{}}}}`
	isDecided := func(path fieldpath.Path) bool { return path.String() == ".spec.image" }
	for sentence, c := range map[string]struct {
		base, manifest, incoming string
		want                     bool
	}{
		"the value of the object's creator":          {`{"spec":{"image":"a","pool":{"size":3}}}`, `{"spec":{"pool":{}}}`, `{"pool":{}}`, true},
		"a default that is recorded for its creator": {`{"spec":{"image":"a","pool":{}}}`, `{"spec":{"pool":{}}}`, `{"pool":{}}`, false},
		"the value, which the base lacks":            {`{"spec":{"pool":{}}}`, `{"spec":{"pool":{}}}`, `{"pool":{}}`, true},
		"the value, which the base has":              {`{"spec":{"pool":{"size":3}}}`, `{"spec":{"pool":{}}}`, `{"pool":{}}`, true},
		"the value of the base, set again":           {`{"spec":{"pool":{"size":3}}}`, `{"spec":{"pool":{}}}`, `{"pool":{"size":1}}`, true},
		"a value that the base lacks, set otherwise": {`{"spec":{"pool":{}}}`, `{"spec":{"pool":{}}}`, `{"pool":{"size":1}}`, false},
		"its parent, set again":                      {`{"spec":{"pool":{"min":1}}}`, `{"spec":{}}`, `{"pool":{"size":1}}`, true},
		"nothing":                                    {`{"spec":{"pool":{}}}`, `{"spec":{"pool":{}}}`, `{"pool":{"size":7}}`, false},
		"the value, which the manifest sets":         {`{"spec":{"pool":{}}}`, `{"spec":{"pool":{"size":1}}}`, `{"pool":{"size":1}}`, false},
	} {
		is := object(t, liveWith(`,"spec":`+c.incoming, c.manifest, entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, "")))
		was := object(t, liveWith(`,"spec":{"image":"a","pool":{"size":7}}`, c.base, entry("kubectl-scale", "Update", early, ownsReplicas, ""), entry("kubectl-edit", "Update", early, by, "")))
		fields := search(t, read(t, managers, "kubectl-client-side-apply", was, is)).Removed(isDecided)
		expect.Equal(t, "removed: "+sentence, c.want, len(fields) == 1)
	}
}

// TestAControllersFieldWithAnotherNameIsContested has the entry of a controller in another API version, where the field has another name.
func TestAControllersFieldWithAnotherNameIsContested(t *testing.T) {
	all, size := ownership.Rule{Name: "all", Fields: fieldpattern.MustParse(".spec.*")}, ownership.Rule{Fields: fieldpattern.MustParse(".spec.size")}
	for subresource, want := range map[string]bool{"": true, "status": false} {
		older := strings.Replace(entry("resizer", "Update", early, `{"f:spec":{"f:width":{}}}`, subresource), "apps/v1", "apps/v1beta1", 1)
		was := object(t, liveWith(`,"spec":{"size":7}`, `{"spec":{"size":3}}`, older))
		is := object(t, liveWith(`,"spec":{"size":3}`, `{"spec":{"size":3}}`, entry("kubectl-client-side-apply", "Update", late, ownsLastApplied, "")))
		w := read(t, ruled(managers, all, size), "kubectl-client-side-apply", was, is)
		w.Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
		fields := slices.Collect(search(t, w).Contested())
		isContested := slices.ContainsFunc(fields, func(f ownership.ContestedField) bool { return f.Owner.By+f.Owner.Rule == "resizerall" })
		expect.Equal(t, "contested, subresource "+subresource, want, isContested)
		expect.Equal(t, "its owner, subresource "+subresource, want, ownerIn(t, w.ObjectContext, was, ".spec.size") == "Controller resizer all")
	}
}
