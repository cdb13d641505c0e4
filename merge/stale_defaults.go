package merge

import (
	"bytes"
	"encoding/json"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// staleDefault is a member of a union that the API server set by defaulting, and rejects after a manifest has chosen another
// member: "result after merge - ERROR!" in
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#default-field-values.
type staleDefault struct {
	group, kinds string // kinds are separated by spaces
	union        string // path of the union under spec; [name] stands for every element of a list with that key
	// choice is the field by which the manifest chooses: another member of the union, or a discriminator. value is the value
	// that makes the choice, as JSON; empty if any does.
	choice, value string
	member        string          // the defaulted member that the choice contradicts
	defaults      [2]defaultValue // the values that API servers of all versions set in the member
}

// defaultValue is the value of a member as JSON.
type defaultValue struct{ name, value string }

// another is the choice of any member of the union except the defaulted one.
const another = "*"

// staleDefaults is the table of row 7. TestTheUnionsThatTheAPIServerRefuses in test/e2e verifies that it has all unions of
// built-in types that a real API server rejects for no other reason. handoff leaves alone what the API server accepts.
func staleDefaults() [5]staleDefault { // an array of strings: it is read for each write, and must not be allocated for each
	return [...]staleDefault{
		{
			group: "apps", kinds: "StatefulSet", union: "updateStrategy", choice: "type", value: `"OnDelete"`,
			member: "rollingUpdate", defaults: [...]defaultValue{{"partition", "0"}, {"maxUnavailable", "1"}},
		},
		{
			group: "apps", kinds: "Deployment", union: "strategy", choice: "type", value: `"Recreate"`,
			member: "rollingUpdate", defaults: [...]defaultValue{{"maxSurge", `"25%"`}, {"maxUnavailable", `"25%"`}},
		},
		{
			group: "apps", kinds: "DaemonSet Deployment ReplicaSet StatefulSet", union: "template.spec.volumes[name]", choice: another,
			member: "emptyDir",
		},
		{group: "", kinds: "ReplicationController", union: "template.spec.volumes[name]", choice: another, member: "emptyDir"},
		{group: "batch", kinds: "CronJob", union: "jobTemplate.spec.template.spec.volumes[name]", choice: another, member: "emptyDir"},
	}
}

func (s *staleDefault) isOf(group, kind string) bool {
	return s.group == group && hasWord(s.kinds, kind)
}

// isDefault reports whether the API server sets a member to a value by defaulting.
func (s *staleDefault) isDefault(name string, value []byte) bool {
	for _, d := range s.defaults {
		if d.name == name {
			return d.value == string(value)
		}
	}
	return false
}

// hasWord reports whether a list separated by spaces has a word, which is not empty.
func hasWord(list, word string) bool {
	for len(list) >= len(word) && word != "" {
		first, rest, _ := strings.Cut(list, " ")
		if first == word {
			return true
		}
		list = rest
	}
	return false
}

// Contradiction is a defaulted member of a union in an incoming object, together with a choice that excludes it.
type Contradiction struct {
	// Member is the path of the defaulted member, as .spec.updateStrategy.rollingUpdate. Choice is the path of the field that
	// excludes it, as .spec.updateStrategy.type.
	Member, Choice fieldpath.Path
	// By names the choice: "OnDelete", "configMap".
	By string
}

// Contradictions returns the stale defaults in the incoming object of a write. A member counts only if it has exactly the
// value that defaulting sets: any other value was set by a client, whatever managedFields say. The group is as in an
// apiVersion, empty for core kinds.
//
// The caller has to check that the manifest made the choice and that no manager declared the default
// (ownership.Manifests).
func Contradictions(w ownership.Write, group, kind string) []Contradiction {
	var found []Contradiction
	table := staleDefaults()
	for i := range table {
		s := &table[i]
		if !s.isOf(group, kind) || !s.isChangedIn(w) {
			continue
		}
		for _, union := range s.unions(w.Incoming) {
			if c, ok := s.contradiction(union, w.Incoming.At().Find(union)); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// isChangedIn reports whether the write changes the union, or the list with the unions, and whether it can have the member and
// the choice. The API server has accepted an unchanged union before.
func (s *staleDefault) isChangedIn(w ownership.Write) bool {
	path, _, _ := strings.Cut("spec."+s.union, "[")
	names := strings.Split(path, ".")
	value := w.Incoming.At(names...).Text()
	return len(value) > 0 && !bytes.Equal(value, w.Live.At(names...).Text()) &&
		bytes.Contains(value, []byte(s.value)) && bytes.Contains(value, []byte(s.member))
}

// unions returns the paths of the unions in the incoming object.
func (s *staleDefault) unions(incoming ownership.Object) []fieldpath.Path {
	names, key, isList := strings.Cut(strings.TrimSuffix(s.union, "]"), "[")
	path := fieldpath.MakePathOrDie("spec")
	for name := range strings.SplitSeq(names, ".") {
		path = append(path, fieldpath.FieldNameElement(name))
	}
	if !isList {
		return []fieldpath.Path{path}
	}
	var paths []fieldpath.Path
	for element := range incoming.At().Find(path).Parts() {
		if name, ok := element.Member(key).String(); ok {
			at := fieldpath.PathElement{Key: fieldpath.KeyByFields(key, name)}
			paths = append(paths, append(path.Copy(), at))
		}
	}
	return paths
}

// contradiction returns the contradiction in one union; ok is false if there is none.
func (s *staleDefault) contradiction(union fieldpath.Path, value *jsontree.Node) (c Contradiction, ok bool) {
	if value.Member(s.member) == nil {
		return c, false // the usual case, before any decoding
	}
	var members map[string]json.RawMessage
	var content map[string]json.RawMessage
	if json.Unmarshal(value.Text(), &members) != nil || json.Unmarshal(members[s.member], &content) != nil {
		return c, false
	}
	for name, value := range content {
		if !s.isDefault(name, value) {
			return c, false
		}
	}
	choice := s.choice
	if choice == another {
		choice = s.other(union, members)
	}
	chosenValue, chosen := members[choice]
	if !chosen || s.value != "" && s.value != string(chosenValue) {
		return c, false
	}
	c.By = choice
	if s.value != "" {
		c.By = strings.Trim(s.value, `"`)
	}
	c.Member = append(union.Copy(), fieldpath.FieldNameElement(s.member))
	c.Choice = append(union.Copy(), fieldpath.FieldNameElement(choice))
	return c, true
}

// other returns the one member of a union that is neither the defaulted one nor the key of its list element. It is empty if
// there are several, which the API server rejects.
func (s *staleDefault) other(union fieldpath.Path, members map[string]json.RawMessage) string {
	var others []string
	for name := range members {
		if key := union[len(union)-1].Key; name != s.member && (key == nil || (*key)[0].Name != name) {
			others = append(others, name)
		}
	}
	if len(others) != 1 {
		return ""
	}
	return others[0]
}

// stale returns the defaults to clear because the manifest contradicts them (row 7). A member that a manifest or a manager
// has declared is not cleared: the API server rejects the write.
func stale(w ownership.Write, context ownership.ObjectContext) []Change {
	if w.Sender.Writer != ownership.Applier {
		return nil // the manifests of other writers are not read
	}
	var found []Change
	for _, c := range Contradictions(w, w.Kind.Group, w.Kind.Kind) {
		if w.Manifests.On(c.Choice).Manifest != ownership.Sets {
			continue
		}
		field := ownership.ContestedField{
			Path: c.Member, Declared: w.Manifests.On(c.Member),
			Live: w.Live.Value(c.Member), Incoming: w.Incoming.Value(c.Member),
		}
		if !w.Manifests.Defaulted(c.Member, w.LiveEntries) {
			of := ownership.Context{Managers: w.Managers, Controlled: context.Controls(c.Member)}
			field.Owner = of.Resolve(c.Member, w.LiveEntries, field.Declared.Base)
		}
		facts := factsOf(field, w.Sender.Writer)
		facts.Contradicted = true
		change := changeOf(field, facts)
		change.From, change.Owner, change.Incoming = nil, ownership.FieldOwner{Kind: field.Owner.Kind}, nil
		if change.Choice = c.By; change.Decision.Verdict == Clear {
			found = append(found, change)
		}
	}
	return found
}
