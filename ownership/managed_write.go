package ownership

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// WithSet returns the entry with another field set, encoded as the API server encodes it. The error is ErrManagedFields for
// an entry without fieldsV1, or about a set that cannot be encoded.
func (e Entry) WithSet(set *fieldpath.Set) (Entry, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return e, fmt.Errorf("encoding the field set of %s: %w", e.Manager, err)
	}
	if e.Fields == nil {
		return e, fmt.Errorf("%w: the entry of %s has no fieldsV1", ErrManagedFields, e.Manager)
	}
	entry := jsontree.Valid(e.Fields.Replaced(e.Fields.Parent(), fields))
	e.Text, e.Fields = entry.Text(), entry.Member("fieldsV1")
	return e, nil
}

// NewEntry returns an Update entry of a manager with a field set. It has the API version and the time of the entry like, and
// is encoded as the API server encodes it. The error is about a set that cannot be encoded.
func NewEntry(manager string, like Entry, set *fieldpath.Set) (Entry, error) {
	var fields metav1.FieldsV1
	raw, err := set.ToJSON()
	if err != nil {
		return Entry{}, fmt.Errorf("encoding the field set of %s: %w", manager, err)
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
	return readEntry(jsontree.Valid(text))
}
