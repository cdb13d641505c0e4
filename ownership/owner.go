package ownership

import (
	"bytes"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Owner is the kind of owner of a field in a live object.
type Owner int8

// The owners, by increasing precedence.
const (
	// Default owns a field that the API server set by defaulting and that no manager declared.
	Default Owner = iota
	// Manifest owns a field that an applier's manifest set.
	Manifest
	// Imperative owns a field that was written outside any manifest, by an imperative command or by a client that the
	// configuration does not list.
	Imperative
	// Controller owns a field that a rule assigns to controllers and that a controller has written.
	Controller
	// Autoscaler owns the scale field of an object that an autoscaler targets, or that a listed autoscaler has written.
	Autoscaler
)

// Unknown is the owner of a field whose writer is not recorded: the object has no managedFields, or the API server has merged
// the entries of several managers into one. ObjectContext.OwnedFields returns it; decisions do not use it
// (docs/decisions.md).
const Unknown Owner = -1

// Other is the owner of a field that was written by a client that no list of managers names, such as a controller.
// ObjectContext.OwnedFields returns it; decisions count such a client as Imperative.
const Other Owner = -2

// Decided returns the owner that decisions use: Imperative for Other, and o itself for any other owner.
func (o Owner) Decided() Owner {
	if o == Other {
		return Imperative
	}
	return o
}

// String returns the owner's name in docs and messages.
func (o Owner) String() string {
	return [...]string{"Other", "Unknown", "Default", "Manifest", "Imperative", "Controller", "Autoscaler"}[o-Other]
}

// FieldOwner is the owner of a field.
type FieldOwner struct {
	// Kind is the kind of the owner.
	Kind Owner
	// By names the owner: an autoscaler, as "HorizontalPodAutoscaler/web", or a field manager. It is empty for Default, and if
	// the name is not recorded.
	By string
	// Rule names the rule that assigns the field to a Controller: Rule.Name, or ControllerFieldsAnnotation.
	Rule string
}

// Object returns the kind and the name of the autoscaler that owns a field; ok is false if it is no object, but a field manager.
func (o FieldOwner) Object() (kind, name string, ok bool) {
	kind, name, ok = strings.Cut(o.By, "/")
	return kind, name, ok && o.Kind == Autoscaler
}

// Writer is the kind of client that sends a request.
type Writer int8

// The kinds of clients.
const (
	// OtherWriter is any other client: a controller, an operator, or a client that no list of managers names.
	OtherWriter Writer = iota
	// Applier applies a manifest.
	Applier
	// ImperativeWriter runs an imperative command.
	ImperativeWriter
)

// Declaration is how a manifest declares a field.
type Declaration int8

// The ways to declare a field.
const (
	// Lacks: the manifest does not mention the field.
	Lacks Declaration = iota
	// Sets: the manifest gives the field a value.
	Sets
	// Clears: the manifest sets the field to null.
	Clears
)

// Declared is how an applier's manifests declare one field.
type Declared struct {
	// Manifest is how the manifest applied now declares the field, Base how the one applied before does.
	Manifest, Base Declaration
}

// ownerWithoutEntry returns the kind of owner of a field that no managedFields entry contains.
func (d Declared) ownerWithoutEntry() Owner {
	if d.Base != Lacks {
		return Manifest
	}
	return Default
}

// ContestedField is a field of live that both the sender of a write and another manager can set, or a default that its manifest
// contradicts, and its owner.
type ContestedField struct {
	Path fieldpath.Path
	// Atomic is the length of the path of the atomic field that contains the field, 0 if managedFields contain the field itself. Elements
	// of lists in an atomic field are named by the fields that the rule names (Pattern).
	Atomic int
	// Unmatched is why the elements of a list in an atomic field, which is then the field, or of a list that the field is in, cannot be
	// matched one to one between live and incoming; empty if they can.
	Unmatched string
	// Contradicts names the choice of the manifest, as "OnDelete", with which the field conflicts if it is a default that the write does not
	// change; empty otherwise. Nothing but the path is then set.
	Contradicts string
	// Live and Incoming are its values as JSON; Incoming is nil if the incoming object lacks the field.
	Live, Incoming []byte
	// Owner is its owner in live.
	Owner FieldOwner
	// Declared is how the manifests declare the field. It is zero unless the sender is an applier.
	Declared Declared

	// Scale reports whether it is the object's scale field, Unit whether it is a unit (UnitOf).
	Scale, Unit bool
	// Removed reports whether the write removes the field although neither manifest has it, as replacing the whole object does, or
	// a manifest that drops a parent of it. Any other change that no manifest declares was made by another admission webhook.
	Removed bool
	// Editable reports whether a rule with EditApply assigns the field to its owner, and Edited whether the manifest then sets another
	// value than it set last.
	Editable, Edited bool
}

// Changed reports whether the write changes the field's value.
func (f ContestedField) Changed() bool { return !bytes.Equal(f.Live, f.Incoming) }
