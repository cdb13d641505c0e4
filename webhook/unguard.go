package webhook

import (
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

// unguard replaces the incoming object by the one that the guard (manifests/guard) received, and returns the JSON patch that
// does the same; nil if the guard has not changed this write. The guard runs before webhooks and sees no autoscalers: it can keep
// what the webhook would not, such as the replicas of an autoscaler that was deleted.
func (r *review) unguard() ([]jsonpatch.Operation, error) {
	replicas, ok := r.guarded()
	if !ok {
		return nil, nil
	}
	undo := []jsonpatch.Operation{
		{Operation: "replace", Path: "/spec/replicas", Value: json.RawMessage(replicas)},
		{Operation: "remove", Path: "/metadata/annotations/" + rawjson.EscapePointer(ownership.GuardedAnnotation)},
	}
	text := r.incoming.Text()
	text = splice(text, rawjson.Find(text, "spec", "replicas"), []byte(replicas))
	text = rawjson.Cut(text, "metadata", "annotations", ownership.GuardedAnnotation)
	entries, err := r.incoming.Entries()
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	for i, entry := range slices.Backward(entries) {
		if entry.Subresource != "scale" || !entry.Contains(fieldpath.MakePathOrDie("spec", "replicas")) {
			continue
		}
		undo = append(undo, jsonpatch.Operation{Operation: "remove", Path: "/metadata/managedFields/" + strconv.Itoa(i)})
		at := rawjson.Find(text, "metadata", "managedFields")
		text = splice(text, at, rawjson.CutElement(at.Of(text), i))
	}
	if r.incoming, err = ownership.ParseObject(text); err != nil {
		return nil, fmt.Errorf("object without the guard's changes: %w", err)
	}
	return undo, nil
}

// guarded returns the replicas that the write set before the guard replaced them; ok is false if the guard did not act on this
// write. The resource version distinguishes an annotation of this write from one that was stored while no webhook answered.
func (r *review) guarded() (replicas string, ok bool) {
	text, ok := r.incoming.Guarded()
	if !ok {
		return "", false
	}
	version, _ := rawjson.Unquote(r.live.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion")))
	replicas, ok = strings.CutSuffix(text, ",resourceVersion="+version)
	if !ok || version == "" {
		return "", false
	}
	replicas, ok = strings.CutPrefix(replicas, "replicas=")
	if _, err := strconv.ParseUint(replicas, 10, 31); err != nil || !ok {
		return "", false
	}
	// Both have the field where the guard has acted. Replacing a missing one would make the patch fail.
	path := fieldpath.MakePathOrDie("spec", "replicas")
	was, is := r.live.Value(path), r.incoming.Value(path)
	return replicas, len(is) > 0 && string(was) == string(is)
}

func splice(text []byte, at rawjson.Span, value []byte) []byte {
	return slices.Concat(text[:at.Start], value, text[at.End:])
}
