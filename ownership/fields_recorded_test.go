package ownership_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded are the live objects of the recorded reviews, by the names of their files.
func recorded(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob("../webhook/testdata/reviews/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatal("no recorded reviews: ", err)
	}
	objects := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // what Glob has found
		if err != nil {
			tb.Fatal(err)
		}
		var review struct {
			Request struct{ OldObject json.RawMessage }
		}
		if err := json.Unmarshal(text, &review); err != nil {
			tb.Fatal(err)
		}
		objects[filepath.Base(file)] = string(review.Request.OldObject)
	}
	return objects
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

func TestFieldsListsEachFieldOfRecordedObjectsOnce(t *testing.T) {
	for name, text := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			live, fields := parseLive(t, text), fieldsOf(t, text)
			checkLaws(t, live, fields)

			listed := map[string]int{} // how often each place is, by its JSON pointer
			for _, f := range fields {
				if f.Value == nil {
					continue
				}
				var value any
				if err := json.Unmarshal(f.Value, &value); err != nil {
					t.Fatal(err)
				}
				pointer, _ := live.Pointer(f.Path)
				scalars(value, pointer, func(at string) { listed[at]++ })
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
