package ownership

// Mode is whether handoff acts on a namespace or an object.
type Mode string

// The modes. A namespace or an object without ModeAnnotation is in ModeOff.
const (
	ModeOff     Mode = "off"
	ModeWarn    Mode = "warn"
	ModeEnforce Mode = "enforce"
)

// ParseMode returns the mode for a value of ModeAnnotation. For an unknown value it returns ModeWarn, and known is false.
func ParseMode(text string) (mode Mode, known bool) {
	switch mode = Mode(text); mode {
	case ModeOff, ModeWarn, ModeEnforce:
		return mode, true
	default:
		return ModeWarn, false
	}
}
