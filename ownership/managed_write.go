package ownership

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// WithSet returns the entry with another set of fields, encoded as the API server encodes it. The error is ErrManagedFields
// for an entry that has no fieldsV1 to replace.
func (e Entry) WithSet(set *fieldpath.Set) (Entry, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return e, fmt.Errorf("encoding the set of %s: %w", e.Manager, err)
	}
	if len(e.Fields) == 0 {
		return e, fmt.Errorf("%w: the entry of %s has no fieldsV1", ErrManagedFields, e.Manager)
	}
	e.Text = slices.Concat(e.Text[:e.fieldsAt.Start], fields, e.Text[e.fieldsAt.End:])
	e.fieldsAt.End = e.fieldsAt.Start + len(fields)
	e.Fields = fields
	return e, nil
}

// NewEntry returns an entry of a manager's update with a set of fields, of the API version and the time of another entry. It
// is encoded as the API server encodes it, and fails on a set that cannot be.
func NewEntry(manager string, like Entry, set *fieldpath.Set) (Entry, error) {
	var fields metav1.FieldsV1
	raw, err := set.ToJSON()
	if err != nil {
		return Entry{}, fmt.Errorf("encoding the set of %s: %w", manager, err)
	}
	fields.SetRawBytes(raw)
	entry := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: OperationUpdate, APIVersion: like.APIVersion, FieldsType: "FieldsV1", FieldsV1: &fields,
	}
	if at, err := time.Parse(time.RFC3339, like.Time); err == nil {
		entry.Time = &metav1.Time{Time: at}
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return Entry{}, fmt.Errorf("encoding the entry of %s: %w", manager, err)
	}
	return readEntry(text)
}
