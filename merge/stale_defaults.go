package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// staleDefault is a member of a union that the API server set by defaulting, and rejects after a manifest has chosen another
// member: "result after merge - ERROR!" in
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#default-field-values.
type staleDefault struct {
	group string
	kinds []string
	union []string // path of the union, or of the list of unions
	key   string   // of the list's elements; empty if union is a single one
	// choice is the field by which the manifest chooses: a discriminator, or empty for any other member of the union. value is the
	// value of the discriminator that makes the choice.
	choice, value string
	member        string            // the defaulted member that the choice contradicts
	defaults      map[string]string // the values that API servers of all versions set in the member, as JSON
}

// staleDefaults is the table of row 7. TestTheUnionsThatTheAPIServerRefuses in test/e2e verifies that it has all unions of
// built-in types that a real API server rejects for no other reason. handoff leaves alone what the API server accepts.
var staleDefaults = []staleDefault{
	{
		group: "apps", kinds: []string{"StatefulSet"}, union: []string{"spec", "updateStrategy"}, choice: "type", value: "OnDelete",
		member: "rollingUpdate", defaults: map[string]string{"partition": "0", "maxUnavailable": "1"},
	},
	{
		group: "apps", kinds: []string{"Deployment"}, union: []string{"spec", "strategy"}, choice: "type", value: "Recreate",
		member: "rollingUpdate", defaults: map[string]string{"maxSurge": `"25%"`, "maxUnavailable": `"25%"`},
	},
	{
		group: "apps", kinds: []string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		union: []string{"spec", "template", "spec", "volumes"}, key: "name", member: "emptyDir",
	},
	{kinds: []string{"ReplicationController"}, union: []string{"spec", "template", "spec", "volumes"}, key: "name", member: "emptyDir"},
	{
		group: "batch", kinds: []string{"CronJob"},
		union: []string{"spec", "jobTemplate", "spec", "template", "spec", "volumes"}, key: "name", member: "emptyDir",
	},
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
// value that defaulting sets: any other value was set by a client, whatever managedFields say.
//
// The caller has to check that the manifest made the choice and that no manager declared the default
// (ownership.Manifests).
func Contradictions(w ownership.Write) (found []Contradiction) {
	for _, s := range staleDefaults {
		if s.group != w.Kind.Group || !slices.Contains(s.kinds, w.Kind.Kind) {
			continue
		}
		union := w.Incoming.At(s.union...)
		if bytes.Equal(union.Text(), w.Live.At(s.union...).Text()) {
			continue // the API server has accepted it before
		}
		var path fieldpath.Path
		for _, name := range s.union {
			path = append(path, fieldpath.FieldNameElement(name))
		}
		if s.key == "" {
			found = s.appendTo(found, path, union)
			continue
		}
		for element := range union.Parts() {
			if name, ok := element.Member(s.key).String(); ok {
				at := fieldpath.PathElement{Key: fieldpath.KeyByFields(s.key, name)}
				found = s.appendTo(found, append(path.Copy(), at), element)
			}
		}
	}
	return found
}

// appendTo appends the contradiction in one union, if there is one.
func (s staleDefault) appendTo(found []Contradiction, path fieldpath.Path, union *jsontree.Node) []Contradiction {
	member := union.Member(s.member)
	if !member.IsObject() {
		return found
	}
	for part := range member.Parts() {
		if value, ok := s.defaults[part.Name()]; !ok || value != string(part.Text()) {
			return found
		}
	}
	choice, by := s.choice, s.value
	if choice == "" {
		choice = s.other(union)
		by = choice
	}
	chosen := union.Member(choice)
	if value, _ := chosen.String(); chosen == nil || s.choice != "" && value != s.value {
		return found
	}
	return append(found, Contradiction{
		Member: append(path.Copy(), fieldpath.FieldNameElement(s.member)), Choice: append(path.Copy(), fieldpath.FieldNameElement(choice)), By: by,
	})
}

// other returns the one member of a union that is neither the defaulted one nor the key of its list element. It is empty if
// there are several, which the API server rejects.
func (s staleDefault) other(union *jsontree.Node) (name string) {
	for part := range union.Parts() {
		switch other := part.Name(); {
		case other == s.member || other == s.key:
		case name != "":
			return ""
		default:
			name = other
		}
	}
	return name
}

// stale returns the defaults to clear because an applier's manifest contradicts them (row 7). A member that a manifest or a manager
// has declared is not cleared: the API server rejects the write. Nor is one that the write itself has changed.
func stale(w ownership.Write) (found []Change) {
	for _, c := range Contradictions(w) {
		if w.Manifests.On(c.Choice).Manifest != ownership.Sets || !w.Manifests.Defaulted(c.Member, w.LiveEntries) {
			continue
		}
		change := Change{Field: ownership.ContestedField{Path: c.Member}, Writer: w.Sender.Writer, Choice: c.By}
		change.Contradicted = bytes.Equal(w.Live.Value(c.Member), w.Incoming.Value(c.Member))
		if change = change.decided(); change.Decision.Verdict == Clear {
			found = append(found, change)
		}
	}
	return found
}
