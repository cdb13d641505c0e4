package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sides are the kinds of apply, with the union's field for the result.
func (u union) sides() map[string]side {
	server := u.server
	if u.serverBefore34 != "" && !cluster.Plane.Since(34) {
		server = u.serverBefore34
	}
	return map[string]side{
		"client-side": {says: u.client, clears: strings.HasPrefix(u.client, fixed)},
		"server-side": {says: server, clears: strings.HasPrefix(u.server, fixed), args: []string{"--server-side"}},
	}
}

type side struct {
	says   string // without handoff
	clears bool   // handoff clears the default
	args   []string
}

// needFields skips a test of a union whose fields the API server does not have.
func (u union) needFields(t *testing.T) {
	t.Helper()
	if !cluster.Plane.Since(u.since) {
		t.Skipf("Kubernetes has the fields by default since 1.%d", u.since)
	}
}

// TestTheUnionsThatTheAPIServerRefuses verifies the result for each union without handoff. If it fails with a new version of
// Kubernetes, update docs/stale-defaults.md and, if necessary, the table in merge/stale.go.
func TestTheUnionsThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	for name, u := range unions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u.needFields(t)
			for side, s := range u.sides() {
				n := newNamespace(t, "")
				want := n.fresh(u)
				n.apply(u.manifest(u.before), s.args...)
				r := n.run(u.manifest(u.after), append([]string{"apply", "-f", "-", "-o", "json"}, s.args...)...)
				if r.err != nil {
					n.wantRefused(r, s.says)
					if side == "server-side" {
						n.wantRefused(n.run(u.manifest(u.after), "apply", "-f", "-", "--server-side", "--force-conflicts"), s.says)
					}
					continue
				}
				says := ""
				if paths := differences("", want, specOf(t, r.stdout)); len(paths) > 0 {
					says = keeps + strings.Join(paths, " ")
				}
				if says != s.says {
					t.Errorf("%s apply: got %q, want %q", side, says, s.says)
				}
			}
		})
	}
}

func (n *namespace) wantRefused(r result, says string) {
	n.Helper()
	text, stderr := strings.TrimPrefix(strings.TrimPrefix(says, fixed), refused), r.stderr
	stated := text != says
	if !cluster.Plane.Since(34) { // errors contain values in the syntax of Go, later ones in JSON
		value := regexp.MustCompile(`Invalid value: \S.*?: `)
		text, stderr = value.ReplaceAllString(text, ""), value.ReplaceAllString(stderr, "")
	}
	if !stated || r.err == nil || !strings.Contains(stderr, text) {
		n.Errorf("got error %v: %s, want %q", r.err, r.stderr, says)
	}
}

// TestRow7ADefaultThatTheManifestContradictsIsCleared verifies for all unions marked as fixed that an apply stores the same spec
// as in a new object.
func TestRow7ADefaultThatTheManifestContradictsIsCleared(t *testing.T) {
	t.Parallel()
	for name, u := range unions() {
		for side, s := range u.sides() {
			if !s.clears {
				continue
			}
			t.Run(name+", "+side, func(t *testing.T) {
				t.Parallel()
				u.needFields(t)
				n := newNamespace(t, "enforce")
				n.kind = strings.ToLower(u.kind)
				want := n.fresh(u)
				n.apply(u.manifest(u.before), s.args...)
				n.settled()
				r := n.apply(u.manifest(u.after), s.args...)
				if warnings := r.warnings(); len(warnings) != 1 || !strings.HasPrefix(warnings[0], "cleared ") {
					t.Errorf("warnings: %v", warnings)
				}
				if diff := cmp.Diff(want, n.object().Object["spec"]); diff != "" {
					t.Errorf("the spec (-fresh +cleared):\n%s", diff)
				}
				for _, e := range n.object().GetManagedFields() {
					if fields := string(e.FieldsV1.GetRawBytes()); strings.Contains(fields, "f:rollingUpdate") || strings.Contains(fields, "f:emptyDir") {
						t.Errorf("%s still manages the cleared field: %s", e.Manager, fields)
					}
				}
				n.unchangedBy("a second unchanged apply", func() { n.apply(u.manifest(u.after), s.args...) })
			})
		}
	}
}

// fresh returns the spec of a new object from a union's second manifest.
func (n *namespace) fresh(u union) any {
	n.Helper()
	text, err := yaml.ToJSON([]byte(u.manifest(u.after)))
	if err != nil {
		n.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		n.Fatal(err)
	}
	o.SetNamespace(n.name)
	if err := cluster.client.Create(n.Context(), o, client.DryRunAll); err != nil {
		n.Fatal(err)
	}
	return o.Object["spec"]
}

func specOf(t *testing.T, text string) any {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o.Object["spec"]
}

// differences returns the paths at which two JSON values differ, except for values that the API server allocates for each
// object: addresses, ports and identities.
func differences(path string, a, b any) []string {
	var paths []string
	switch left, right := members(a), members(b); {
	case left == nil || right == nil:
		if chosen(a) != chosen(b) {
			paths = []string{path}
		}
	default:
		for name := range right {
			if _, both := left[name]; !both {
				paths = append(paths, path+name)
			}
		}
		for name := range left {
			paths = append(paths, differences(path+name, left[name], right[name])...)
		}
	}
	slices.Sort(paths)
	return paths
}

// members returns the members of an object or list by their path elements, or nil for any other value.
func members(value any) map[string]any {
	found := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			found["."+name] = member
		}
	case []any:
		for i, member := range v {
			found[fmt.Sprintf("[%d]", i)] = member
		}
	default:
		return nil
	}
	return found
}

// chosen returns the text of a value without allocated values.
func chosen(value any) string {
	return regexp.MustCompile(`^10\.\d+\.\d+\.\d+$|^3\d{4}$|^[0-9a-f]{8}-.*$`).ReplaceAllString(fmt.Sprint(value), "chosen")
}
