package ownership

import (
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Search is what is known about the fields of an applier's write, other than the scale field: those that are contested (Contested), those
// that it removes (Removed), and those whose value is recorded (AppliedValues). All are in one tree, so that each text is read once.
type Search struct {
	write   Write
	applied appliedValues

	tree  *fieldtree.Tree
	marks []mark // by Node.ID
	// atomic are the fields of which rules name a part that managedFields do not contain, with the marks of these parts, and inside are
	// the parts.
	atomic map[*fieldtree.Node]mark
	inside map[*fieldtree.Node]*insideField
	// matched is that of counterparts, nil before its first call.
	matched map[*jsontree.Node]*jsontree.Node
	// aliases are the other paths by which a manifest can set a field.
	aliases map[*fieldtree.Node]*fieldtree.Node
	// elsewhere are the first writers of rules that have an entry in another API version.
	elsewhere map[*Rule]Entry
	// written are the fields in a unit that managers other than client-side appliers have written.
	written map[*fieldtree.Node][]writtenField
	// losers are the first managers that lose a field in the write.
	losers map[*fieldtree.Node]string

	inLive, inIncoming, inManifest, inBase fieldtree.Places
	managers                               [][]int // the indexes of the live entries that contain a field, by Node.ID
}

// mark is what a field of the tree is there for; a field can have several.
type mark uint8

const (
	contestedMark mark = 1 << iota
	recordedMark       // in AppliedAnnotation
	unitMark           // of UnitOf
	parentMark         // an entry contains others under the field
)

// insideField is a field inside an atomic field, which is one value to the API server: a Service's selector, or a list without keys
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy). Its managers are those of the atomic field.
type insideField struct {
	atomic *fieldtree.Node
	rules  []*Rule // that name it, in their order
	// unmatched reports that it is a list in live with elements that have no unique names, and that rules name something in them.
	unmatched bool
}

// writtenField is a field that a manager's entry contains. If other entries contain fields under it, the manager has only made the map
// that they are in (parentMark).
type writtenField struct {
	field   *fieldtree.Node
	manager string
}

// maxParents is the maximum length of the names of a field's parents together. Longer paths are not looked up.
const maxParents = 1 << 10

// Search finds the fields of an applier's write. The time is linear in the size of the objects. If the meter ends the work, the result is
// not valid. The error is ErrManagedFields.
func (w Write) Search() (*Search, error) {
	s := &Search{
		write: w, elsewhere: w.writersElsewhere(), applied: w.appliedValues(), tree: &fieldtree.Tree{MaxParents: maxParents},
		atomic: map[*fieldtree.Node]mark{}, inside: map[*fieldtree.Node]*insideField{}, aliases: map[*fieldtree.Node]*fieldtree.Node{},
		written: map[*fieldtree.Node][]writtenField{}, losers: map[*fieldtree.Node]string{},
	}
	for _, add := range []func() error{s.addRuled, s.addUnits, s.addRecorded, s.addLost} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	s.addInside()
	s.readValues()
	s.readManagers()
	return s, nil
}

// mark adds marks to a field, if it is not nil: its path can be too long.
func (s *Search) mark(n *fieldtree.Node, m mark) {
	if n != nil {
		s.marks = append(s.marks, make([]mark, max(0, n.ID+1-len(s.marks)))...)
		s.marks[n.ID] |= m
	}
}

// is reports whether a field has one of the marks.
func (s *Search) is(n *fieldtree.Node, m mark) bool {
	return n.ID < len(s.marks) && s.marks[n.ID]&m != 0
}

// addMatching marks the fields of an entry that rules match, and those into which they lead.
func (s *Search) addMatching(e Entry, rules ruleMatcher, m mark) error {
	leaf, above := func(n *fieldtree.Node) { s.mark(n, m) }, func(n *fieldtree.Node) { s.atomic[n] |= m }
	return unreadable(e, fieldtree.AddMatching(s.tree, e.Fields, rules.Start, rules.Step, leaf, above))
}

// unreadable returns the error about the field set of an entry, nil if err is nil.
func unreadable(e Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the field set of %s: %w", ErrManagedFields, e.Manager, err)
}

// addRuled adds the fields that the rules match and that one of their writers has written. Under a rule for any writer, a value that only
// appliers manage can be another writer's as well: some tools rename the managers of others.
//
// A writer can have written a field through another API version, at a path that this version does not have. Therefore, once a
// writer has an entry in another version, the fields that the rule names without wildcards are added as well.
func (s *Search) addRuled() error {
	rules := s.write.Managers.rules
	for _, e := range s.write.LiveEntries {
		canWrite := rules.matcher(s.write.Meter, func(rule *Rule) bool { return rule.AnyWriter() || s.write.Managers.writes(rule, e) })
		if err := s.addMatching(e, canWrite, contestedMark); err != nil {
			return err
		}
	}
	for _, rule := range rules.rules {
		for _, pattern := range rule.Fields {
			path, isPath := pattern.Path()
			if _, found := s.elsewhere[rule]; found && isPath {
				s.mark(s.tree.AddUnwanted(path), contestedMark)
			}
		}
	}
	return nil
}

// writersElsewhere returns the first entry in another API version of a writer of each rule.
func (w Write) writersElsewhere() map[*Rule]Entry {
	first := map[*Rule]Entry{}
	for _, e := range slices.Backward(w.LiveEntries) {
		for _, rule := range w.Managers.rules.rules {
			if e.Subresource != "status" && w.InOtherVersion(e) && w.Managers.writes(rule, e) {
				first[rule] = e
			}
		}
	}
	return first
}

