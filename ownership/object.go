package ownership

import (
	"errors"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// The annotations that record or configure ownership.
const (
	// LastAppliedAnnotation contains the manifest that client-side apply applied last, as JSON
	// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/).
	LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
	// ModeAnnotation sets the Mode of a namespace or an object: "enforce", "warn" or "off".
	ModeAnnotation = "ownership-handoff.io/mode"
	// ControllerFieldsAnnotation lists the fields of an object that controllers own, as paths separated by commas
	// (ParseControllerFields).
	ControllerFieldsAnnotation = "ownership-handoff.io/controller-fields"
)

const jsonNull = "null"

// ErrNotAnObject is returned for a JSON value that must be an object and is not.
var ErrNotAnObject = errors.New("not a JSON object")

// Object is a Kubernetes object as JSON text, with the positions of the parts that record ownership. The zero Object stands
// for a missing object. An Object refers to the text that it was read from, which must not change.
type Object struct {
	text []byte
	// Positions within text.
	whole, spec, uid, managedFields, lastApplied, mode, controllerFields rawjson.Span
	entries                                                              []entryAt
}

// Reader reads objects, and reuses its memory from one to the next. The zero Reader is ready to use. It is not safe for
// concurrent use.
type Reader struct{ walker rawjson.Walker }

// Read is ParseObject for an object at the start of a text, such as the rest of an AdmissionReview. Depth is the number of
// objects and lists that contain it. Read also returns the length of the object's text.
func (r *Reader) Read(text []byte, depth int) (o Object, length int, err error) {
	r.walker.Reset(text, depth)
	o, err = readObject(&r.walker)
	return o, r.walker.Last().End, err
}

// Release releases the last object's text, and retains the memory for the next object.
func (r *Reader) Release() { r.walker.Reset(nil, 0) }

// ParseObject reads an object from JSON text. For null it returns the zero Object. The error is that of the JSON reader, or
// ErrNotAnObject.
func ParseObject(text []byte) (Object, error) {
	w := rawjson.Walk(text)
	o, err := readObject(w)
	if err != nil {
		return Object{}, fmt.Errorf("parsing the object: %w", err)
	}
	return o, w.End()
}

func readObject(w *rawjson.Walker) (Object, error) {
	o := Object{text: w.Text()}
	if w.Kind() == 'n' {
		_, err := w.Value()
		return Object{}, err
	}
	isObject, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "metadata":
			err = o.readMetadata(w)
		case "spec":
			o.spec, err = w.Value()
		default:
			_, err = w.Value()
		}
		return err
	})
	switch {
	case err != nil:
		return Object{}, err
	case !isObject:
		return Object{}, ErrNotAnObject
	}
	o.whole = w.Last()
	return o, nil
}

func (o *Object) readMetadata(w *rawjson.Walker) error {
	_, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "annotations":
			err = o.readAnnotations(w)
		case "uid":
			o.uid, err = w.Value()
		case "managedFields":
			err = o.readManagedFields(w)
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

// Present reports whether there is an object.
func (o Object) Present() bool { return o.whole.Present() }

// Text returns the object as JSON.
func (o Object) Text() []byte { return o.whole.Of(o.text) }

// UID returns metadata.uid, empty if there is none.
func (o Object) UID() string {
	uid, _ := rawjson.Unquote(o.uid.Of(o.text))
	return uid
}

// ModeText returns the value of ModeAnnotation; ok is false if the object does not have it.
func (o Object) ModeText() (text string, ok bool) { return rawjson.Unquote(o.mode.Of(o.text)) }

// ControllerFields returns the value of ControllerFieldsAnnotation; ok is false if the object does not have it.
func (o Object) ControllerFields() (fields string, ok bool) {
	return rawjson.Unquote(o.controllerFields.Of(o.text))
}

// LastApplied returns the value of LastAppliedAnnotation; ok is false if the object does not have it.
func (o Object) LastApplied() (text string, ok bool) {
	return rawjson.Unquote(o.lastApplied.Of(o.text))
}

// LastAppliedBytes is LastApplied as bytes, which must not be modified.
func (o Object) LastAppliedBytes() (text []byte, ok bool) {
	return rawjson.UnquoteBytes(o.lastApplied.Of(o.text))
}

// Spec returns spec as JSON text, nil if there is none.
func (o Object) Spec() []byte { return o.spec.Of(o.text) }

// ManagedFields returns metadata.managedFields as JSON text, nil if there are none.
func (o Object) ManagedFields() []byte { return o.managedFields.Of(o.text) }

// Value returns the value of the field at path as JSON text, a part of the object's text; nil if the object lacks the field.
func (o Object) Value(path fieldpath.Path) []byte { return o.find(path).Of(o.text) }

// Locate returns where the field at path is in the object. Field names are followed in objects; keys, values and indexes in
// lists. A key matches the first element with equal key fields. A missing protocol, as in a port, counts as TCP, which is the
// API server's default.
func (o Object) Locate(path fieldpath.Path) Location { return locate(o.whole.Of(o.text), path) }

func (o Object) find(path fieldpath.Path) rawjson.Span {
	if len(path) == 0 || !o.Present() {
		return rawjson.Span{}
	}
	in := o.whole
	if path[0].FieldName != nil && *path[0].FieldName == "spec" {
		in, path = o.spec, path[1:] // most fields are in spec: skip the metadata
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
