// Package managedfields reads and writes metadata.managedFields, in which the API server records who manages which field
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). The entries stay JSON text, of which only what is
// asked for is decoded.
package managedfields

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// The operations of a managedFields entry (metav1.ManagedFieldsOperationType), and the manager of kubectl's client-side apply.
const (
	OperationApply  = "Apply"
	OperationUpdate = "Update"
	ClientSideApply = "kubectl-client-side-apply"
)

// ErrUnreadable is returned for managedFields that cannot be read.
var ErrUnreadable = errors.New("metadata.managedFields cannot be read")

var errNotAnObject = errors.New("not a JSON object")

// Entry is an entry of metadata.managedFields (metav1.ManagedFieldsEntry). Its field set stays JSON text; Set decodes it.
type Entry struct {
	// Manager is the field manager, Operation is OperationApply or OperationUpdate. Subresource is empty for writes to the
	// object itself.
	Manager, Operation, APIVersion, Subresource string
	// Time is in RFC 3339 format, or empty, as for an entry of the scale subresource.
	Time string
	// Text is the whole entry as JSON.
	Text []byte
	// Fields is its fieldsV1, a part of Text; nil if it has none.
	Fields *jsontree.Node
	// Object is the object that the entry belongs to, nil if it is unknown.
	Object *jsontree.Node
}

// Of returns the entries of an object. The error is ErrUnreadable.
func Of(object *jsontree.Node) ([]Entry, error) {
	list := object.At("metadata", "managedFields")
	switch {
	case list == nil:
		return nil, nil
	case list.Kind() != '[':
		return nil, fmt.Errorf("%w: not a list", ErrUnreadable)
	}
	entries := make([]Entry, 0, list.Len())
	for element := range list.Parts() {
		entry, err := read(element)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrUnreadable, len(entries)+1, err)
		}
		entry.Object = object
		entries = append(entries, entry)
	}
	return entries, nil
}

// maxJoined is the maximum number of entries that are joined with others, so that the time stays linear. The API server stores one.
const maxJoined = 4

// Joined returns the entries with those of the same identity as one, in the place of the last. The API server splits the entry of the
// manager that has set the scale field in two if a write to /scale changes nothing (scalehandler.go in
// k8s.io/apimachinery/pkg/util/managedfields).
func Joined(entries []Entry) []Entry {
	all, places, left := slices.Clone(entries), make(map[ID]int, len(entries)), maxJoined
	for i, e := range all {
		if before, twice := places[e.ID()]; twice && left > 0 {
			if both, err := e.and(all[before]); err == nil {
				left--
				all[before], all[i] = Entry{}, both
			}
		}
		places[e.ID()] = i
	}
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Text == nil })
}

// and returns the entry with the fields of another one as well.
func (e Entry) and(other Entry) (Entry, error) {
	set, err := e.Set()
	if err != nil {
		return e, err
	}
	more, err := other.Set()
	if err != nil {
		return e, err
	}
	return e.WithSet(set.Union(more))
}

// ID is the identity of an entry, by which the API server finds it (BuildManagerIdentifier in k8s.io/apimachinery). An Apply
// entry stays the same across API versions.
type ID struct{ manager, operation, subresource, apiVersion string }

// ID returns the identity of the entry.
func (e Entry) ID() ID {
	id := ID{manager: e.Manager, operation: e.Operation, subresource: e.Subresource}
	if e.Operation != OperationApply {
		id.apiVersion = e.APIVersion
	}
	return id
}

// ByID returns the entries by their identity, as pointers into the list. The first of several with the same one wins.
func ByID(entries []Entry) map[ID]*Entry {
	index := make(map[ID]*Entry, len(entries))
	for i, e := range slices.Backward(entries) {
		index[e.ID()] = &entries[i]
	}
	return index
}

// Same reports whether two entries record writes of the same manager, by the identity that the API server uses.
func (e Entry) Same(other Entry) bool { return e.ID() == other.ID() }

// Find returns the first of the entries that is the Same as e; ok is false if there is none.
func (e Entry) Find(entries []Entry) (same Entry, ok bool) {
	i := slices.IndexFunc(entries, e.Same)
	if i < 0 {
		return Entry{}, false
	}
	return entries[i], true
}

// Contains reports whether the entry's field set contains the field at path or a field nested under it.
func (e Entry) Contains(path fieldpath.Path) bool {
	at := e.Fields
	for _, element := range path {
		name, err := fieldpath.SerializePathElement(element)
		if at = at.Member(name); at == nil || err != nil {
			return false
		}
	}
	return len(path) > 0 && at != nil
}