// addUnits adds the units that a manager other than a client-side applier has written, if the manifest drops fields. What rules
// assign to a controller is not one.
func (s *Search) addUnits() error {
	w := s.write
	if m := w.Manifests; m.base == nil || m.sameText() && !w.DryRun { // kubectl diff does not send its manifest
		return nil
	}
	patterns := ruleMatcher{Start: []*ruleTree{unitTree}, Meter: w.Meter}
	for _, e := range w.LiveEntries {
		if e.Subresource != "" || w.isClientSide(e) {
			continue
		}
		addUnit := func(n *fieldtree.Node) {
			path := n.Path()
			unit, _, isUnit := w.Live.UnitOf(w.Kind.GroupKind(), path)
			isAssigned := func(r *Rule) bool { return w.Managers.writes(r, e) }
			if !isUnit || slices.ContainsFunc(w.Managers.rules.covering(path, w.Meter), isAssigned) {
				return
			}
			of := n
			for of.Depth() > len(unit) {
				of = of.Parent()
			}
			s.mark(of, contestedMark|unitMark)
			s.written[of] = append(s.written[of], writtenField{n, e.Manager})
		}
		if err := unreadable(e, fieldtree.AddMatching(s.tree, e.Fields, patterns.Start, patterns.Step, addUnit, nil)); err != nil {
			return err
		}
	}
	return nil
}

// isClientSide reports whether an entry is that of a client-side applier, which records its manifest elsewhere.
func (w Write) isClientSide(e Entry) bool {
	return e.Operation == managedfields.OperationUpdate && w.Managers.IsApplier(e)
}

// readValues finds the values of the fields, and those of their aliases.
func (s *Search) readValues() {
	w := s.write
	for _, n := range slices.Clone(s.tree.Nodes()) {
		if _, isLost := s.losers[n]; !isLost && !s.is(n, contestedMark|recordedMark) {
			continue
		}
		if alias := s.tree.AddUnwanted(apitypes.AliasOf(w.Kind.GroupKind(), n.Path())); alias != nil {
			s.aliases[n] = alias
		}
	}
	s.inLive, s.inIncoming = s.tree.Find(w.Live.root), s.tree.Find(w.Incoming.root)
	s.inManifest, s.inBase = s.tree.Find(w.Manifests.manifest), s.tree.Find(w.Manifests.base)
}

// readManagers reads which live entries contain the fields.
func (s *Search) readManagers() {
	s.managers = make([][]int, s.tree.Len())
	for i, e := range s.write.LiveEntries {
		s.tree.Managed(e.Fields, func(p fieldtree.Part) {
			if s.is(p.Node, contestedMark|recordedMark) || s.atomic[p.Node] != 0 {
				s.managers[p.Node.ID] = append(s.managers[p.Node.ID], i)
			}
			if !fieldtree.IsLeaf(p.Subset) {
				s.mark(p.Node, parentMark)
			}
		})
	}
	for n, in := range s.inside {
		s.managers[n.ID] = s.managers[in.atomic.ID]
	}
}

// isKey reports whether a managed field identifies a list element, and so is not a value to keep.
func (s *Search) isKey(n *fieldtree.Node) bool {
	return n.Element.Key != nil && s.inside[n] == nil || n.IsKey()
}

// valueIn returns the value of a field in a manifest, by its own path or the other one, nil if the manifest lacks it.
func (s *Search) valueIn(manifest fieldtree.Places, n *fieldtree.Node) *jsontree.Node {
	value, alias := manifest.Of(n), s.aliases[n]
	switch {
	case alias == nil || apitypes.SetsNothing(manifest.Of(alias)):
		return value
	case apitypes.StringData(s.write.Kind.GroupKind(), n.Path()) != nil: // it replaces the same key of data
		return apitypes.Encoded(manifest.Of(alias))
	case apitypes.SetsNothing(value): // the other name of the service account
		return manifest.Of(alias)
	default:
		return value
	}
}

// isBase reports whether live has the value of a field that the base sets.
func (s *Search) isBase(n *fieldtree.Node) bool {
	return apitypes.AsDeclared(n.Path(), s.inLive.Of(n).Text(), s.valueIn(s.inBase, n).Text())
}

// declared returns how the manifests declare a field, at its own path or at the other one.
func (s *Search) declared(n *fieldtree.Node, path fieldpath.Path) Declared {
	var alias, atomic fieldpath.Path
	if other := s.aliases[n]; other != nil {
		alias = other.Path()
	}
	if in := s.inside[n]; in != nil {
		atomic = in.atomic.Path()
	}
	return s.write.declared(path, alias, atomic)
}

// droppedParent returns the outermost parent of a field that the manifest drops, nil if there is none.
func (s *Search) droppedParent(n *fieldtree.Node) (dropped *fieldtree.Node) {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if s.inBase.Of(n) != nil && s.inManifest.Of(n) == nil {
			dropped = n
		}
	}
	return dropped
}

// goneElement returns the outermost list element that contains a field and that the write removes, the field itself if there is none.
func (s *Search) goneElement(n *fieldtree.Node) (gone *fieldtree.Node) {
	gone = n
	for ; n != nil; n = n.Parent() {
		if !n.IsField() && s.inLive.Of(n) != nil && s.inIncoming.Of(n) == nil {
			gone = n
		}
	}
	return gone
}
