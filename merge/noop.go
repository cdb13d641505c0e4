package merge

import (
	"encoding/json"
	"reflect"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	evanphx "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// changesNothingElse says whether the write, with these entries and this last-applied, is the live object but for the
// times and the order of the entries.
func (w Write) changesNothingElse(
	entries []ownership.Entry, lastApplied string, paths []fieldpath.Path, operations []jsonpatch.Operation,
) bool {
	was, _ := w.Live.LastApplied()
	if lastApplied != was || !sameClaims(entries, w.LiveEntries) {
		return false
	}
	return w.Incoming.EqualBut(w.Live, paths...) || w.becomesLive(operations)
}

// becomesLive is the slow answer, for fields that the write has deleted: their text has no place to be left aside at.
func (w Write) becomesLive(operations []jsonpatch.Operation) bool {
	if !slices.ContainsFunc(operations, func(o jsonpatch.Operation) bool { return o.Operation == "add" }) {
		return false
	}
	patch, err := EncodePatch(operations)
	if err != nil {
		return false
	}
	decoded, err := evanphx.DecodePatch(patch)
	if err != nil {
		return false
	}
	patched, err := decoded.Apply(w.Incoming.Text())
	if err != nil {
		return false
	}
	object, err := ownership.ParseObject(patched)
	return err == nil && sameBut(object, w.Live)
}

// sameBut compares two objects as values, without their managedFields.
func sameBut(a, b ownership.Object) bool {
	var values [2]map[string]any
	for i, o := range []ownership.Object{a, b} {
		if err := json.Unmarshal(o.Text(), &values[i]); err != nil {
			return false
		}
		if metadata, ok := values[i]["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
