package merge

import "github.com/ownership-handoff/handoff/ownership"

// field is what the three inputs have of a field that the manifest mentions; live and base are nil where they lack it.
type field struct {
	base, manifest, live *node
	schema               Schema
}

// field returns what becomes of a field that the manifest mentions: live's own node where nothing, a node without kind
// where the field goes or does not come.
func (m *merger) field(f field, mergePatch bool) (node, error) {
	strategy := f.schema.Strategy()
	if err := m.check(inManifest, f.manifest, strategy.Holds); err != nil {
		return node{}, err
	}
	switch {
	case f.manifest.kind == 'n':
		return m.null(f, mergePatch)
	case f.live == nil || f.live.kind == 'n':
		return m.add(f, mergePatch), nil
	}
	if err := m.check(inLive, f.live, strategy.Holds); err != nil {
		return node{}, err
	}
	if f.base != nil && !f.base.is(f.manifest) {
		f.base = nil // a base of another kind has nothing that the manifest could have let go of
	}
	if !f.live.is(f.manifest) {
		return m.add(f, mergePatch), nil
	}
	return m.alike(f, mergePatch)
}

// alike returns what becomes of a field whose values in manifest and live are of one kind.
func (m *merger) alike(f field, mergePatch bool) (node, error) {
	switch strategy := f.schema.Strategy(); {
	case f.manifest.kind == '{' && strategy.Object != ReplaceObject:
		return m.object(f.base, f.manifest, f.live, f.schema)
	case f.manifest.kind == '[' && strategy.List != ReplaceList:
		return m.list(f)
	case equal(f.manifest, f.live):
		return *f.live, nil
	case mergePatch:
		return m.set(f, withoutNulls(f.manifest)), nil
	default:
		return m.set(f, *f.manifest), nil // as it is: strategicpatch leaves nulls in what replaces a list
	}
}

// null is what becomes of a field that the manifest sets to null.
func (m *merger) null(f field, mergePatch bool) (node, error) {
	switch {
	case f.live == nil:
		return node{}, nil
	case mergePatch && f.base != nil && f.base.kind == 'n':
		return *f.live, nil // jsonmergepatch sees no change between base and manifest
	case !mergePatch && f.live.kind == 'n':
		return *f.live, nil
	default:
		return m.remove(removal{live: f.live, base: f.base, schema: f.schema, null: true})
	}
}

// add puts the manifest's value where live has none, or one of another kind. Nulls in it have nothing to clear, and go.
func (m *merger) add(f field, mergePatch bool) node {
	value, there := withoutNulls(f.manifest), true
	if mergePatch {
		value, there = created(f.base, f.manifest)
	}
	switch {
	case there:
		return m.set(f, value)
	case f.live != nil:
		return *f.live
	default:
		return node{}
	}
}

// set puts a value in the place of live's, unless live's owner keeps that.
func (m *merger) set(f field, value node) node {
	if f.live == nil || f.live.kind == 'n' {
		m.record(FieldAdded, f.live, &value, nobody(), 0)
		return value
	}
	d := m.decide(ownership.Sets, f.base)
	if d.Verdict == Keep {
		m.record(FieldKept, f.live, f.live, d.owned, d.Row)
		return *f.live
	}
	m.record(FieldSet, f.live, &value, d.owned, d.Row)
	return value
}
