package ownership

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// WithSet returns the entry with another field set, encoded as the API server encodes it. The error is ErrManagedFields for
// an entry without fieldsV1, or about a set that cannot be encoded.
func (e Entry) WithSet(set *fieldpath.Set) (Entry, error) {
	fields, err := set.ToJSON()
	if err != nil {
		return e, fmt.Errorf("encoding the field set of %s: %w", e.Manager, err)
	}
	if len(e.Fields) == 0 {
		return e, fmt.Errorf("%w: the entry of %s has no fieldsV1", ErrManagedFields, e.Manager)
	}
	e.Text = slices.Concat(e.Text[:e.fieldsAt.Start], fields, e.Text[e.fieldsAt.End:])
	e.fieldsAt.End = e.fieldsAt.Start + len(fields)
	e.Fields = fields
	return e, nil
}

// maxSearched is the number of bytes up to which Without searches a field set, once for each element of the path. Beyond that,
// decoding the set costs less.
const maxSearched = 1 << 20

// Without returns the entry without the field at path and the fields nested under it. It edits the text of the field set, which
// must contain the field; whole reports whether the set has no other fields. ok is false if the path has other elements than
// field names or is too long, and if the set has elements that would have to be decoded to check them.
func (e Entry) Without(path fieldpath.Path) (_ Entry, whole, ok bool) {
	if len(path)*len(e.Fields) > maxSearched || !isPlainSet(e.Fields) {
		return e, false, false
	}
	// objects are the objects along the path, and the value of the field.
	objects := make([]rawjson.Span, 1, 16)
	objects[0] = rawjson.Span{End: len(e.Fields)}
	single := 0 // from here on, each object has only the next one
	for _, element := range path {
		if element.FieldName == nil {
			return e, false, false
		}
		in := objects[len(objects)-1]
		found := rawjson.FindPrefixed(in.Of(e.Fields), "f:", *element.FieldName)
		if !found.Present() {
			return e, false, false
		}
		if !hasOneField(in.Of(e.Fields)) {
			single = len(objects) - 1
		}
		objects = append(objects, found.From(in.Start))
	}
	return e.withoutMember(objects[single], *path[single].FieldName, single == 0)
}

// hasOneField reports whether a part of a field set has one field, and not its own path, for which it would stay without the
// field.
func hasOneField(set []byte) bool {
	fields, own := 0, false
	rawjson.Members(set, func(name, _ rawjson.Span) bool {
		fields++
		own = own || string(name.Of(set)) == `"."`
		return fields <= 1 && !own
	})
	return fields == 1 && !own
}

// withoutMember cuts a member from an object of the field set.
func (e Entry) withoutMember(object rawjson.Span, name string, root bool) (_ Entry, whole, ok bool) {
	left := rawjson.Cut(object.Of(e.Fields), "f:"+name)
	if string(left) == `{".":{}}` {
		left = []byte("{}")
	}
	whole = root && string(left) == "{}"
	start := e.fieldsAt.Start
	fields := len(e.Fields) - (object.End - object.Start) + len(left)
	e.Text = slices.Concat(e.Text[:start+object.Start], left, e.Text[start+object.End:])
	e.fieldsAt.End = start + fields
	e.Fields = e.fieldsAt.Of(e.Text)
	return e, whole, true
}

// isPlainSet reports whether a text is a valid field set of field names, and of keys with plain strings and integers. It reads
// the text once, however deep it is: all strings in a field set are names, and all values are objects.
func isPlainSet(set []byte) bool {
	depth := 0
	for i := rawjson.SkipSpace(set, 0); i < len(set); i = rawjson.SkipSpace(set, i) {
		switch set[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
		case '"':
			end := rawjson.SkipString(set, i)
			value := valueStart(set, end)
			if value >= len(set) || set[value] != '{' || !isPlainElement(set[i:end]) {
				return false
			}
			i = value - 1
		default:
			return false
		}
		i++
		if depth > fieldtree.MaxDepth {
			return false
		}
	}
	return len(set) > 0
}

// valueStart returns the start of the value of a member whose name ends at i, the length of the text if there is no colon.
func valueStart(text []byte, i int) int {
	if i = rawjson.SkipSpace(text, i); i >= len(text) || text[i] != ':' {
		return len(text)
	}
	return rawjson.SkipSpace(text, i+1)
}

func isPlainElement(quoted []byte) bool {
	name := quoted[1 : len(quoted)-1]
	switch {
	case string(name) == ".":
		return true
	case len(name) < 2 || name[1] != ':':
		return false
	case name[0] == 'f':
		return true
	}
	key, err := jsontext.AppendUnquote(make([]byte, 0, 256), quoted)
	if err != nil || len(key) < 2 || key[0] != 'k' || rawjson.Check(key[2:]) != nil {
		return false
	}
	fields := 0
	rawjson.Members(key[2:], func(_, value rawjson.Span) bool {
		fields++
		if !fieldtree.IsCanonical(value.Of(key[2:])) {
			fields = 0
		}
		return fields > 0
	})
	return fields > 0
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
	return readEntry(text)
}
