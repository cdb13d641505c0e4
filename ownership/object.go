package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/optin"
)

// The annotations that record or configure ownership.
const (
	// LastAppliedAnnotation contains the manifest that client-side apply applied last, as JSON
	// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/).
	LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
	// ControllerFieldsAnnotation lists the fields of an object that controllers own, as paths separated by commas
	// (ParseControllerFields).
	ControllerFieldsAnnotation = "ownership-handoff.io/controller-fields"
)

// Meter counts steps of work, about one for each byte read, and reports whether the work may continue.
type Meter = jsontree.Meter

// stepsPerName is what it costs to name an element, in steps of the meter.
const stepsPerName = 64

// ErrNotAnObject is returned for a JSON value that must be an object and is not.
var ErrNotAnObject = errors.New("not a JSON object")

// Object is a Kubernetes object as JSON. The zero Object stands for a missing object. An Object refers to the text that it was read
// from, which must not change, and is not safe for concurrent use.
type Object struct {
	root *jsontree.Node
	// lastApplied reads the last-applied configuration when it is first needed, and once; nil for the zero Object.
	lastApplied func() (*jsontree.Node, error)
}

// ParseObject reads an object from JSON text. For null it returns the zero Object. The error is that of the JSON reader, or
// ErrNotAnObject.
func ParseObject(text []byte) (Object, error) {
	root, err := jsontree.Parse(text)
	if err != nil {
		return Object{}, fmt.Errorf("parsing the object: %w", err)
	}
	return ObjectAt(root)
}

// ObjectAt returns the object at a place in a JSON text. For null or a missing value it returns the zero Object. The error is
// ErrNotAnObject.
func ObjectAt(root *jsontree.Node) (Object, error) {
	switch {
	case root.IsObject():
		o := Object{root: root}
		o.lastApplied = sync.OnceValues(o.readLastApplied)
		return o, nil
	case root == nil || root.IsNull():
		return Object{}, nil
	default:
		return Object{}, ErrNotAnObject
	}
}

// Present reports whether there is an object.
func (o Object) Present() bool { return o.root != nil }

// Text returns the object as JSON.
func (o Object) Text() []byte { return o.root.Text() }

// At returns the value at a path of names, nil if the object lacks it.
func (o Object) At(names ...string) *jsontree.Node { return o.root.At(names...) }

// ModeLabel returns the value of optin.Label; ok is false if the object does not have it.
func (o Object) ModeLabel() (text string, ok bool) {
	return o.root.At("metadata", "labels", optin.Label).String()
}

// Annotation returns the value of an annotation, nil if the object does not have it.
func (o Object) Annotation(name string) *jsontree.Node {
	return o.root.At("metadata", "annotations", name)
}

// labels returns the object's labels.
func (o Object) labels() labels.Set {
	set := labels.Set{}
	for label := range o.root.At("metadata", "labels").Parts() {
		set[label.Name()], _ = label.String()
	}
	return set
}

// Entry is an entry of metadata.managedFields.
type Entry = managedfields.Entry

// ErrManagedFields is returned for managedFields that cannot be read.
var ErrManagedFields = managedfields.ErrUnreadable

// Entries returns the entries of metadata.managedFields. The error is ErrManagedFields.
func (o Object) Entries() ([]Entry, error) { return managedfields.Of(o.root) }

// ManagedFields returns metadata.managedFields as JSON text, nil if there are none.
func (o Object) ManagedFields() []byte { return o.root.At("metadata", "managedFields").Text() }

// Value returns the value of the field at path as JSON text, a part of the object's text; nil if the object lacks the field or the
// path is empty.
func (o Object) Value(path fieldpath.Path) []byte {
	if len(path) == 0 {
		return nil
	}
	return o.root.Find(path).Text()
}

// IsUnset reports whether the JSON text of a value is null, or empty because the value is missing.
func IsUnset(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// ErrLastApplied is returned for a last-applied annotation that is not a valid JSON object.
var ErrLastApplied = errors.New("annotation " + LastAppliedAnnotation + " cannot be read")

// LastAppliedManifest returns the last-applied configuration, nil if the object has none. The error is ErrLastApplied.
func (o Object) LastAppliedManifest() (*jsontree.Node, error) {
	if o.Annotation(LastAppliedAnnotation) == nil {
		return nil, nil //nolint:nilnil // a nil Node is a missing value
	}
	return o.lastApplied()
}

func (o Object) readLastApplied() (*jsontree.Node, error) {
	text, ok := o.Annotation(LastAppliedAnnotation).Bytes()
	if !ok {
		return nil, fmt.Errorf("%w: not a string", ErrLastApplied)
	}
	root, err := jsontree.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrLastApplied, err)
	case !root.IsObject():
		return nil, fmt.Errorf("%w: %w", ErrLastApplied, ErrNotAnObject)
	}
	return root, nil
}

// sameLastApplied reports whether two objects have the same LastAppliedAnnotation, or both have none.
func sameLastApplied(a, b Object) bool {
	return bytes.Equal(a.Annotation(LastAppliedAnnotation).Text(), b.Annotation(LastAppliedAnnotation).Text())
}

// Sharing returns the object with the last-applied configuration of another one if both have the same, so that it is read once.
func (o Object) Sharing(other Object) Object {
	if o.Present() && other.Present() && sameLastApplied(o, other) {
		o.lastApplied = other.lastApplied
	}
	return o
}

// LastAppliedPath returns the path of LastAppliedAnnotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", LastAppliedAnnotation)
}

// hasOwnLastApplied reports whether the object has a last-applied configuration that is valid and does not name another object.
func (o Object) hasOwnLastApplied() bool {
	manifest, _ := o.LastAppliedManifest()
	if manifest == nil {
		return false
	}
	for _, names := range [][]string{{"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		declared, found := manifest.At(names...).String()
		if is, known := o.root.At(names...).String(); found && known && is != declared {
			return false
		}
	}
	return true
}
