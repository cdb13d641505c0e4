package ownership

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// The operations of a managedFields entry (metav1.ManagedFieldsOperationType).
const (
	OperationApply  = "Apply"
	OperationUpdate = "Update"
)

// ErrManagedFields is returned for managedFields that cannot be read.
var ErrManagedFields = errors.New("metadata.managedFields cannot be read")

// Entry is an entry of metadata.managedFields (metav1.ManagedFieldsEntry). Its field set stays JSON text; Set decodes it.
type Entry struct {
	// Manager is the field manager, Operation is OperationApply or OperationUpdate. Subresource is empty for writes to the
	// object itself.
	Manager, Operation, APIVersion, Subresource string
	// Time is in RFC 3339 format, or empty, as for an entry of the scale subresource.
	Time string
	// Text is the whole entry as JSON.
	Text []byte
	// Fields is its fieldsV1 as JSON, a part of Text.
	Fields []byte

	fieldsAt rawjson.Span  // position of Fields in Text
	of       *surroundings // the object that the entry belongs to, nil if unknown
	// hasLastApplied and hasRelease report whether an update's entry contains these annotations (readAnnotations).
	hasLastApplied, hasRelease bool
}

// ParseEntries reads metadata.managedFields from JSON text. For an empty text it returns no entries. The error is
// ErrManagedFields. The entries refer to the text, which must not change.
func ParseEntries(text []byte) ([]Entry, error) {
	if len(text) == 0 {
		return nil, nil
	}
	text = bytes.TrimSpace(text)
	if err := rawjson.Check(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManagedFields, err)
	}
	return readEntries(text)
}

// Entries returns the entries of metadata.managedFields. Entries whose text equals that of a known entry, usually one of the
// live object, are not read again. The error is ErrManagedFields.
func (o Object) Entries(known ...Entry) ([]Entry, error) {
	if !o.managedFields.Present() {
		return nil, nil
	}
	if len(o.entries) == 0 {
		entries, err := readEntries(o.ManagedFields())
		return o.withSurroundings(entries), err
	}
	entries := make([]Entry, len(o.entries))
	same := textsOf(known)
	strings := make([]byte, 0, 1024) // all in one text, which is one allocation
	found := make([]bool, 0, 2*manyEntries)
	var err error
	for i, at := range o.entries {
		e, ok := same.find(at.whole.Of(o.text), i)
		if found = append(found, ok); ok {
			entries[i] = e
			continue
		}
		if entries[i], strings, err = o.readEntry(at, strings); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrManagedFields, i+1, err)
		}
	}
	rest := string(strings)
	for i, at := range o.entries {
		if !found[i] {
			rest = o.setStrings(&entries[i], at, rest)
			entries[i].readAnnotations()
		}
	}
	return o.withSurroundings(entries), nil
}

// entryTexts finds entries by their text.
type entryTexts struct {
	entries []Entry
	byText  map[string]Entry // nil for few entries
}

// manyEntries is the number of entries above which an index is built.
const manyEntries = 16

func textsOf(entries []Entry) entryTexts {
	t := entryTexts{entries: entries}
	if len(entries) > manyEntries {
		t.byText = make(map[string]Entry, len(entries))
		for _, e := range entries {
			t.byText[string(e.Text)] = e
		}
	}
	return t
}

// find returns the entry with a text. likely is its most likely index.
func (t entryTexts) find(text []byte, likely int) (e Entry, ok bool) {
	if likely < len(t.entries) && bytes.Equal(t.entries[likely].Text, text) {
		return t.entries[likely], true
	}
	if t.byText != nil {
		e, ok = t.byText[string(text)]
		return e, ok
	}
	for _, e := range t.entries {
		if bytes.Equal(e.Text, text) {
			return e, true
		}
	}
	return Entry{}, false
}

// entryIndex finds entries by their identity (Entry.Same).
type entryIndex struct {
	entries []Entry
	byID    map[entryID]Entry // nil for few entries
}

// entryID is the identity of an entry: equal for entries that are the Same.
type entryID struct{ manager, operation, subresource, apiVersion string }

func (e Entry) id() entryID {
	id := entryID{manager: e.Manager, operation: e.Operation, subresource: e.Subresource}
	if e.Operation != OperationApply {
		id.apiVersion = e.APIVersion
	}
	return id
}

func indexOf(entries []Entry) entryIndex {
	index := entryIndex{entries: entries}
	if len(entries) > manyEntries {
		index.byID = make(map[entryID]Entry, len(entries))
		for _, e := range slices.Backward(entries) {
			index.byID[e.id()] = e // the first entry wins
		}
	}
	return index
}

// find is Entry.Find.
func (x entryIndex) find(e Entry) (same Entry, ok bool) {
	if x.byID == nil {
		return e.Find(x.entries)
	}
	same, ok = x.byID[e.id()]
	return same, ok
}

// Same reports whether two entries record writes of the same manager, by the identity that the API server uses
// (BuildManagerIdentifier in k8s.io/apimachinery). An Apply entry stays the same across API versions.
func (e Entry) Same(other Entry) bool {
	return e.Manager == other.Manager && e.Operation == other.Operation && e.Subresource == other.Subresource &&
		(e.Operation == OperationApply || e.APIVersion == other.APIVersion)
}

// Find returns the first of the entries that is the Same as e; ok is false if there is none.
func (e Entry) Find(entries []Entry) (same Entry, ok bool) {
	for _, other := range entries {
		if e.Same(other) {
			return other, true
		}
	}
	return Entry{}, false
}

// Contains reports whether the entry's field set contains the field at path or a field nested under it.
func (e Entry) Contains(path fieldpath.Path) bool {
	if len(path) == 0 || len(e.Fields) == 0 {
		return false
	}
	at := rawjson.Span{End: len(e.Fields)}
	for _, element := range path {
		in := at.Of(e.Fields)
		var found rawjson.Span
		if element.FieldName != nil {
			found = rawjson.FindPrefixed(in, "f:", *element.FieldName)
		} else if name, err := fieldpath.SerializePathElement(element); err == nil {
			found = rawjson.Find(in, name)
		}
		if !found.Present() {
			return false
		}
		at = found.From(at.Start)
	}
	return true
}

// Set returns the decoded field set of the entry, empty if it has none. The error is ErrManagedFields.
func (e Entry) Set() (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(e.Fields) == 0 {
		return set, nil
	}
	if set.FromJSON(bytes.NewReader(e.Fields)) != nil { // its error would quote values from the set
		return nil, fmt.Errorf("%w: the field set of %s", ErrManagedFields, e.Manager)
	}
	return set, nil
}

// CompareEntries compares two entries by the order in which the API server stores them (sortEncodedManagedFields in
// k8s.io/apimachinery). It returns a negative number if a comes first, a positive one if b does.
func CompareEntries(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Time, b.Time),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Subresource, b.Subresource),
	)
}

// EntriesFor returns the entries whose field set contains the field at path or a field nested under it.
func EntriesFor(entries []Entry, path fieldpath.Path) []Entry {
	var holders []Entry
	for _, e := range entries {
		if e.Contains(path) {
			holders = append(holders, e)
		}
	}
	return holders
}
