package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// guardCondition is the type of the condition that the guard (manifests/guard) adds to the status of an object whose replicas it
// keeps. Its message has the replicas that the write set after guardMessage. The API server resets the status after admission, so that the
// condition is never stored (PrepareForUpdate of the strategies in kubernetes/pkg/registry/apps and core/replicationcontroller).
const guardCondition, guardMessage = "ownership-handoff.io/guarded", "replicas="

var replicasPath = fieldpath.MakePathOrDie("spec", "replicas")

// unguard replaces the incoming object by the one that the guard received, and returns the JSON patch that does the same; nil if
// the guard has not changed this write. The guard runs before webhooks and sees no autoscalers: it can keep what the webhook
// would not, such as the replicas of an autoscaler that was deleted.
func (r *review) unguard() (undo []merge.Operation, err error) {
	condition, replicas, ok := r.guarded()
	if !ok {
		return nil, nil
	}
	object := jsontree.Valid(r.write.Incoming.Text())
	never := func(fieldpath.Path) bool { return false }
	entries, err := r.write.Incoming.Entries()
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	// The guard appends one entry, or none.
	if last := len(entries) - 1; last >= 0 && entries[last].Subresource == "scale" && entries[last].Contains(replicasPath) {
		undo = append(undo, merge.Operation{Op: "remove", Path: "/metadata/managedFields/" + strconv.Itoa(last)})
		object.Cut(fieldpath.MakePathOrDie("metadata", "managedFields", last), never)
	}
	object.Cut(fieldpath.MakePathOrDie("status", "conditions", condition), never)
	text := object.Remaining()
	// If another webhook has changed replicas since, they are not the guard's.
	if bytes.Equal(r.write.Live.Value(replicasPath), r.write.Incoming.Value(replicasPath)) {
		undo = append(undo, merge.Operation{Op: "replace", Path: "/spec/replicas", Value: json.RawMessage(replicas)})
		root := jsontree.Valid(text)
		text = root.Find(replicasPath).Replaced(root, []byte(replicas))
	}
	undo = append(undo, merge.Operation{Op: "remove", Path: "/status/conditions/" + strconv.Itoa(condition)})
	if r.write.Incoming, err = ownership.ParseObject(text); err != nil {
		return nil, fmt.Errorf("object without the guard's changes: %w", err)
	}
	return undo, nil
}

// guarded returns the index of the guard's condition and the replicas that the write set before the guard replaced them; ok is
// false if the guard did not act on this write. A condition that live has was not written by the guard but through /status, and
// one where no guard is installed by the client.
func (r *review) guarded() (condition int, replicas string, ok bool) {
	condition, message := guardConditionIn(r.write.Incoming)
	stored, _ := guardConditionIn(r.write.Live)
	isCovered := scale.Builtin(r.write.Kind.Group, r.write.Kind.Kind) != nil // by the guard
	if r.guardMissing || condition < 0 || stored >= 0 || !isCovered {
		return 0, "", false
	}
	replicas, ok = strings.CutPrefix(message, guardMessage)
	number, err := ownership.Replicas([]byte(replicas))
	isCanonical := err == nil && strconv.FormatInt(number, 10) == replicas
	// Replacing a missing field would make the patch fail.
	return condition, replicas, ok && isCanonical && len(r.write.Incoming.Value(replicasPath)) > 0
}

// guardConditionIn returns the index and the message of the guard's condition, -1 if an object has none. The guard appends it: of
// several, the last one counts.
func guardConditionIn(o ownership.Object) (index int, message string) {
	index = -1
	for condition := range o.At("status", "conditions").Parts() {
		if name, _ := condition.Member("type").String(); name == guardCondition {
			index = condition.Index()
			message, _ = condition.Member("message").String()
		}
	}
	return index, message
}
