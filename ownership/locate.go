package ownership

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Place is where a path leads in the text of an object.
type Place struct {
	// Value is the value's text, nil where there is none.
	Value []byte
	// Found is how many elements of the path lead somewhere: all of them when the value is there.
	Found int
	// Pointer is the JSON pointer (RFC 6901) of as much of the path as leads somewhere.
	Pointer string

	at rawjson.Span
}

// locate follows a path through a JSON text: field names through objects; keys, values and indexes through lists. An
// element of a keyed list is the first one whose fields have the key's values; a key's field that the element lacks
// counts as equal when the API server would default it, which is so for the protocol of a port. The text must be valid.
func locate(text []byte, path fieldpath.Path) Place {
	place := Place{at: rawjson.Span{Start: 0, End: len(text)}}
	for _, element := range path {
		here := place.at.Of(text)
		found, step := child(here, element)
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

// valueAt is locate for the value alone, which is faster for a path of field names.
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

// child returns where a path element leads within the text of an object or a list, and the step of a JSON pointer.
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

// isElement says whether a list's element is the one that a path element names.
func isElement(text []byte, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return *element.Index == index
	case element.Value != nil:
		return sameScalar(text, *element.Value)
	case element.Key != nil:
		for _, field := range *element.Key {
			found := rawjson.Find(text, field.Name)
			if !found.Present() {
				if field.Name == "protocol" && field.Value.IsString() && field.Value.AsString() == "TCP" {
					continue // the default that Kubernetes gives the key of a port
				}
				return false
			}
			if !sameScalar(found.Of(text), field.Value) {
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

// Cut returns a JSON text without the field at path, and nothing else changed; text itself where there is no such field. The
// text must be valid, and is not written to.
func Cut(text []byte, path fieldpath.Path) []byte {
	if len(path) == 0 {
		return text
	}
	last := path[len(path)-1]
	container := locate(text, path[:len(path)-1])
	if container.Value == nil {
		return text
	}
	var cut []byte
	if last.FieldName != nil {
		cut = rawjson.Cut(container.Value, *last.FieldName)
	} else {
		_, step := child(container.Value, last)
		index, err := strconv.Atoi(strings.TrimPrefix(step, "/"))
		if err != nil {
			return text
		}
		cut = rawjson.CutElement(container.Value, index)
	}
	return slices.Concat(text[:container.at.Start], cut, text[container.at.End:])
}
