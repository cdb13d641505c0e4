package ownership

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// ContestedField is a field of live that both the sender of a write and another manager can set, and its owner.
type ContestedField struct {
	Path fieldpath.Path
	// Atomic is the path of the atomic field that contains the field, nil if managedFields contain the field itself. Elements of lists
	// in an atomic field are named by the fields that the rule names (Pattern).
	Atomic fieldpath.Path
	// Unmatched is why the elements of a list in an atomic field, which is then the field, or of a list that the field is in, cannot be
	// matched one to one between live and incoming; empty if they can.
	Unmatched string
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

// ContestedFields returns the contested fields of an applier's write, other than the scale field:
//   - fields that rules assign to controllers and that a controller has written, also inside an atomic field that it has written
//   - units that a manager other than a client-side applier has written, if the manifest drops fields (UnitOf)
//
// Fields that live lacks are not contested, nor are parents of the scale field. The order is that of managedFields.
//
// The time is linear in the size of the objects. If the meter ends the work, the result is not valid. The error is
// ErrManagedFields.
func (w Write) ContestedFields() ([]ContestedField, error) {
	s := newSearch(w)
	if err := s.addRuled(); err != nil {
		return nil, err
	}
	if err := s.addUnits(); err != nil {
		return nil, err
	}
	s.addInside(func(*Rule) bool { return true }, w.Live)
	s.readValues()
	s.readManagers()
	fields := make([]ContestedField, 0, s.tree.Len())
	for _, n := range s.tree.Nodes() {
		if !n.Wanted || s.inLive.Of(n) == nil || s.isParentOrKey(n) {
			continue
		}
		if field, ok := s.field(n); ok && !fieldpattern.HasPrefix(w.Scale, field.Path) && !isNeverKept(field.Path) {
			fields = append(fields, field)
		}
	}
	return fields, nil
}

// search collects the paths of a write's contested fields in a tree, and then finds what the write has at these paths.
type search struct {
	write   Write
	applied appliedValues

	tree   *fieldtree.Tree
	isUnit map[*fieldtree.Node]bool
	// atomic are the fields of which rules name a part that managedFields do not contain, and inside these parts.
	atomic map[*fieldtree.Node]bool
	inside map[*fieldtree.Node]*insideField
	// matched is that of counterparts, nil before its first call.
	matched map[*jsontree.Node]*jsontree.Node
	// aliases are the other paths by which a manifest can set a field.
	aliases map[*fieldtree.Node]*fieldtree.Node
	// elsewhere are the first writers of rules that have an entry in another API version.
	elsewhere map[*Rule]Entry

	inLive, inIncoming, inManifest, inBase fieldtree.Places
	managers                               [][]int      // the indexes of the live entries that contain a field, by Node.ID
	parents                                map[int]bool // the fields under which an entry contains others, by Node.ID
}

func newSearch(w Write) *search {
	return &search{
		write: w, tree: &fieldtree.Tree{}, isUnit: map[*fieldtree.Node]bool{}, aliases: map[*fieldtree.Node]*fieldtree.Node{},
		elsewhere: map[*Rule]Entry{}, applied: w.appliedValues(), atomic: map[*fieldtree.Node]bool{}, inside: map[*fieldtree.Node]*insideField{},
	}
}

// addMatching adds the fields of an entry that m matches, and calls leaf and above as fieldtree.AddMatching does.
func (s *search) addMatching(e Entry, m ruleMatcher, leaf, above func(*fieldtree.Node)) error {
	return unreadable(e, fieldtree.AddMatching(s.tree, e.Fields, m.Start, m.Step, leaf, above))
}

// unreadable returns the error about the field set of an entry, nil if err is nil.
func unreadable(e Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the field set of %s: %w", ErrManagedFields, e.Manager, err)
}

// addWanted wants a field that a rule matches.
func addWanted(n *fieldtree.Node) { n.Wanted = true }

// addRuled adds the fields that the rules match and that one of their writers has written. Under a rule for any writer, a value that only
// appliers manage can be another writer's as well: some tools rename the managers of others.
//
// A writer can have written a field through another API version, at a path that this version does not have. Therefore, once a
// writer has an entry in another version, the fields that the rule names without wildcards are added as well.
func (s *search) addRuled() error {
	rules := s.write.Managers.rules
	for _, e := range s.write.LiveEntries {
		writes := func(rule *Rule) bool { return s.write.Managers.writes(rule, e) }
		canWrite := rules.matcher(s.write.Meter, func(rule *Rule) bool { return rule.AnyWriter() || writes(rule) })
		if err := s.addMatching(e, canWrite, addWanted, s.addAtomic); err != nil {
			return err
		}
		for _, rule := range rules.rules {
			if _, found := s.elsewhere[rule]; !found && e.Subresource != "status" && s.write.InOtherVersion(e) && writes(rule) {
				s.elsewhere[rule] = e
			}
		}
	}
	for _, rule := range rules.rules {
		for _, pattern := range rule.Fields {
			path, isPath := pattern.Path()
			if _, found := s.elsewhere[rule]; found && isPath {
				s.tree.Add(path)
			}
		}
	}
	return nil
}

// addAtomic records a leaf of an entry that a rule leads into.
func (s *search) addAtomic(n *fieldtree.Node) { s.atomic[n] = true }

// addUnits adds the units that a manager other than a client-side applier has written, if the manifest drops fields. What rules
// assign to a controller is not one.
func (s *search) addUnits() error {
	w := s.write
	if m := w.Manifests; m.base == nil || m.sameText() && !w.DryRun { // kubectl diff does not send its manifest
		return nil
	}
	patterns := ruleMatcher{Start: []*ruleTree{unitTree}, Meter: w.Meter}
	for _, e := range w.LiveEntries {
		if e.Subresource != "" || s.isClientSide(e) {
			continue
		}
		addUnit := func(n *fieldtree.Node) {
			path := n.Path()
			unit, _, isUnit := UnitOf(w.Kind.GroupKind(), path)
			if !isUnit || !s.isInPodTemplate(unit) || s.assigns(path, e) {
				return
			}
			for n.Depth() > len(unit) {
				n = n.Parent()
			}
			n.Wanted, s.isUnit[n] = true, true
		}
		if err := s.addMatching(e, patterns, addUnit, nil); err != nil {
			return err
		}
	}
	return nil
}

// assigns reports whether a rule assigns a field to the manager of an entry.
func (s *search) assigns(path fieldpath.Path, e Entry) bool {
	managers := s.write.Managers
	return slices.ContainsFunc(managers.rules.covering(path, s.write.Meter), func(r *Rule) bool { return managers.writes(r, e) })
}

// isClientSide reports whether an entry is that of a client-side applier, which records its manifest elsewhere.
func (s *search) isClientSide(e Entry) bool {
	return e.Operation == managedfields.OperationUpdate && s.write.Managers.IsApplier(e)
}

// isInPodTemplate reports whether a unit that is nested under a template is one of a pod template: other kinds have templates, too.
func (s *search) isInPodTemplate(unit fieldpath.Path) bool {
	at := slices.IndexFunc(unit, func(e fieldpath.PathElement) bool { return fieldpattern.IsNamed(e, "template") })
	if at < 0 {
		return true
	}
	containers := slices.Concat(unit[:at+1], fieldpath.MakePathOrDie("spec", "containers"))
	return len(s.write.Live.Value(containers)) > 0
}

// readValues finds the values of the fields that have been added, and those of their aliases.
func (s *search) readValues() {
	w := s.write
	for _, n := range slices.Clone(s.tree.Nodes()) {
		if n.Wanted && (n.Depth() == 2 || s.isUnit[n]) {
			s.aliases[n] = s.tree.AddUnwanted(apitypes.AliasOf(w.Kind.GroupKind(), n.Path()))
		}
	}
	s.inLive, s.inIncoming = s.tree.Find(w.Live.root), s.tree.Find(w.Incoming.root)
	s.inManifest, s.inBase = s.tree.Find(w.Manifests.manifest), s.tree.Find(w.Manifests.base)
}

// readManagers reads which live entries contain the fields.
func (s *search) readManagers() {
	s.managers, s.parents = make([][]int, s.tree.Len()), map[int]bool{}
	for i, e := range s.write.LiveEntries {
		s.tree.Managed(e.Fields, func(n *fieldtree.Node, subset *jsontree.Node) {
			if !n.Wanted && !s.atomic[n] {
				return
			}
			s.managers[n.ID] = append(s.managers[n.ID], i)
			s.parents[n.ID] = s.parents[n.ID] || !fieldtree.IsLeaf(subset)
		})
	}
	for n, in := range s.inside {
		s.managers[n.ID] = s.managers[in.atomic.ID]
	}
}

// entriesOf returns the live entries that contain a field.
func (s *search) entriesOf(n *fieldtree.Node) []Entry {
	entries := make([]Entry, len(s.managers[n.ID]))
	for i, at := range s.managers[n.ID] {
		entries[i] = s.write.LiveEntries[at]
	}
	return entries
}

// isParentOrKey reports whether a managed field is the parent or the key of others, and so not a value to keep: a manager
// that adds the first key to a map manages the map as well, and the key fields identify a list element.
func (s *search) isParentOrKey(n *fieldtree.Node) bool {
	return s.parents[n.ID] && !s.isUnit[n] || n.Element.Key != nil && s.inside[n] == nil || n.IsKey()
}

// field returns a contested field; ok is false for a unit that its manifest has set last, for a field of a rule that no controller has
// written, and for one inside an atomic field of which the manifest sets nothing of its kind.
func (s *search) field(n *fieldtree.Node) (c ContestedField, ok bool) {
	c = ContestedField{
		Path: n.Path(), Unit: s.isUnit[n],
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
		c.Atomic, rules = in.atomic.Path(), in.rules
	}
	if len(rules) > 0 && !s.parents[n.ID] {
		c.Declared = s.declared(n, c.Path)
		c.Owner = s.ruledOwner(n, c, rules)
		c.Removed = c.Declared == (Declared{}) && c.Changed() && s.removes(n, c)
		s.applied.setEdited(&c, rules, s.inBase.Of(n).Text())
	}
	switch {
	case c.Owner.Kind >= Controller:
		c.Unit, c.Unmatched = false, s.unmatched(n, c.Changed())
		return c, in == nil || c.Unmatched == "" || c.Changed()
	case c.Unit:
		c.Declared, c.Removed = s.declaredUnit(n, c), false
		c.Owner, ok = s.unitOwner(n, c)
	}
	return c, ok
}

// unitOwner returns the manager that has written a unit; ok is false if live has the value that the base sets.
func (s *search) unitOwner(n *fieldtree.Node, c ContestedField) (owner FieldOwner, ok bool) {
	if apitypes.AsDeclared(c.Path, c.Live, s.unitIn(s.inBase, n).Text()) {
		return owner, false
	}
	for _, e := range s.entriesOf(n) {
		if e.Subresource == "" && !s.isClientSide(e) {
			return FieldOwner{Kind: Imperative, By: e.Manager}, true
		}
	}
	return owner, false
}

// unitIn returns the value of a unit in a manifest, nil if the manifest lacks it.
func (s *search) unitIn(manifest fieldtree.Places, n *fieldtree.Node) *jsontree.Node {
	value, alias := manifest.Of(n), s.aliases[n]
	switch {
	case alias == nil || apitypes.SetsNothing(manifest.Of(alias)):
		return value
	case n.Depth() == 2: // stringData, which replaces the same key of data
		return apitypes.Encoded(manifest.Of(alias))
	case apitypes.SetsNothing(value): // the other name of the service account
		return manifest.Of(alias)
	default:
		return value
	}
}

// declaredUnit returns how the manifests declare a unit: an empty object sets nothing.
func (s *search) declaredUnit(n *fieldtree.Node, c ContestedField) Declared {
	m := s.write.Manifests
	declared := Declared{Base: setsIf(!apitypes.SetsNothing(s.unitIn(s.inBase, n)))}
	switch {
	case !apitypes.SetsNothing(s.unitIn(s.inManifest, n)):
		declared.Manifest = Sets
	case declarationIn(m.manifest, c.Path) == Clears:
		declared.Manifest = Clears
	}
	if s.write.Unsent() && apitypes.SetsNothing(s.inIncoming.Of(n)) {
		declared.Manifest = Lacks // kubectl diff of a manifest without the field
	}
	return declared
}

// ruledOwner returns the owner of a field that rules name. A field that no entry of the write's version contains, and that does
// not have the value of the base, was written by the controller that has an entry in another version.
func (s *search) ruledOwner(n *fieldtree.Node, c ContestedField, rules []*Rule) FieldOwner {
	isBase := s.isBase(n)
	for _, rule := range rules {
		if e, found := s.elsewhere[rule]; found && len(s.managers[n.ID]) == 0 && !isBase {
			return FieldOwner{Kind: Controller, By: e.Manager, Rule: rule.Name}
		}
	}
	f := managedField{path: c.Path, entries: s.entriesOf(n), without: c.Declared.ownerWithoutEntry(), rules: rules}
	f.isApplied, f.isUnapplied = s.applied.status(c.Path, c.Live, isBase)
	if !f.isApplied && c.Declared.Manifest == Lacks && s.write.Sender.ServerSide() {
		f.isUnapplied = true // there is no base with values: it can be a value whose entry was renamed to that of the applier
	}
	owner, _ := s.write.ownerOf(f)
	return owner
}

// removes reports whether a write that changes a field removes it. If the manifest drops a parent of the field, or the sender comes to
// manage the field although no manifest sets it, as with retainKeys, the API server has defaulted it since.
func (s *search) removes(n *fieldtree.Node, c ContestedField) bool {
	m := s.write.Manifests
	if len(c.Incoming) == 0 || string(c.Incoming) == jsonNull || m.Recorded && s.write.gains(c.Path) {
		return true
	}
	parent := s.droppedParent(n)
	return parent != nil && parent.Depth() > 1 // the API server does not default a whole spec
}

// droppedParent returns the outermost parent of a field that the manifest drops, nil if there is none.
func (s *search) droppedParent(n *fieldtree.Node) (dropped *fieldtree.Node) {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if s.inBase.Of(n) != nil && s.inManifest.Of(n) == nil {
			dropped = n
		}
	}
	return dropped
}

// declared returns how the manifests declare a field, at its own path or at the other one.
func (s *search) declared(n *fieldtree.Node, path fieldpath.Path) Declared {
	var alias, atomic fieldpath.Path
	if other := s.aliases[n]; other != nil {
		alias = other.Path()
	}
	if in := s.inside[n]; in != nil {
		atomic = in.atomic.Path()
	}
	return s.write.declared(path, alias, atomic)
}
