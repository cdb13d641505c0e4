package merge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// staleDefault is what the API server once set by defaulting and now refuses, because of what a manifest has chosen since:
// "result after merge - ERROR!" in
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#default-field-values.
type staleDefault struct {
	kinds []string // with their groups
	union string   // where in the object; [name] stands for every element of a list with that key
	// choice is the member of the union that the manifest sets: to a value or, where that is empty, to any. Every choice
	// but the member itself is another.
	choice, value string
	member        string            // what the choice contradicts
	defaults      map[string]string // what the API server, of any version, puts into it; as JSON
}

const another = "*"

// staleDefaults is the table of row 7. TestTheUnionsThatTheAPIServerRefuses in test/e2e holds that it has all that a real
// API server refuses for no other reason, among the unions of its types. What the API server takes, handoff leaves alone.
func staleDefaults() []staleDefault {
	templates := []string{
		"apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "/ReplicationController",
	}
	return []staleDefault{
		{
			kinds: []string{"apps/StatefulSet"}, union: "spec.updateStrategy", choice: "type", value: `"OnDelete"`,
			member: "rollingUpdate", defaults: map[string]string{"partition": "0", "maxUnavailable": "1"},
		},
		{
			kinds: []string{"apps/Deployment"}, union: "spec.strategy", choice: "type", value: `"Recreate"`,
			member: "rollingUpdate", defaults: map[string]string{"maxSurge": `"25%"`, "maxUnavailable": `"25%"`},
		},
		{kinds: templates, union: "spec.template.spec.volumes[name]", choice: another, member: "emptyDir"},
		{
			kinds: []string{"batch/CronJob"}, union: "spec.jobTemplate.spec.template.spec.volumes[name]", choice: another,
			member: "emptyDir",
		},
	}
}

// Contradiction is a default in an incoming object beside a choice that excludes it.
type Contradiction struct {
	// Member is the default, Choice what the manifest may have chosen: .spec.updateStrategy.rollingUpdate and
	// .spec.updateStrategy.type.
	Member, Choice fieldpath.Path
	// By is the choice in a word: "OnDelete", "configMap".
	By string
}

// Contradictions finds in the incoming object what the table of stale defaults has for its kind, wherever it has the value
// that defaulting gives. Any other value has been set by somebody, whatever the records say. The group is as in an
// apiVersion, empty for core kinds. Whether the manifest has made the choice, and nobody declared the default, is for the
// caller to ask: ownership.Manifests.
func Contradictions(w ownership.Write, group, kind string) []Contradiction {
	var found []Contradiction
	spec := w.Incoming.Value(fieldpath.MakePathOrDie("spec"))
	for _, s := range staleDefaults() {
		if !slices.Contains(s.kinds, group+"/"+kind) || !s.canStandIn(spec) {
			continue
		}
		for _, union := range s.unions(w.Live, w.Incoming) {
			if c, ok := s.contradiction(union, w.Incoming.Value(union)); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// canStandIn says whether a text has the words at all, which spares most objects the search for their place.
func (s staleDefault) canStandIn(spec []byte) bool {
	return bytes.Contains(spec, []byte(s.value)) && bytes.Contains(spec, []byte(s.member))
}

// unions returns where incoming has the union, none where it is as the API server has taken it before.
func (s staleDefault) unions(live, incoming ownership.Object) []fieldpath.Path {
	names, key, isList := strings.Cut(strings.TrimSuffix(s.union, "]"), "[")
	var path fieldpath.Path
	for name := range strings.SplitSeq(names, ".") {
		path = append(path, fieldpath.FieldNameElement(name))
	}
	value := incoming.Value(path)
	switch {
	case len(value) == 0 || bytes.Equal(value, live.Value(path)):
		return nil
	case !isList:
		return []fieldpath.Path{path}
	}
	var paths []fieldpath.Path
	rawjson.Elements(value, func(at rawjson.Span) bool {
		element := at.Of(value)
		if name, ok := rawjson.Unquote(rawjson.Find(element, key).Of(element)); ok {
			at := fieldpath.PathElement{Key: fieldpath.KeyByFields(key, name)}
			paths = append(paths, append(path.Copy(), at))
		}
		return true
	})
	return paths
}

// contradiction looks at the text of one union.
func (s staleDefault) contradiction(union fieldpath.Path, text []byte) (c Contradiction, ok bool) {
	if !rawjson.Find(text, s.member).Present() {
		return c, false // the usual end, before anything is decoded
	}
	var members map[string]json.RawMessage
	var content map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || json.Unmarshal(members[s.member], &content) != nil {
		return c, false
	}
	for name, value := range content {
		if s.defaults[name] != string(value) {
			return c, false
		}
	}
	choice := s.choice
	if choice == another {
		choice = s.other(union, members)
	}
	value, chosen := members[choice]
	if !chosen || s.value != "" && s.value != string(value) {
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

// other returns the one member of a union that is neither the default nor the key of its element; empty where there are
// several, which is for the API server to refuse.
func (s staleDefault) other(union fieldpath.Path, members map[string]json.RawMessage) string {
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

// stale returns the defaults to clear because the manifest contradicts them (row 7). Fields that somebody has declared are left
// to the API server, which refuses the write.
func stale(w ownership.Write, context ownership.ObjectContext) []Change {
	if w.Author.Writer != ownership.Applier {
		return nil // the manifests of other writers are not read
	}
	var found []Change
	for _, c := range Contradictions(w, w.Kind.Group, w.Kind.Kind) {
		if w.Manifests.On(c.Choice).Manifest != ownership.Sets {
			continue
		}
		field := ownership.Contested{
			Path: c.Member, Declared: w.Manifests.On(c.Member),
			Live: w.Live.Value(c.Member), Incoming: w.Incoming.Value(c.Member),
		}
		if !w.Manifests.Defaulted(c.Member, w.LiveEntries) {
			of := ownership.Context{Managers: w.Managers, Controlled: context.Controls(c.Member)}
			field.Owned = of.Resolve(c.Member, w.LiveEntries, field.Base)
		}
		change := changeOf(field, w.Author.Writer)
		change.Field.Contradicted = true
		change = change.decided()
		change.From, change.Owner, change.Incoming = nil, ownership.Owned{Owner: field.Owner}, nil
		if change.Choice = c.By; change.Verdict == Clear {
			found = append(found, change)
		}
	}
	return found
}
