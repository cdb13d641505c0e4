package ownership

import (
	"errors"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// readEntries reads the entries of a list.
func readEntries(list *jsontree.Node) ([]Entry, error) {
	if list.Kind() != '[' {
		return nil, fmt.Errorf("%w: not a list", ErrManagedFields)
	}
	entries := make([]Entry, 0, list.Len())
	for element := range list.Parts() {
		entry, err := readEntry(element)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrManagedFields, len(entries)+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func readEntry(entry *jsontree.Node) (Entry, error) {
	e := Entry{Text: entry.Text()}
	if !entry.IsObject() {
		return e, ErrNotAnObject
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
		return e, fmt.Errorf("fieldsV1: %w", ErrNotAnObject)
	}
	e.readAnnotations()
	return e, nil
}
