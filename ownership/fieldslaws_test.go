package ownership_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

func fieldsOf(t testing.TB, live string) ownership.Fields {
	t.Helper()
	fields, err := ownership.ObjectContext{Managers: fieldManagers()}.Fields(parseLive(t, live))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func foldLines(folds []ownership.Fold) (lines []string) {
	for _, f := range folds {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", f.Path, f.Owner, f.By, len(f.Fields)))
	}
	return lines
}

// recorded are the live objects of the recorded reviews, by the names of their files.
func recorded(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../webhook/testdata/reviews/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded reviews: ", err)
	}
	objects := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var review struct {
			Request struct{ OldObject json.RawMessage }
		}
		if err := json.Unmarshal(text, &review); err != nil {
			t.Fatal(err)
		}
		objects[filepath.Base(file)] = string(review.Request.OldObject)
	}
	return objects
}

// isAside is what Fields leaves out, said in another way.
func isAside(path fieldpath.Path) bool {
	aside := []string{
		".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion", ".metadata.generation",
		".metadata.creationTimestamp", ".metadata.managedFields", ".metadata.annotations." + ownership.LastAppliedAnnotation,
	}
	for n := range path {
		if path[n].FieldName == nil {
			return false
		}
		if slices.Contains(aside, path[:n+1].String()) {
			return true
		}
	}
	return false
}

// scalars calls visit with the places of all scalars and empty containers of a JSON value, as JSON pointers.
func scalars(value any, at string, visit func(string)) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			scalars(member, at+"/"+escape.Replace(name), visit)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, element := range v {
			scalars(element, fmt.Sprintf("%s/%d", at, i), visit)
		}
		if len(v) > 0 {
			return
		}
	}
	visit(at)
}

// holdLaws holds what is true of every object's fields.
func holdLaws(t *testing.T, live ownership.Object, fields ownership.Fields) {
	t.Helper()
	all, byOwner := fieldpath.NewSet(), fieldpath.NewSet()
	total := 0
	for _, owner := range []ownership.Owner{
		ownership.Unknown, ownership.Default, ownership.Manifest, ownership.Imperative, ownership.Controller, ownership.Autoscaler,
	} {
		set := fields.Of(owner)
		total += set.Size()
		byOwner = byOwner.Union(set)
	}
	for _, f := range fields {
		all.Insert(f.Path)
		if isAside(f.Path) {
			t.Errorf("%s is listed", f.Path)
		}
		if f.Value != nil && !bytes.Equal(live.Value(f.Path), f.Value) {
			t.Errorf("%s: %s is listed, %s is there", f.Path, f.Value, live.Value(f.Path))
		}
	}
	if all.Size() != len(fields) || total != len(fields) || !all.Equals(byOwner) {
		t.Errorf("%d fields, %d of them different, %d of all owners", len(fields), all.Size(), total)
	}
	coversClaims(t, live, fields, all)
	var folded ownership.Fields
	for _, fold := range fields.Fold() {
		folded = append(folded, fold.Fields...)
	}
	if diff := cmp.Diff(linesOf(fields), linesOf(folded)); diff != "" {
		t.Errorf("what is folded (-fields +folded):\n%s", diff)
	}
}

// coversClaims holds that every claim is listed, or something in what it claims, or its place by another name.
func coversClaims(t *testing.T, live ownership.Object, fields ownership.Fields, listed *fieldpath.Set) {
	t.Helper()
	entries, err := live.Entries()
	if err != nil {
		t.Fatal(err)
	}
	onlyAside := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("metadata", "annotations"))
	for _, e := range entries {
		set, err := e.Set()
		if err != nil {
			t.Fatal(err)
		}
		for path := range set.All() {
			if isAside(path) || onlyAside.Has(path) || listed.Has(path) || !within(listed, path).Empty() {
				continue
			}
			at := live.Locate(path)
			if at.Value == nil || !slices.ContainsFunc(fields, func(f ownership.Field) bool {
				return strings.HasPrefix(live.Locate(f.Path).Pointer+"/", at.Pointer+"/")
			}) {
				t.Errorf("%s claims %s, which is not listed", e.Manager, path)
			}
		}
	}
}

func within(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return set
}

func TestEveryFieldOfARecordedObjectIsListedOnce(t *testing.T) {
	for name, text := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			live, fields := parseLive(t, text), fieldsOf(t, text)
			holdLaws(t, live, fields)

			listed := map[string]int{} // how often each place is, by its JSON pointer
			for _, f := range fields {
				if f.Value == nil {
					continue
				}
				var value any
				if err := json.Unmarshal(f.Value, &value); err != nil {
					t.Fatal(err)
				}
				scalars(value, live.Locate(f.Path).Pointer, func(at string) { listed[at]++ })
			}
			var whole any
			if err := json.Unmarshal([]byte(text), &whole); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			scalars(whole, "", func(at string) {
				if !isIdentity(at) {
					want[at] = 1
				}
			})
			if diff := cmp.Diff(want, listed); diff != "" {
				t.Errorf("how often a place is listed (-want +got):\n%s", diff)
			}
		})
	}
}

// isIdentity is isAside for JSON pointers.
func isIdentity(pointer string) bool {
	aside := regexp.MustCompile(`^/(apiVersion|kind|metadata/(name|namespace|uid|resourceVersion|generation|creationTimestamp|` +
		`managedFields/.*|annotations/kubectl\.kubernetes\.io~1last-applied-configuration))$`)
	return aside.MatchString(pointer)
}

// Every claim of a recorded object that leads nowhere has a reason; the recordings have none.
func TestARecordedObjectHasTheFieldsThatItsClaimsLeadTo(t *testing.T) {
	for name, text := range recorded(t) {
		for _, f := range fieldsOf(t, text) {
			if f.Value == nil {
				t.Errorf("%s: %s has no value", name, f.Path)
			}
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, text := range recorded(f) {
		if len(text) < 5000 {
			f.Add([]byte(text))
		}
	}
	for _, text := range []string{
		`{}`, `null`, `{"metadata":1}`, liveWith(`,"a":[1,1,{"name":"x"},{"name":"x"}]`, `{"a":[1,{"name":"x"}]}`,
			claimOf("me/Apply", "", `{"f:a":{"v:1":{},"k:{\"name\":\"x\"}":{".":{},"f:y":{}},"i:0":{}}}`)),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		live, err := ownership.ParseObject(text)
		if err != nil {
			return
		}
		fields, err := ownership.ObjectContext{Managers: fieldManagers(), Scale: fieldpath.MakePathOrDie("spec", "replicas")}.Fields(live)
		if err != nil {
			if !errors.Is(err, ownership.ErrManagedFields) && !errors.Is(err, ownership.ErrLastApplied) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		holdLaws(t, live, fields)
	})
}

func BenchmarkFields(b *testing.B) {
	live := parseLive(b, recorded(b)["large-kept.json"])
	context := ownership.ObjectContext{Managers: fieldManagers()}
	b.SetBytes(int64(len(live.Text())))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := context.Fields(live); err != nil {
			b.Fatal(err)
		}
	}
}
