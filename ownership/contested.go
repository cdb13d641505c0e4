package ownership

import (
	"iter"
	"slices"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
)

// Contested returns the contested fields of the write, other than the scale field:
//   - fields that rules assign to controllers and that a controller has written, also inside an atomic field that it has written
//   - units that a manager other than a client-side applier has written, if the manifest drops fields (UnitOf)
//   - defaults that no manager has declared and that conflict with a choice of the manifest (ContestedField.Contradicts)
//
// Fields that live lacks are not contested, nor are parents of the scale field and fields that go with what they are in. The order is that
// of managedFields; the defaults come last.
func (s *Search) Contested() iter.Seq[ContestedField] {
	return func(yield func(ContestedField) bool) {
		for _, n := range s.tree.Nodes() {
			isParent := s.is(n, parentMark) && !s.is(n, unitMark)
			if !s.is(n, contestedMark) || s.inLive.Of(n) == nil || isParent || s.isKey(n) {
				continue
			}
			field, ok := s.field(n)
			ok = ok && !fieldpattern.HasPrefix(s.write.Scale, field.Path) && !isNeverKept(field.Path) && !s.goes(n, field)
			if ok && !yield(field) {
				return
			}
		}
		for _, field := range s.write.staleDefaults() {
			if !yield(field) {
				return
			}
		}
	}
}

// goes reports whether a field goes with what it is in: a list element that the manifest removes, or the parent of a unit.
func (s *Search) goes(n *fieldtree.Node, c ContestedField) bool {
	element := s.goneElement(n)
	isGone := !element.IsField() && s.inIncoming.Of(element) == nil
	return c.Unmatched == "" && (isGone || c.Unit && s.lacksParent(n, c))
}

// lacksParent reports whether the incoming object lacks the parent of a unit: for a key, what contains its map of strings.
func (s *Search) lacksParent(n *fieldtree.Node, c ContestedField) bool {
	parent := n.Parent()
	if _, inMap, _ := s.write.Live.UnitOf(s.write.Kind.GroupKind(), c.Path); inMap {
		parent = parent.Parent()
	}
	return parent != nil && (s.inIncoming.Of(parent) == nil || s.inIncoming.Of(parent).IsNull())
}

// field returns a contested field; ok is false for a unit that its manifest has set last, for a field of a rule that no controller has
// written, and for one inside an atomic field of which the manifest sets nothing of its kind.
func (s *Search) field(n *fieldtree.Node) (c ContestedField, ok bool) {
	c = ContestedField{
		Path: n.Path(), Unit: s.is(n, unitMark),
		Live: s.inLive.Of(n).Text(), Incoming: s.inIncoming.Of(n).Text(),
	}
	in := s.inside[n]
	var rules []*Rule
	switch {
	case in == nil:
		rules = s.write.Managers.rules.covering(c.Path, s.write.Meter)
	case s.inIncoming.Of(in.atomic).Kind() != s.inLive.Of(in.atomic).Kind():
		return c, false
	default:
		c.Atomic, rules = in.atomic.Depth(), in.rules
	}
	if len(rules) > 0 && !s.is(n, parentMark) {
		c.Declared = s.declared(n, c.Path)
		c.Owner = s.ruledOwner(n, c, rules)
		c.Removed = c.Declared == (Declared{}) && c.Changed() && s.removes(n, c)
		s.applied.setEdited(&c, rules, s.valueIn(s.inBase, n).Text())
	}
	switch {
	case c.Owner.Kind >= Controller:
		c.Unit, c.Unmatched = false, s.unmatched(n, c.Changed())
		return c, in == nil || c.Unmatched == "" || c.Changed()
	case c.Unit:
		c.Declared, c.Removed = s.declaredUnit(n, c), false
		c.Owner, ok = s.unitOwner(n)
	}
	return c, ok
}

// unitOwner returns the manager that has written a value in a unit; ok is false if there is none, or if live has the value of the base.
func (s *Search) unitOwner(n *fieldtree.Node) (owner FieldOwner, ok bool) {
	i := slices.IndexFunc(s.written[n], func(w writtenField) bool { return !s.is(w.field, parentMark) })
	if i < 0 || s.isBase(n) {
		return owner, false
	}
	return FieldOwner{Kind: Imperative, By: s.written[n][i].manager}, true
}

// declaredUnit returns how the manifests declare a unit: an empty object sets nothing.
func (s *Search) declaredUnit(n *fieldtree.Node, c ContestedField) Declared {
	m := s.write.Manifests
	declared := Declared{Base: setsIf(!apitypes.SetsNothing(s.valueIn(s.inBase, n)))}
	switch {
	case !apitypes.SetsNothing(s.valueIn(s.inManifest, n)):
		declared.Manifest = Sets
	case DeclarationIn(m.manifest, c.Path) == Clears:
		declared.Manifest = Clears
	}
	if s.write.Unsent() && apitypes.SetsNothing(s.inIncoming.Of(n)) {
		declared.Manifest = Lacks // kubectl diff of a manifest without the field
	}
	return declared
}

// ruledOwner returns the owner of a field that rules name. A field that no entry of the write's version contains, and that does not have
// the value of the base, was written by the controller that has an entry in another version: addRuled has added it for one.
func (s *Search) ruledOwner(n *fieldtree.Node, c ContestedField, rules []*Rule) FieldOwner {
	isBase := s.isBase(n)
	for _, rule := range rules {
		if e, found := s.elsewhere[rule]; found && len(s.managers[n.ID]) == 0 && !isBase {
			return FieldOwner{Kind: Controller, By: e.Manager, Rule: rule.Name}
		}
	}
	f := managedField{path: c.Path, without: c.Declared.ownerWithoutEntry(), rules: rules}
	for _, at := range s.managers[n.ID] {
		if !s.write.Meter.Spend(stepsPerName) {
			break
		}
		f.entries = append(f.entries, s.write.LiveEntries[at])
	}
	f.isApplied, f.isUnapplied = s.applied.status(c.Path, c.Live, isBase)
	if !f.isApplied && c.Declared.Manifest == Lacks && s.write.Sender.ServerSide() {
		f.isUnapplied = true // there is no base with values: it can be a value whose entry was renamed to that of the applier
	}
	owner, _ := s.write.ownerOf(f)
	return owner
}

// removes reports whether a write that changes a field removes it. If the manifest drops a parent of the field, or the sender comes to
// manage the field although no manifest sets it, as with retainKeys, the API server has defaulted it since.
func (s *Search) removes(n *fieldtree.Node, c ContestedField) bool {
	m := s.write.Manifests
	if IsUnset(c.Incoming) || m.Recorded && s.write.gains(c.Path) {
		return true
	}
	parent := s.droppedParent(n)
	return parent != nil && parent.Depth() > 1 // the API server does not default a whole spec
}
