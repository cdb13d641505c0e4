package e2e_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// unionTable is testdata/unions.yaml, which explains its fields.
type unionTable struct {
	Kinds  map[string]struct{ APIVersion, Spec string }
	Unions []union
}

type union struct {
	Name, Kind     string
	APIVersion     string            // if it is not the usual one of the kind
	Before, After  map[string]string // the fields, by where they are
	Client, Server string
	ServerBefore34 string
	Since          uint
}

func unions(t *testing.T) (table unionTable) {
	t.Helper()
	expect.NoError(t, yaml.UnmarshalStrict([]byte(testdata("unions")), &table))
	table.Unions = slices.DeleteFunc(table.Unions, func(u union) bool { return !cluster.Plane.Since(u.Since) })
	return table
}

// manifest returns an object with fields of the union.
func (table unionTable) manifest(u union, name string, fields map[string]string) string {
	kind := table.Kinds[u.Kind]
	container := fields["container"]
	if !strings.HasPrefix(container, "image: ") {
		container = strings.TrimSuffix("image: 'app:1', "+container, ", ")
	}
	var places []string
	for place, text := range map[string]string{"OWN": fields["own"], "POD": fields["pod"], "CONTAINER": container} {
		if text != "" {
			text += ","
		}
		places = append(places, place, text)
	}
	return "apiVersion: " + cmp.Or(u.APIVersion, kind.APIVersion) + "\nkind: " + u.Kind + "\nmetadata: {name: " + name + "}\nspec: {" +
		strings.NewReplacer(places...).Replace(kind.Spec) + "}\n"
}

// The prefixes of results that differ from a new object.
const (
	refused = "refused: "
	fixed   = "fixed: "
	keeps   = "keeps: "
)

// sides are the kinds of apply with the result of the union.
func (u union) sides() map[string]side {
	server := u.Server
	if u.ServerBefore34 != "" && !cluster.Plane.Since(34) {
		server = u.ServerBefore34
	}
	return map[string]side{
		"client-side": {says: u.Client, clears: strings.HasPrefix(u.Client, fixed)},
		"server-side": {says: server, clears: strings.HasPrefix(u.Server, fixed), args: []string{"--server-side"}},
	}
}

type side struct {
	says   string // without handoff
	clears bool   // handoff clears the default
	args   []string
}

// TestTheUnionsThatTheAPIServerRefuses verifies the result for each union without handoff, of which kubectl applies all at once. If it
// fails with a new version of Kubernetes, update docs/stale-defaults.md and, if necessary, the table in internal/apitypes/unions.go.
func TestTheUnionsThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	table := unions(t)
	for side, applies := range map[string][][]string{"client-side": {nil}, "server-side": {{"--server-side"}, serverSide()}} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "")
			var before, after strings.Builder
			manifests, fresh := make([]string, len(table.Unions)), make([]any, len(table.Unions))
			for i, u := range table.Unions {
				name := fmt.Sprintf("union-%d", i)
				manifests[i] = table.manifest(u, name, u.After)
				fresh[i] = n.fresh(manifests[i], name)
				before.WriteString("---\n" + table.manifest(u, name, u.Before))
				after.WriteString("---\n" + manifests[i])
			}
			n.apply(before.String(), applies[0]...)
			for _, args := range applies {
				r := n.run(after.String(), append([]string{"apply", "-f", "-"}, args...)...)
				for i, u := range table.Unions {
					t.Run(u.Name, func(t *testing.T) { wantResult(t, u.sides()[side].says, n.resultOf(r, manifests[i], fresh[i])) })
				}
			}
		})
	}
}

// resultOf returns what becomes of one of the objects that kubectl has applied, in the words of the table.
func (n *namespace) resultOf(r result, manifest string, fresh any) string {
	n.Helper()
	o := decoded(n, manifest)
	if !strings.Contains(r.Stdout, "/"+o.GetName()+" ") {
		_, text, _ := strings.Cut(r.Stderr, `"`+o.GetName()+`" is invalid: `)
		text, _, _ = strings.Cut(text, "\nError from server")
		return refused + text
	}
	live, err := n.liveOf(o)
	expect.NoError(n, err)
	if paths := differences("", fresh, live.Object["spec"]); len(paths) > 0 {
		return keeps + strings.Join(paths, " ")
	}
	return ""
}

func wantResult(t *testing.T, says, got string) {
	t.Helper()
	text, isRefused := strings.CutPrefix(strings.Replace(says, fixed, refused, 1), refused)
	if isRefused && !cluster.Plane.Since(34) { // errors contain values in the syntax of Go, later ones in JSON
		value := regexp.MustCompile(`Invalid value: \S.*?: `)
		text, got = value.ReplaceAllString(text, ""), value.ReplaceAllString(got, "")
	}
	if isRefused && strings.HasPrefix(got, refused) && strings.Contains(got, text) {
		return // the error has more text
	}
	expect.Equal(t, "the result", says, got)
}

// TestRow7ADefaultThatTheManifestContradictsIsCleared verifies for all unions marked as fixed that an apply stores the same spec
// as in a new object.
func TestRow7ADefaultThatTheManifestContradictsIsCleared(t *testing.T) {
	t.Parallel()
	table := unions(t)
	for _, u := range table.Unions {
		after := table.manifest(u, "web", u.After)
		for side, s := range u.sides() {
			if !s.clears {
				continue
			}
			cleared := applies(after).says("cleared ").check(func(s stage, _ result) {
				if diff := gocmp.Diff(s.fresh(after, "fresh"), s.object().Object["spec"]); diff != "" {
					s.Errorf("the spec (-fresh +cleared):\n%s", diff)
				}
				for _, e := range s.object().GetManagedFields() {
					if fields := string(e.FieldsV1.GetRawBytes()); strings.Contains(fields, "f:rollingUpdate") || strings.Contains(fields, "f:emptyDir") {
						s.Errorf("%s still manages the cleared field: %s", e.Manager, fields)
					}
				}
			})
			playBy(t, map[string]applier{side: {args: s.args}}, map[string]scenario{u.Name: {kind: strings.ToLower(u.Kind), steps: []step{
				applies(table.manifest(u, "web", u.Before)), did((*namespace).settled), cleared.twice(),
			}}})
		}
	}
}

// fresh returns the spec of a new object with a name, which can be part of it, as in the labels of Jobs.
func (n *namespace) fresh(manifest, name string) any {
	n.Helper()
	o := decoded(n, manifest)
	o.SetNamespace(n.name)
	o.SetName(name)
	expect.NoError(n, cluster.client.Create(n.Context(), o, client.DryRunAll))
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
