package ownership

import (
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// The annotations that ownership is recorded in and steered by.
const (
	// LastAppliedAnnotation holds the manifest that client-side apply applied last, as JSON
	// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/).
	LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
	// ModeAnnotation opts a namespace or an object in: "enforce", "warn" or "off".
	ModeAnnotation = "ownership-handoff.io/mode"
	// ControllerFieldsAnnotation lists, separated by commas, paths of an object's fields that belong to controllers.
	ControllerFieldsAnnotation = "ownership-handoff.io/controller-fields"
)

// jsonNull is null as JSON writes it.
const jsonNull = "null"

// ErrNotAnObject is returned for a JSON value that should be an object and is none.
var ErrNotAnObject = errors.New("it is not a JSON object")

// Object is a Kubernetes object as text, and the places in it that matter to ownership. The zero Object stands for an
// object that is not there. It refers to the text it was read from, which must not change.
type Object struct {
	text []byte
	// Positions within text.
	whole, spec, uid, managedFields, lastApplied, mode, controllerFields rawjson.Span
	entries                                                              []entryAt
}

// ReadObject is ParseObject for an object that stands within another text, such as that of a review: it steps over one value.
func ReadObject(w *rawjson.Walker) (Object, error) {
	o := Object{text: w.Text()}
	if w.Kind() == 'n' {
		_, err := w.Value()
		return Object{}, err
	}
	isObject, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "metadata":
			return o.readMetadata(w)
		case "spec":
			o.spec, err = w.Value()
		default:
			_, err = w.Value()
		}
		return err
	})
	if err != nil {
		return Object{}, err
	}
	if !isObject {
		return Object{}, ErrNotAnObject
	}
	o.whole = w.Last()
	return o, nil
}

// ParseObject reads an object from a text of its own, or null for none. The error is the JSON reader's or ErrNotAnObject.
func ParseObject(text []byte) (Object, error) {
	w := rawjson.Walk(text)
	o, err := ReadObject(w)
	if err != nil {
		return Object{}, fmt.Errorf("parsing an object: %w", err)
	}
	return o, w.End()
}

func (o *Object) readMetadata(w *rawjson.Walker) error {
	_, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "annotations":
			return o.readAnnotations(w)
		case "uid":
			o.uid, err = w.Value()
		case "managedFields":
			return o.readManagedFields(w)
		default:
			_, err = w.Value()
		}
		return err
	})
	return err
}

func (o *Object) readAnnotations(w *rawjson.Walker) error {
	_, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case LastAppliedAnnotation:
			o.lastApplied, err = w.Value()
		case ModeAnnotation:
			o.mode, err = w.Value()
		case ControllerFieldsAnnotation:
			o.controllerFields, err = w.Value()
		default:
			_, err = w.Value()
		}
		return err
	})
	return err
}

// Present says whether there is an object.
func (o Object) Present() bool { return o.whole.Present() }

// Text returns the object as JSON.
func (o Object) Text() []byte { return o.whole.Of(o.text) }

// UID returns metadata.uid, empty where there is none.
func (o Object) UID() string {
	uid, _ := rawjson.Unquote(o.uid.Of(o.text))
	return uid
}

// Mode returns the object's mode annotation; ok is false where it has none.
func (o Object) Mode() (mode string, ok bool) { return rawjson.Unquote(o.mode.Of(o.text)) }

// ControllerFields returns the object's controller-fields annotation; ok is false where it has none.
func (o Object) ControllerFields() (fields string, ok bool) {
	return rawjson.Unquote(o.controllerFields.Of(o.text))
}

// LastApplied returns the text of the last-applied annotation; ok is false where there is none.
func (o Object) LastApplied() (text string, ok bool) {
	return rawjson.Unquote(o.lastApplied.Of(o.text))
}

// ManagedFields returns metadata.managedFields as JSON text, nil where there are none.
func (o Object) ManagedFields() []byte { return o.managedFields.Of(o.text) }

// Value returns the JSON text of the field at path, a part of the object's; nil where there is none.
func (o Object) Value(path fieldpath.Path) []byte { return o.find(path).Of(o.text) }

// Locate follows a path through the object: field names through objects; keys, values and indexes through lists. An element
// of a keyed list is the first one whose fields have the key's values; a key's field that the element lacks counts as equal
// when the API server would default it, which is so for the protocol of a port.
func (o Object) Locate(path fieldpath.Path) Place { return locate(o.whole.Of(o.text), path) }

func (o Object) find(path fieldpath.Path) rawjson.Span {
	if len(path) == 0 || !o.Present() {
		return rawjson.Span{}
	}
	in := o.whole
	if path[0].FieldName != nil && *path[0].FieldName == "spec" {
		in, path = o.spec, path[1:] // where most fields are: spares the walk through the metadata
	}
	if len(path) == 0 {
		return in
	}
	found := valueAt(in.Of(o.text), path)
	if !found.Present() {
		return rawjson.Span{}
	}
	return rawjson.Span{Start: in.Start + found.Start, End: in.Start + found.End}
}
