package ownership

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// outline is where the parts of a JSON text stand, taken in one pass; nothing but names is decoded.
type outline struct {
	name string // of a member of an object
	text []byte
	kids []outline // members or elements
}

// outlineOf steps over one value.
func outlineOf(w *rawjson.Walker) (o outline, err error) {
	kid := func(name []byte) error {
		child, err := outlineOf(w)
		child.name = string(name)
		o.kids = append(o.kids, child)
		return err
	}
	switch w.Kind() {
	case '{':
		_, err = w.Object(kid)
	case '[':
		_, err = w.Array(func() error { return kid(nil) })
	default:
		_, err = w.Value()
	}
	o.text = w.Last().Of(w.Text())
	return o, err
}

func (o *outline) isObject() bool { return o.text[0] == '{' }

func (o *outline) isNull() bool { return string(o.text) == jsonNull }

// member returns an object's member, nil where it has none of that name.
func (o *outline) member(name string) *outline {
	for i := range o.kids {
		if o.isObject() && o.kids[i].name == name {
			return &o.kids[i]
		}
	}
	return nil
}

// declaredBy returns the outline of the object's last-applied annotation, nil where it has none.
func declaredBy(live Object) (*outline, error) {
	if !live.lastApplied.Present() {
		return nil, nil //nolint:nilnil // no annotation is no error
	}
	text, ok := live.LastApplied()
	if !ok {
		return nil, fmt.Errorf("%w: it is no string", ErrLastApplied)
	}
	if err := checkLastApplied([]byte(text)); err != nil {
		return nil, err
	}
	declared, err := outlineOf(rawjson.WalkChecked([]byte(text)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLastApplied, err)
	}
	declared.addStringData()
	return &declared, nil
}

// addStringData makes the data of a Secret's manifest what the API server makes of its stringData, which it never stores
// (https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data).
func (o *outline) addStringData() {
	kind, from := o.member("kind"), o.member("stringData")
	if kind == nil || string(kind.text) != `"Secret"` || from == nil || !from.isObject() {
		return
	}
	data := outline{name: "data", text: []byte("{}")}
	if was := o.member("data"); was != nil && was.isObject() {
		data.kids = slices.Clone(was.kids)
	}
	for _, kid := range from.kids { // behind the others: it goes before them
		if plain, ok := rawjson.Unquote(kid.text); ok {
			kid.text = []byte(`"` + base64.StdEncoding.EncodeToString([]byte(plain)) + `"`)
			data.kids = append(data.kids, kid)
		}
	}
	o.kids = append(o.kids, data)
}
