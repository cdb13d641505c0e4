package ownership

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// AppliedAnnotation records the values that manifests have set last in the fields of rules that depend on them (EditApply, AnyWriter): a
// JSON object of paths, each an object of field managers with a hash. A keep removes such a field from the last-applied configuration and
// from the applier's managedFields entry, so nothing else records it.
const AppliedAnnotation = ownPrefix + "applied-values"

// AppliedPath returns the path of AppliedAnnotation.
func AppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", AppliedAnnotation)
}

// appliedValues are the contents of AppliedAnnotation for the sender of a write. Without the annotation, no value is known.
type appliedValues struct {
	manager string
	hashes  map[string]map[string]string // by path and manager
}

// appliedValues returns what live has recorded. An annotation that any manager has written does not count: kubectl rollout undo brings
// back an old one, and a manifest can contain an exported one.
func (w Write) appliedValues() (a appliedValues) {
	a.manager = w.Sender.Entry.Manager
	text, ok := w.Live.Annotation(AppliedAnnotation).Bytes()
	if !ok || len(text) > maxApplied || !w.Managers.rules.remember() || len(managedfields.For(w.LiveEntries, AppliedPath())) > 0 {
		return a
	}
	if json.Unmarshal(text, &a.hashes) != nil {
		a.hashes = nil
	}
	return a
}

// setEdited sets ContestedField.Editable and Edited. rules are those that assign the field, of which the one of its owner decides. A value
// that the base still has was applied without a keep, as while handoff did not act, or before the rule: its record can be old or missing.
func (a appliedValues) setEdited(c *ContestedField, rules []*Rule, base []byte) {
	if c.Owner.Kind != Controller || !slices.ContainsFunc(rules, c.Owner.isEditableBy) {
		return
	}
	last, known := a.hashes[c.Path.String()][a.manager]
	sets := c.Declared.Manifest == Sets && len(c.Incoming) > 0 // Helm 3 does not record that its manifest drops a field
	c.Editable = true
	c.Edited = sets && (known || len(base) > 0) && last != hashOf(c.Path, c.Incoming) && !apitypes.AsDeclared(c.Path, c.Incoming, base)
}

// status reports whether a field of live has a value that a manifest has set last, as isBase also shows, and whether it is known not to.
func (a appliedValues) status(path fieldpath.Path, live []byte, isBase bool) (isApplied, isUnapplied bool) {
	hashes := a.hashes[path.String()]
	isApplied = isBase || len(hashes) > 0 && slices.Contains(slices.Collect(maps.Values(hashes)), hashOf(path, live))
	return isApplied, len(hashes) > 0 && !isApplied
}

// hashOf returns a hash of the value of the field at path. A short one is enough: a client that finds another value with the same hash
// only misleads the decisions on an object that it can write.
func hashOf(path fieldpath.Path, value []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte(path.String()), []byte{0}, value))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// maxApplied is the maximum length of AppliedAnnotation in bytes. Beyond it, nothing is recorded, so that the controller's values are kept.
const maxApplied = 16 << 10

// NothingApplied is AppliedAnnotation of an object for which nothing is recorded.
const NothingApplied = "{}"
