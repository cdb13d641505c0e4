package ownership

// Mode is what handoff does in a namespace or to an object.
type Mode string

// The modes. A namespace or an object without ModeAnnotation is in ModeOff.
const (
	ModeOff     Mode = "off"
	ModeWarn    Mode = "warn"
	ModeEnforce Mode = "enforce"
)

// ParseMode reads the value of ModeAnnotation. One that is not known counts as ModeWarn.
func ParseMode(text string) (mode Mode, known bool) {
	switch mode = Mode(text); mode {
	case ModeOff, ModeWarn, ModeEnforce:
		return mode, true
	default:
		return ModeWarn, false
	}
}
