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
}

func unions(t *testing.T) (table unionTable) {
	t.Helper()
	expect.NoError(t, yaml.UnmarshalStrict([]byte(testdata("unions")), &table))
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
	for side, args := range map[string][]string{"client-side": nil, "server-side": {"--server-side"}} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "")
			var before, after strings.Builder
			fresh := make([]any, len(table.Unions))
			name := func(i int) string { return fmt.Sprintf("union-%d", i) }
			for i, u := range table.Unions {
				manifest := table.manifest(u, name(i), u.After)
				fresh[i] = n.fresh(manifest, name(i))
				before.WriteString("---\n" + table.manifest(u, name(i), u.Before))
				after.WriteString("---\n" + manifest)
			}
			n.apply(before.String(), args...)
			results := []result{n.run(after.String(), append([]string{"apply", "-f", "-"}, args...)...)}
			if args != nil { // forced as well
				results = append(results, n.run(after.String(), append([]string{"apply", "-f", "-"}, serverSide()...)...))
			}
			for i, u := range table.Unions {
				t.Run(u.Name, func(t *testing.T) {
					says := u.sides()[side].says
					for _, r := range results {
						if problem := refusal(r, name(i)); problem != "" || strings.HasPrefix(says, refused) || strings.HasPrefix(says, fixed) {
							wantRefused(t, problem, says)
							continue
						}
						o, err := n.liveOf(decoded(n, table.manifest(u, name(i), u.After)))
						expect.NoError(t, err)
						paths := strings.Join(differences("", fresh[i], o.Object["spec"]), " ")
						expect.Equal(t, "the fields that differ from a new object", strings.TrimPrefix(says, keeps), paths)
					}
				})
			}
		})
	}
}

// refusal returns the error of an object in the output of kubectl, or "".
func refusal(r result, name string) string {
	for line := range strings.Lines(r.Stderr) {
		if r.Err != nil && strings.Contains(line, `"`+name+`" is invalid: `) {
			return line
		}
	}
	return ""
}

func wantRefused(t *testing.T, got, says string) {
	t.Helper()
	text := strings.TrimPrefix(strings.TrimPrefix(says, fixed), refused)
	stated := text != says
	if !cluster.Plane.Since(34) { // errors contain values in the syntax of Go, later ones in JSON
		value := regexp.MustCompile(`Invalid value: \S.*?: `)
		text, got = value.ReplaceAllString(text, ""), value.ReplaceAllString(got, "")
	}
	if !stated || got == "" || !strings.Contains(got, text) {
		t.Errorf("got error %q, want %q", got, says)
	}
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
