package apitypes

import (
	"bytes"
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// staleDefault is a member of a union that the API server set by defaulting, and rejects after a manifest has chosen another
// member: "result after merge - ERROR!" in
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#default-field-values.
type staleDefault struct {
	group string
	kinds []string
	union fieldpath.Path // of the union, or of the list of unions
	key   string         // of the list's elements; empty if union is a single one
	// value is that of the discriminator by which the manifest chooses another member. It is empty if it sets the other member instead.
	value    string
	member   string            // the defaulted member that the choice contradicts
	defaults map[string]string // the values that API servers of all versions set in the member, as JSON
}

// staleDefaults is the table of row 7 of docs/decisions.md. TestTheUnionsThatTheAPIServerRefuses in test/e2e verifies that it has all
// unions of built-in types that a real API server rejects for no other reason. handoff leaves alone what the API server accepts.
var staleDefaults = []staleDefault{
	{
		group: "apps", kinds: []string{"StatefulSet"}, union: fieldpath.MakePathOrDie("spec", "updateStrategy"), value: "OnDelete",
		member: "rollingUpdate", defaults: map[string]string{"partition": "0", "maxUnavailable": "1"},
	},
	{
		group: "apps", kinds: []string{"Deployment"}, union: fieldpath.MakePathOrDie("spec", "strategy"), value: "Recreate",
		member: "rollingUpdate", defaults: map[string]string{"maxSurge": `"25%"`, "maxUnavailable": `"25%"`},
	},
	{group: "apps", kinds: []string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}, union: volumesIn("spec"), key: "name", member: "emptyDir"},
	{kinds: []string{"ReplicationController"}, union: volumesIn("spec"), key: "name", member: "emptyDir"},
	{group: "batch", kinds: []string{"CronJob"}, union: volumesIn("spec", "jobTemplate", "spec"), key: "name", member: "emptyDir"},
}

// volumesIn returns the path of the volumes of the pod template at a path.
func volumesIn(path ...any) fieldpath.Path {
	return fieldpath.MakePathOrDie(append(path, "template", "spec", "volumes")...)
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
// The caller has to check that the manifest made the choice and that no manager declared the default.
func Contradictions(kind schema.GroupKind, live, incoming *jsontree.Node) (found []Contradiction) {
	for _, s := range staleDefaults {
		if s.group != kind.Group || !slices.Contains(s.kinds, kind.Kind) {
			continue
		}
		union := incoming.Find(s.union)
		switch {
		case bytes.Equal(union.Text(), live.Find(s.union).Text()): // the API server has accepted it before
		case s.key == "":
			found = s.appendTo(found, union)
		default:
			for element := range union.Parts() {
				found = s.appendTo(found, element)
			}
		}
	}
	return found
}

// appendTo appends the contradiction in one union, if there is one: the choice is the one other member, besides the key. The API
// server rejects several.
func (s staleDefault) appendTo(found []Contradiction, union *jsontree.Node) []Contradiction {
	member, others := union.Member(s.member), []string{}
	for part := range member.Parts() {
		if value, ok := s.defaults[part.Name()]; !ok || value != string(part.Text()) {
			return found
		}
	}
	for part := range union.Parts() {
		if name := part.Name(); name != s.member && name != s.key {
			others = append(others, name)
		}
	}
	if !member.IsObject() || len(others) != 1 {
		return found
	}
	choice := others[0]
	if value, _ := union.Member(choice).String(); s.value != "" && value != s.value {
		return found
	}
	path := s.union
	if s.key != "" {
		element, ok := union.KeyOf([]string{s.key})
		if !ok {
			return found
		}
		path = append(path.Copy(), element)
	}
	return append(found, Contradiction{
		Member: append(path.Copy(), fieldpath.FieldNameElement(s.member)), Choice: append(path.Copy(), fieldpath.FieldNameElement(choice)),
		By: cmp.Or(s.value, choice),
	})
}