// IsEmpty reports whether the entry's field set is empty.
func (e Entry) IsEmpty() bool { return e.Fields.Len() == 0 }

// IsAnonymous reports whether the entry stands for managers that are not recorded: those whose entries exceeded the API
// server's maximum number of entries, or those that wrote before the first server-side apply (capmanagers.go and
// skipnonapplied.go in k8s.io/apimachinery/pkg/util/managedfields/internal).
func (e Entry) IsAnonymous() bool {
	return e.Operation == OperationUpdate && (e.Manager == "ancient-changes" || e.Manager == "before-first-apply")
}

// IsUpdated reports whether the entry's own manager has written since live: its time is new, or it has gained fields. The API
// server sets the time, in whole seconds, when the manager gains a field; writes of other managers only remove fields.
func (e Entry) IsUpdated(live map[ID]*Entry) bool {
	was := live[e.ID()]
	if was == nil || e.Time != was.Time {
		return true
	}
	if bytes.Equal(e.Fields.Text(), was.Fields.Text()) {
		return false
	}
	now, errNow := e.Set()
	before, errBefore := was.Set()
	return errNow == nil && errBefore == nil && !now.Difference(before).Empty()
}

// Set returns the decoded field set of the entry, empty if it has none. The error is ErrUnreadable.
func (e Entry) Set() (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if e.Fields == nil {
		return set, nil
	}
	if set.FromJSON(bytes.NewReader(e.Fields.Text())) != nil { // its error would quote values from the set
		return nil, fmt.Errorf("%w: the field set of %s", ErrUnreadable, e.Manager)
	}
	return set, nil
}

// Compare compares two entries by the order in which the API server stores them (sortEncodedManagedFields in
// k8s.io/apimachinery). It returns a negative number if a comes first, a positive one if b does.
func Compare(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Time, b.Time),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Subresource, b.Subresource),
	)
}

// For returns the entries whose field set contains the field at path or a field nested under it.
func For(entries []Entry, path fieldpath.Path) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !e.Contains(path) })
}

func read(entry *jsontree.Node) (Entry, error) {
	e := Entry{Text: entry.Text()}
	if !entry.IsObject() {
		return e, errNotAnObject
	}
	for name, to := range map[string]*string{
		"manager": &e.Manager, "operation": &e.Operation, "apiVersion": &e.APIVersion, "subresource": &e.Subresource, "time": &e.Time,
	} {
		value := entry.Member(name)
		var ok bool
		if *to, ok = value.String(); !ok && value != nil && !value.IsNull() {
			return e, errors.New("not a string")
		}
	}
	if set := entry.Member("fieldsV1"); set.IsObject() {
		e.Fields = set
	} else if set != nil && !set.IsNull() {
		return e, fmt.Errorf("fieldsV1: %w", errNotAnObject)
	}
	return e, nil
}

// WithSet returns the entry with another field set, encoded as the API server encodes it. The error is ErrUnreadable for
// an entry without fieldsV1, or about a set that cannot be encoded.
func (e Entry) WithSet(set *fieldpath.Set) (Entry, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return e, fmt.Errorf("encoding the field set of %s: %w", e.Manager, err)
	}
	if e.Fields == nil {
		return e, fmt.Errorf("%w: the entry of %s has no fieldsV1", ErrUnreadable, e.Manager)
	}
	entry := jsontree.Valid(e.Fields.Replaced(e.Fields.Parent(), fields))
	e.Text, e.Fields = entry.Text(), entry.Member("fieldsV1")
	return e, nil
}

// New returns an Update entry of a manager with a field set. It has the API version and the time of the entry like, and
// is encoded as the API server encodes it. The error is about a set that cannot be encoded.
func New(manager string, like Entry, set *fieldpath.Set) (Entry, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return Entry{}, fmt.Errorf("encoding the field set of %s: %w", manager, err)
	}
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: OperationUpdate, APIVersion: like.APIVersion, FieldsType: "FieldsV1"}
	entry.FieldsV1 = metav1.NewFieldsV1(string(fields))
	if at, err := time.Parse(time.RFC3339, like.Time); err == nil {
		entry.Time = &metav1.Time{Time: at}
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return Entry{}, fmt.Errorf("encoding the entry of %s: %w", manager, err)
	}
	return read(jsontree.Valid(text))
}
