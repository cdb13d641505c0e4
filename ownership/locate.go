package ownership

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Location is the position of a field in the text of an object.
type Location struct {
	// Value is the field's value as JSON, nil if the object lacks the field.
	Value []byte
	// Found is the number of leading path elements that the object has: all of them if it has the field.
	Found int
	// Pointer is the JSON pointer (RFC 6901) for these path elements.
	Pointer string

	at rawjson.Span
}

// locate is Object.Locate for a JSON text, which must be valid.
func locate(text []byte, path fieldpath.Path) Location {
	place := Location{at: rawjson.Span{Start: 0, End: len(text)}}
	for _, element := range path {
		found, step := child(place.at.Of(text), element)
		if !found.Present() {
			place.at = rawjson.Span{}
			return place
		}
		place.Pointer += step
		place.at = rawjson.Span{Start: place.at.Start + found.Start, End: place.at.Start + found.End}
		place.Found++
	}
	place.Value = place.at.Of(text)
	return place
}

// valueAt returns the position of the value at path. It is faster than locate for a path of field names.
func valueAt(text []byte, path fieldpath.Path) rawjson.Span {
	names := make([]string, 0, 8)
	for _, element := range path {
		if element.FieldName == nil {
			return locate(text, path).at
		}
		names = append(names, *element.FieldName)
	}
	return rawjson.Find(text, names...)
}

// child returns the position of a path element's value in the text of an object or a list, and its step of a JSON pointer.
func child(text []byte, element fieldpath.PathElement) (at rawjson.Span, step string) {
	if element.FieldName != nil {
		return rawjson.Find(text, *element.FieldName), "/" + rawjson.EscapePointer(*element.FieldName)
	}
	index := -1
	rawjson.Elements(text, func(value rawjson.Span) bool {
		index++
		if isElement(value.Of(text), index, element) {
			at, step = value, "/"+strconv.Itoa(index)
		}
		return !at.Present()
	})
	return at, step
}

// isElement reports whether a path element names a list's element.
func isElement(text []byte, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return *element.Index == index
	case element.Value != nil:
		return sameScalar(text, *element.Value)
	case element.Key != nil:
		for _, field := range *element.Key {
			found := rawjson.Find(text, field.Name).Of(text)
			if found == nil {
				found = rawjson.KeyDefault(field.Name)
			}
			if found == nil || !sameScalar(found, field.Value) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func sameScalar(text []byte, want value.Value) bool {
	got, err := value.FromJSON(text)
	return err == nil && value.Equals(got, want)
}

// Cut returns a JSON text without the field at path, and otherwise unchanged. It returns text itself if there is no such
// field. The text must be valid, and is not modified.
func Cut(text []byte, path fieldpath.Path) []byte {
	if len(path) == 0 {
		return text
	}
	last := path[len(path)-1]
	parent := locate(text, path[:len(path)-1])
	if parent.Value == nil {
		return text
	}
	var cut []byte
	if last.FieldName != nil {
		cut = rawjson.Cut(parent.Value, *last.FieldName)
	} else {
		_, step := child(parent.Value, last)
		index, err := strconv.Atoi(strings.TrimPrefix(step, "/"))
		if err != nil {
			return text
		}
		cut = rawjson.CutElement(parent.Value, index)
	}
	return slices.Concat(text[:parent.at.Start], cut, text[parent.at.End:])
}
