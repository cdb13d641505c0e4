// Package optin has the annotation and the label by which namespaces and objects opt in to handoff, and their values.
package optin

// Annotation sets the Mode of a namespace: "enforce", "warn" or "off". Objects have Label instead.
const Annotation = "ownership-handoff.io/mode"

// Mode is whether handoff acts on a namespace or an object.
type Mode string

// The modes. A namespace without Annotation is in Off, and an object without Label in the mode of its namespace.
const (
	Off     Mode = "off"
	Warn    Mode = "warn"
	Enforce Mode = "enforce"
)

// ModeOf returns the mode for a value of Annotation or Label, Off if it is not present. For an unknown value it returns
// Warn, and known is false.
func ModeOf(text string, present bool) (mode Mode, known bool) {
	switch mode = Mode(text); {
	case !present:
		return Off, true
	case mode == Off || mode == Warn || mode == Enforce:
		return mode, true
	default:
		return Warn, false
	}
}

// Of returns the mode of an object: by its Label if it has one, else by the Annotation of its namespace. text is the value that decides.
func Of(label string, labeled bool, annotation string, annotated bool) (text string, mode Mode, known bool) {
	if labeled {
		annotation = label
	}
	mode, known = ModeOf(annotation, labeled || annotated)
	return annotation, mode, known
}

// Label is the label by which API servers select the namespaces and objects that have opted in. People write it on objects
// to override the mode of the namespace. On namespaces they write Annotation, and the label follows it (NamespaceLabel).
const Label = Annotation

// NamespaceLabel returns the value that Label must have in a namespace with or without Annotation: the mode, which is
// always a valid label value. If labeled is false, the namespace must not have the label.
func NamespaceLabel(annotation string, annotated bool) (value string, labeled bool) {
	mode, _ := ModeOf(annotation, annotated)
	if mode == Off {
		return "", false
	}
	return string(mode), true
}

// Follows reports whether the Label of a namespace follows its Annotation.
func Follows(annotations, labels map[string]string) bool {
	annotation, annotated := annotations[Annotation]
	label, has := labels[Label]
	want, labeled := NamespaceLabel(annotation, annotated)
	return has == labeled && label == want
}
