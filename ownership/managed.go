package ownership

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// The operations of a managedFields entry, as metav1.ManagedFieldsOperationType has them.
const (
	OperationApply  = "Apply"
	OperationUpdate = "Update"
)

// ErrManagedFields is returned for managedFields that cannot be read.
var ErrManagedFields = errors.New("metadata.managedFields cannot be read")

// Entry is one entry of metadata.managedFields (metav1.ManagedFieldsEntry). Its set of fields stays text until it is
// asked for.
type Entry struct {
	// Manager is the name that a client gives itself, Operation OperationApply or OperationUpdate. Subresource is empty for a
	// write to the object itself.
	Manager, Operation, APIVersion, Subresource string
	// Time is RFC 3339, or empty: a scale entry has none.
	Time string
	// Text is the whole entry as JSON.
	Text []byte
	// Fields is its fieldsV1 as JSON, a part of Text.
	Fields []byte

	fieldsAt rawjson.Span // where Fields stands in Text
}

// ParseEntries reads metadata.managedFields from its JSON text, a list; none for an empty text. The error is ErrManagedFields.
// The entries refer to the text, which must not change.
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

// Entries returns the entries of metadata.managedFields; none where there are none. Of those that stand text for text
// among known, usually the object's from before a write, what is known is returned. The error is ErrManagedFields.
func (o Object) Entries(known ...Entry) ([]Entry, error) {
	if !o.managedFields.Present() {
		return nil, nil
	}
	if len(o.entries) == 0 {
		return readEntries(o.ManagedFields())
	}
	entries := make([]Entry, len(o.entries))
	same := textsOf(known)
	for i, at := range o.entries {
		text := at.whole.Of(o.text)
		if e, ok := same.find(text, i); ok {
			entries[i] = e
			continue
		}
		var err error
		if entries[i], err = o.readEntry(at); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrManagedFields, i+1, err)
		}
	}
	return entries, nil
}

// entryTexts finds entries by their text.
type entryTexts struct {
	entries []Entry
	byText  map[string]Entry // where there are many
}

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

// find returns the entry with a text, which is most likely at a position.
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

// entryIndex finds entries that are the Same.
type entryIndex struct {
	entries []Entry
	byID    map[entryID]Entry // where there are many
}

// entryID is what entries that are the Same agree on.
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
			index.byID[e.id()] = e // the first counts
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

// Same says whether two entries record the same manager's writes: the identity that the API server merges entries by
// (BuildManagerIdentifier in k8s.io/apimachinery). An applier keeps its entry across API versions.
func (e Entry) Same(other Entry) bool {
	return e.Manager == other.Manager && e.Operation == other.Operation && e.Subresource == other.Subresource &&
		(e.Operation == OperationApply || e.APIVersion == other.APIVersion)
}

// Find returns the entry among entries that is the Same as e.
func (e Entry) Find(entries []Entry) (same Entry, ok bool) {
	for _, other := range entries {
		if e.Same(other) {
			return other, true
		}
	}
	return Entry{}, false
}

// Holds says whether the entry claims the field at path or anything beneath it.
func (e Entry) Holds(path fieldpath.Path) bool {
	if len(path) == 0 || len(e.Fields) == 0 {
		return false
	}
	names := make([]string, len(path))
	for i, element := range path {
		name, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return false
		}
		names[i] = name
	}
	if last := names[len(names)-1]; !bytes.Contains(e.Fields, []byte(last)) && !strings.ContainsFunc(last, escaped) {
		return false // most entries claim nothing of the kind, and need no walk
	}
	return rawjson.Find(e.Fields, names...).Present()
}

// escaped says whether JSON can have another text for a character: encoding/json escapes those of HTML as well.
func escaped(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }

// Set returns the fields that the entry claims, empty where it has none. The error is ErrManagedFields.
func (e Entry) Set() (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(e.Fields) == 0 {
		return set, nil
	}
	if set.FromJSON(bytes.NewReader(e.Fields)) != nil { // its error would quote what is in the set
		return nil, fmt.Errorf("%w: the set of %s", ErrManagedFields, e.Manager)
	}
	return set, nil
}

// CompareEntries orders entries as the API server stores them (sortEncodedManagedFields in k8s.io/apimachinery).
func CompareEntries(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Time, b.Time),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Subresource, b.Subresource),
	)
}

// Holders returns the entries that claim the field at path or anything beneath it.
func Holders(entries []Entry, path fieldpath.Path) []Entry {
	var holders []Entry
	for _, e := range entries {
		if e.Holds(path) {
			holders = append(holders, e)
		}
	}
	return holders
}
