package ownership

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Undisputed reports whether no contested field of a write needs a decision, because its manifest declares them as before, or
// sets them. It compares texts and builds nothing, so that a write with nothing to do costs little. If it is false, there may
// still be nothing to do. It does not read c.Autoscaler.
func (c ObjectContext) Undisputed(w Write) bool {
	if len(c.Controlled) > 0 || !c.scaleUndisputed(w) {
		return false
	}
	if w.Sender.Writer != Applier || !w.Manifests.mayDrop() {
		return true
	}
	drops := c.newDropSearch(w)
	for _, e := range w.LiveEntries {
		if w.InOtherVersion(e) && !c.Managers.IsApplier(e) || drops.mayDropFrom(e) {
			return false
		}
	}
	return true
}

// scaleUndisputed reports whether the write neither changes the scale field nor declares it, now or before.
func (c ObjectContext) scaleUndisputed(w Write) bool {
	live := w.Live.Value(c.Scale)
	if live == nil {
		return true
	}
	if !bytes.Equal(live, w.Incoming.Value(c.Scale)) {
		return false
	}
	if w.Sender.Writer != Applier {
		return true
	}
	// In another version, the field can have another path.
	otherVersion := w.InOtherVersion(w.Sender.Entry) || w.InOtherVersion(w.Manifests.was)
	return !otherVersion && w.Manifests.On(c.Scale) == Declared{}
}

// searchSteps is how many times the length of the texts may be searched in all. Beyond that, the search gives up, and its
// result is that fields may be dropped: ContestedFields then finds them in linear time.
const searchSteps = 16

// dropSearch searches the fields of managedFields entries for one that the base has and the manifest lacks.
type dropSearch struct {
	managers       Managers
	base, manifest []byte
	meter          Meter
	left           int
	escape         []byte // memory for a name with escapes
}

func (c ObjectContext) newDropSearch(w Write) *dropSearch {
	d := &dropSearch{managers: c.Managers, base: w.Manifests.base, manifest: w.Manifests.manifest, meter: w.Meter}
	d.left = len(d.base) + len(d.manifest)
	for _, e := range w.LiveEntries {
		d.left += len(e.Fields)
	}
	d.left *= searchSteps
	return d
}

// mayDropFrom reports whether the manifest may drop fields of an entry of live. Without rules for controllers, nothing is decided
// on the other fields: if the manifest sets a field, it takes ownership of it.
func (d *dropSearch) mayDropFrom(e Entry) bool {
	if e.Subresource == "status" || len(e.Fields) == 0 || d.managers.IsApplier(e) {
		return false
	}
	before := d.left
	found := d.below(e.Fields, d.base, d.manifest, 0)
	return found || d.meter != nil && !d.meter(before-d.left)
}

func (d *dropSearch) spend(steps int) (ok bool) {
	d.left -= 1 + steps
	return d.left >= 0
}

// below searches the fields of a set in two objects, or in two lists, at the same path.
func (d *dropSearch) below(set, base, manifest []byte, depth int) (found bool) {
	if depth > fieldtree.MaxDepth || !d.spend(len(set)) {
		return true
	}
	rawjson.Members(set, func(name, value rawjson.Span) (more bool) {
		found = d.field(name.Of(set), value.Of(set), base, manifest, depth)
		return !found
	})
	return found
}

// field searches at one field of a set.
func (d *dropSearch) field(quoted, set, base, manifest []byte, depth int) (found bool) {
	if string(quoted) == `"."` {
		return false
	}
	key, ok := d.unquote(quoted)
	if !ok {
		return true
	}
	was, known := d.part(base, key)
	if !known || was == nil {
		return !known
	}
	now, known := d.part(manifest, key)
	switch {
	case !known || now == nil:
		return true
	case bytes.Equal(was, now):
		return false
	case was[0] == now[0] && hasParts(was):
		return d.below(set, was, now, depth+1)
	default: // the manifest sets it, but perhaps without the fields nested under it
		return hasParts(was) || hasParts(now)
	}
}

// hasParts reports whether a value is an object or a list.
func hasParts(value []byte) bool { return value[0] == '{' || value[0] == '[' }

// part returns the value in an object or a list that a key of a set names, nil if there is none. known is false if that cannot be
// determined by comparing texts.
func (d *dropSearch) part(text, key []byte) (value []byte, known bool) {
	if len(key) < 2 || key[1] != ':' {
		return nil, false
	}
	switch {
	case key[0] == 'f' && text[0] == '{':
		at := rawjson.Find(text, string(key[2:]))
		if at.Present() {
			return at.Of(text), d.spend(at.End)
		}
		return nil, d.spend(len(text))
	case key[0] == 'k' && text[0] == '[':
		return d.element(text, key[2:])
	default:
		return nil, false
	}
}

// element returns the first element of a list that has the fields of a key, which is an object.
func (d *dropSearch) element(list, key []byte) (value []byte, known bool) {
	known = true
	rawjson.Elements(list, func(at rawjson.Span) (more bool) {
		element := at.Of(list)
		var same bool
		if same, known = d.hasKey(element, key); same && known {
			value = element
		}
		return known && value == nil
	})
	return value, known
}

// hasKey reports whether an element has the fields of a key. known is false unless the values are written as managedFields write
// them, so that different texts are different values.
func (d *dropSearch) hasKey(element, key []byte) (same, known bool) {
	fields := 0
	same, known = true, len(element) > 0 && element[0] == '{' && d.spend(len(key))
	rawjson.Members(key, func(name, value rawjson.Span) (more bool) {
		field, want := rawjson.Name(name.Of(key)), value.Of(key)
		fields++
		known = known && d.spend(len(element))
		is := rawjson.Find(element, string(field)).Of(element)
		if is == nil {
			is = rawjson.KeyDefault(string(field))
		}
		known = known && fieldtree.IsCanonical(want) && (is == nil || fieldtree.IsCanonical(is))
		same = same && bytes.Equal(is, want)
		return same && known
	})
	return same, known && fields > 0
}

// unquote returns a name; it is valid until the next call.
func (d *dropSearch) unquote(quoted []byte) (name []byte, ok bool) {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	var err error
	d.escape, err = jsontext.AppendUnquote(d.escape[:0], quoted)
	return d.escape, err == nil
}
