package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// guardCondition is the type of the condition that the guard (manifests/guard) adds to the status of an object whose replicas it
// keeps. Its message has the replicas that the write set, and the resource version of the live object. The API server resets the
// status after admission, so that the condition is never stored (PrepareForUpdate of the strategies in
// kubernetes/pkg/registry/apps and core/replicationcontroller).
const guardCondition = "ownership-handoff.io/guarded"

// unguard replaces the incoming object by the one that the guard received, and returns the JSON patch that does the same; nil if
// the guard has not changed this write. The guard runs before webhooks and sees no autoscalers: it can keep what the webhook
// would not, such as the replicas of an autoscaler that was deleted.
func (r *review) unguard() ([]jsonpatch.Operation, error) {
	condition, replicas, ok := r.guarded()
	if !ok {
		return nil, nil
	}
	undo := []jsonpatch.Operation{
		{Operation: "replace", Path: "/spec/replicas", Value: json.RawMessage(replicas)},
		{Operation: "remove", Path: "/status/conditions/" + strconv.Itoa(condition)},
	}
	text := r.incoming.Text()
	text = splice(text, rawjson.Find(text, "spec", "replicas"), []byte(replicas))
	text = cutElement(text, condition, "status", "conditions")
	entries, err := r.incoming.Entries()
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	for i, entry := range slices.Backward(entries) {
		if entry.Subresource != "scale" || !entry.Contains(fieldpath.MakePathOrDie("spec", "replicas")) {
			continue
		}
		undo = append(undo, jsonpatch.Operation{Operation: "remove", Path: "/metadata/managedFields/" + strconv.Itoa(i)})
		text = cutElement(text, i, "metadata", "managedFields")
	}
	if r.incoming, err = ownership.ParseObject(text); err != nil {
		return nil, fmt.Errorf("object without the guard's changes: %w", err)
	}
	return undo, nil
}

// guarded returns the index of the guard's condition and the replicas that the write set before the guard replaced them; ok is
// false if the guard did not act on this write. The resource version distinguishes the condition from one that somebody wrote
// through /status.
func (r *review) guarded() (condition int, replicas string, ok bool) {
	condition, message := guardConditionIn(r.incoming.Text())
	if condition < 0 {
		return 0, "", false
	}
	version, _ := rawjson.Unquote(r.live.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion")))
	replicas, ok = strings.CutSuffix(message, ",resourceVersion="+version)
	if !ok || version == "" {
		return 0, "", false
	}
	replicas, ok = strings.CutPrefix(replicas, "replicas=")
	if _, err := strconv.ParseUint(replicas, 10, 31); err != nil || !ok {
		return 0, "", false
	}
	// Both have the field where the guard has acted. Replacing a missing one would make the patch fail.
	path := fieldpath.MakePathOrDie("spec", "replicas")
	was, is := r.live.Value(path), r.incoming.Value(path)
	return condition, replicas, len(is) > 0 && bytes.Equal(was, is)
}

// guardConditionIn returns the index and the message of the guard's condition, -1 if an object has none. The guard appends it: of
// several, the last one counts.
func guardConditionIn(text []byte) (index int, message string) {
	index = -1
	if !bytes.Contains(text, []byte(guardCondition)) {
		return index, ""
	}
	at, i := rawjson.Find(text, "status", "conditions"), 0
	rawjson.Elements(at.Of(text), func(value rawjson.Span) bool {
		var c struct{ Type, Message string }
		if err := json.Unmarshal(value.Of(at.Of(text)), &c); err == nil && c.Type == guardCondition {
			index, message = i, c.Message
		}
		i++
		return true
	})
	return index, message
}

// cutElement returns text without an element of the array at the given names.
func cutElement(text []byte, index int, names ...string) []byte {
	at := rawjson.Find(text, names...)
	return splice(text, at, rawjson.CutElement(at.Of(text), index))
}

func splice(text []byte, at rawjson.Span, value []byte) []byte {
	return slices.Concat(text[:at.Start], value, text[at.End:])
}
