package ownership

// Mode is whether handoff acts on a namespace or an object.
type Mode string

// The modes. A namespace without ModeAnnotation is in ModeOff, and an object without ModeLabel in the mode of its namespace.
const (
	ModeOff     Mode = "off"
	ModeWarn    Mode = "warn"
	ModeEnforce Mode = "enforce"
)

// ModeOf returns the mode for a value of ModeAnnotation or ModeLabel, ModeOff if it is not present. For an unknown value it returns
// ModeWarn, and known is false.
func ModeOf(text string, present bool) (mode Mode, known bool) {
	switch mode = Mode(text); {
	case !present:
		return ModeOff, true
	case mode == ModeOff || mode == ModeWarn || mode == ModeEnforce:
		return mode, true
	default:
		return ModeWarn, false
	}
}

// ModeLabel is the label by which API servers select the namespaces and objects that have opted in. People write it on objects
// to override the mode of the namespace. On namespaces they write ModeAnnotation, and the label follows it (NamespaceLabel).
const ModeLabel = ModeAnnotation

// NamespaceLabel returns the value that ModeLabel must have in a namespace with or without ModeAnnotation: the mode, which is
// always a valid label value. If labeled is false, the namespace must not have the label.
func NamespaceLabel(annotation string, annotated bool) (value string, labeled bool) {
	mode, _ := ModeOf(annotation, annotated)
	if mode == ModeOff {
		return "", false
	}
	return string(mode), true
}
