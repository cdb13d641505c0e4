package ownership

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// outline is the tree of the values in a JSON text. Only the names of members are decoded.
type outline struct {
	name     string // of a member of an object
	text     []byte
	children []outline // members or elements
}

// outlineOf returns the outline of a value.
func outlineOf(n *jsontree.Node) outline {
	o := outline{name: n.Name(), text: n.Text()}
	for part := range n.Parts() {
		o.children = append(o.children, outlineOf(part))
	}
	return o
}

func (o *outline) isObject() bool { return o.text[0] == '{' }

func (o *outline) isNull() bool { return string(o.text) == jsonNull }

// member returns the member of an object with a name, nil if there is none.
func (o *outline) member(name string) *outline {
	for i := range o.children {
		if o.isObject() && o.children[i].name == name {
			return &o.children[i]
		}
	}
	return nil
}

// The path of the time at which an object was created, in the metadata of an object or of a template in it.
const (
	metadataName     = "metadata"
	creationTimeName = "creationTimestamp"
)

// dropUnsetTimes drops each creationTimestamp that is null from the metadata in an object.
func (o *outline) dropUnsetTimes() {
	if o.name == metadataName && o.isObject() {
		before := len(o.children)
		o.children = slices.DeleteFunc(o.children, func(c outline) bool { return c.name == creationTimeName && c.isNull() })
		if len(o.children) == 0 && before > 0 {
			o.text = []byte("{}")
		}
	}
	for i := range o.children {
		o.children[i].dropUnsetTimes()
	}
}

// lastAppliedOutline returns the outline of the object's last-applied configuration, nil if it has none.
func lastAppliedOutline(live Object) (*outline, error) {
	if live.lastApplied() == nil {
		return nil, nil //nolint:nilnil // the annotation is optional
	}
	text, ok := live.LastAppliedBytes()
	if !ok {
		return nil, fmt.Errorf("%w: not a string", ErrLastApplied)
	}
	applied, err := readLastApplied(text)
	if err != nil {
		return nil, err
	}
	declared := outlineOf(applied)
	declared.addStringData()
	return &declared, nil
}

// addStringData merges the stringData of a Secret's manifest into its data, as the API server does before it stores the Secret
// (https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data).
func (o *outline) addStringData() {
	kind, from := o.member("kind"), o.member("stringData")
	if kind == nil || string(kind.text) != `"Secret"` || from == nil || !from.isObject() {
		return
	}
	data := outline{name: "data", text: []byte("{}")}
	if was := o.member("data"); was != nil && was.isObject() {
		data.children = slices.Clone(was.children)
	}
	for _, child := range from.children { // appended last, because stringData overrides data
		if plain, ok := jsontree.Unquote(child.text); ok {
			child.text = []byte(`"` + base64.StdEncoding.EncodeToString([]byte(plain)) + `"`)
			data.children = append(data.children, child)
		}
	}
	o.children = append(o.children, data)
}
