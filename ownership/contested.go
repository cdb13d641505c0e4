package ownership

import (
	"bytes"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// ContestedField is a field of live that both the sender of a write and another manager can set, and its owner.
type ContestedField struct {
	Path fieldpath.Path
	// Live and Incoming are its values as JSON; Incoming is nil if the incoming object lacks the field.
	Live, Incoming []byte
	// Declared is how the manifests declare the field. It is zero unless the sender is an applier.
	Declared Declared
	// Owner is its owner in live.
	Owner FieldOwner

	// Scale reports whether it is the object's scale field, Unit whether it is a unit (UnitOf).
	Scale, Unit bool
	// Removed reports whether the write removes the field although neither manifest has it, as replacing the whole object
	// does. Any other change that no manifest declares was made by another admission webhook, and must not be undone.
	Removed bool
}

// Changed reports whether the write changes the field's value.
func (f ContestedField) Changed() bool { return !bytes.Equal(f.Live, f.Incoming) }

// ContestedFields returns the contested fields of an applier's write, other than the scale field:
//   - fields that rules assign to controllers and that a controller has written
//   - units that a manager other than a client-side applier has written, if the manifest drops fields (UnitOf)
//
// Fields that live lacks are not contested, nor are parents of the scale field. The order is that of managedFields.
//
// The time is linear in the size of the objects. If the meter ends the work, the result is not valid. The error is
// ErrManagedFields.
func (c ObjectContext) ContestedFields(w Write) ([]ContestedField, error) {
	s := search{
		context: c, write: w, tree: &fieldtree.Tree{}, isUnit: map[*fieldtree.Node]bool{}, aliases: map[*fieldtree.Node]*fieldtree.Node{},
		rules: patternMatcher{tree: c.Managers.controlled, meter: w.Meter},
	}
	if err := s.addRuled(); err != nil {
		return nil, err
	}
	if err := s.addUnits(); err != nil {
		return nil, err
	}
	if s.tree.Empty() {
		return nil, nil
	}
	s.addAliases()
	f := s.facts()
	f.readManagers()
	fields := make([]ContestedField, 0, s.tree.Len())
	for _, n := range s.tree.Nodes() {
		if !n.Wanted || f.inLive.Of(n) == nil || f.isParentOrKey(n) || HasPrefix(c.Scale, n.Path()) || isNeverKept(n.Path()) {
			continue
		}
		if field, ok := f.field(n); ok {
			fields = append(fields, field)
		}
	}
	return fields, nil
}

// search collects the paths of a write's contested fields in a tree.
type search struct {
	context ObjectContext
	write   Write
	rules   patternMatcher

	tree   *fieldtree.Tree
	isUnit map[*fieldtree.Node]bool
	// aliases are the other paths by which a manifest can set a field.
	aliases map[*fieldtree.Node]*fieldtree.Node
	// elsewhere is a controller with an entry in another API version, empty if there is none.
	elsewhere string
}

// addMatching adds the fields of an entry that m matches to a tree.
func addMatching[State any](to *fieldtree.Tree, e Entry, m fieldtree.Matcher[State]) error {
	if err := fieldtree.AddMatching(to, e.Fields, m); err != nil {
		return fmt.Errorf("%w: the field set of %s: %w", ErrManagedFields, e.Manager, err)
	}
	return nil
}

// addRuled adds the fields that the rules match and that a controller has written. Every manager that is neither an
// applier nor imperative counts as a controller. Entries of the status subresource do not count: manifests cannot set it.
//
// A controller can have written a field through another API version, at a path that this version does not have. Therefore, once a
// controller has an entry in another version, the fields that the rules name without wildcards are added as well.
func (s *search) addRuled() error {
	if s.rules.tree == nil {
		return nil
	}
	for _, e := range s.write.LiveEntries {
		if !s.isController(e) {
			continue
		}
		if err := addMatching(s.tree, e, s.rules); err != nil {
			return err
		}
		if s.elsewhere == "" && s.write.InOtherVersion(e) {
			s.elsewhere = e.Manager
		}
	}
	if s.elsewhere == "" {
		return nil
	}
	for _, pattern := range s.rules.tree.patterns {
		if path, ok := pattern.path(); ok {
			s.tree.Add(path)
		}
	}
	return nil
}

// addUnits adds the units that a manager other than a client-side applier has written, if the manifest drops fields. What rules
// assign to a controller is not one.
func (s *search) addUnits() error {
	w := s.write
	if !w.Manifests.mayDrop(w.DryRun) {
		return nil
	}
	patterns := patternMatcher{tree: unitTree, meter: w.Meter}
	for _, e := range w.LiveEntries {
		if e.Subresource != "" || s.isClientSide(e) {
			continue
		}
		own := &fieldtree.Tree{}
		if err := addMatching(own, e, patterns); err != nil {
			return err
		}
		ruled := s.isController(e)
		for _, n := range own.Nodes() {
			if path := n.Path(); n.Wanted && (!ruled || !s.rules.covers(path)) {
				s.addUnit(path)
			}
		}
	}
	return nil
}

// isController reports whether an entry is that of a controller, to which rules assign fields.
func (s *search) isController(e Entry) bool {
	managers := s.context.Managers
	return e.Subresource != "status" && !managers.IsApplier(e) && !managers.IsImperative(e)
}

// isClientSide reports whether an entry is that of a client-side applier, which records its manifest elsewhere.
func (s *search) isClientSide(e Entry) bool {
	return e.Operation == OperationUpdate && s.context.Managers.IsApplier(e)
}

// addUnit adds the unit that a field is or belongs to.
func (s *search) addUnit(path fieldpath.Path) {
	unit, _, ok := UnitOf(s.write.Kind.GroupKind(), path)
	if !ok || !s.isInPodTemplate(unit) {
		return
	}
	if n := s.tree.Add(unit); n != nil {
		s.isUnit[n] = true
	}
}

// addAliases adds the other paths by which a manifest can set the fields.
func (s *search) addAliases() {
	for _, n := range s.tree.Nodes() {
		if !n.Wanted || n.Depth() != 2 && !s.isUnit[n] {
			continue
		}
		if alias := aliasOf(s.write.Kind.GroupKind(), n.Path()); alias != nil {
			s.aliases[n] = s.tree.AddUnwanted(alias)
		}
	}
}

// isInPodTemplate reports whether a unit that is nested under a template is one of a pod template: other kinds have templates, too.
func (s *search) isInPodTemplate(unit fieldpath.Path) bool {
	at := slices.IndexFunc(unit, func(e fieldpath.PathElement) bool { return e.FieldName != nil && *e.FieldName == "template" })
	if at < 0 {
		return true
	}
	containers := slices.Concat(unit[:at+1], fieldpath.MakePathOrDie("spec", "containers"))
	return len(s.write.Live.Value(containers)) > 0
}

// facts are the values, the declarations and the managers of the fields that a search has found.
type facts struct {
	search *search

	inLive, inIncoming, inManifest, inBase fieldtree.Places
	managers                               [][]int32    // the indexes of the live entries that contain a field, by Node.ID
	parents                                map[int]bool // the fields under which an entry contains others, by Node.ID
}

func (s *search) facts() facts {
	w := s.write
	return facts{
		search: s,
		inLive: s.tree.Find(w.Live.root), inIncoming: s.tree.Find(w.Incoming.root),
		inManifest: s.tree.Find(w.Manifests.manifest), inBase: s.tree.Find(w.Manifests.base),
	}
}

// readManagers reads which live entries contain the fields.
func (f *facts) readManagers() {
	s := f.search
	f.managers, f.parents = make([][]int32, s.tree.Len()), map[int]bool{}
	for i, e := range s.write.LiveEntries {
		s.tree.Managed(e.Fields, func(n *fieldtree.Node, subset *jsontree.Node) {
			if !n.Wanted {
				return
			}
			f.managers[n.ID] = append(f.managers[n.ID], int32(i)) //nolint:gosec // an index of the entries of one object
			f.parents[n.ID] = f.parents[n.ID] || !fieldtree.IsLeaf(subset)
		})
	}
}

// entriesOf returns the live entries that contain a field.
func (f *facts) entriesOf(n *fieldtree.Node) []Entry {
	entries := make([]Entry, len(f.managers[n.ID]))
	for i, at := range f.managers[n.ID] {
		entries[i] = f.search.write.LiveEntries[at]
	}
	return entries
}

// isParentOrKey reports whether a managed field is the parent or the key of others, and so not a value to keep: a manager
// that adds the first key to a map manages the map as well, and the key fields identify a list element.
func (f *facts) isParentOrKey(n *fieldtree.Node) bool {
	return f.parents[n.ID] && !f.search.isUnit[n] || n.Element.Key != nil || n.IsKey()
}

// field returns a contested field; ok is false for a unit that its manifest has set last, and for a field of a rule that no
// controller has written.
func (f *facts) field(n *fieldtree.Node) (c ContestedField, ok bool) {
	c = ContestedField{
		Path: n.Path(), Unit: f.search.isUnit[n],
		Live: f.inLive.Of(n).Text(), Incoming: f.inIncoming.Of(n).Text(),
	}
	if f.search.rules.covers(c.Path) && !f.parents[n.ID] {
		c.Declared = f.declared(n, c.Path)
		c.Owner = f.ruledOwner(n, c)
		c.Removed = c.Declared == (Declared{}) && c.Changed() && f.removes(n, c)
	}
	if c.Owner.Kind >= Controller {
		c.Unit = false
		return c, true
	}
	if c.Unit {
		c.Declared, c.Removed = f.declaredUnit(n, c), false
		c.Owner, ok = f.unitOwner(n, c)
	}
	return c, ok
}

// unitOwner returns the manager that has written a unit; ok is false if live has the value that the base sets.
func (f *facts) unitOwner(n *fieldtree.Node, c ContestedField) (owner FieldOwner, ok bool) {
	if asDeclared(c.Path, c.Live, f.unitIn(f.inBase, n).Text()) {
		return owner, false
	}
	for _, e := range f.entriesOf(n) {
		if e.Subresource == "" && !f.search.isClientSide(e) {
			return FieldOwner{Kind: Imperative, By: e.Manager}, true
		}
	}
	return owner, false
}

// unitIn returns the value of a unit in a manifest, nil if the manifest lacks it.
func (f *facts) unitIn(manifest fieldtree.Places, n *fieldtree.Node) *jsontree.Node {
	value, alias := manifest.Of(n), f.search.aliases[n]
	switch {
	case !setsNothing(value) || alias == nil || setsNothing(manifest.Of(alias)):
		return value
	case n.Depth() > 2: // the other name of the service account
		return manifest.Of(alias)
	default:
		return encoded(manifest.Of(alias))
	}
}

// declaredUnit returns how the manifests declare a unit: an empty object sets nothing.
func (f *facts) declaredUnit(n *fieldtree.Node, c ContestedField) Declared {
	m := f.search.write.Manifests
	declared := Declared{Base: setsIf(!setsNothing(f.unitIn(f.inBase, n)))}
	switch {
	case !setsNothing(f.unitIn(f.inManifest, n)):
		declared.Manifest = Sets
	case declarationIn(m.manifest, c.Path) == Clears:
		declared.Manifest = Clears
	}
	if f.search.write.DryRun && m.sameText() && setsNothing(f.inIncoming.Of(n)) {
		declared.Manifest = Lacks // kubectl diff of a manifest without the field
	}
	return declared
}

// ruledOwner returns the owner of a field that a rule names. A field that no entry of the write's version contains, and that does
// not have the value of the base, was written by the controller that has an entry in another version.
func (f *facts) ruledOwner(n *fieldtree.Node, c ContestedField) FieldOwner {
	isBase := c.Declared.Base == Sets && f.isBase(n)
	if len(f.managers[n.ID]) == 0 && !isBase && f.search.elsewhere != "" {
		return FieldOwner{Kind: Controller, By: f.search.elsewhere}
	}
	return f.search.context.resolve(c.Path, f.entriesOf(n), c.Declared.Base, isBase)
}

// removes reports whether a write that changes a field removes it. If the manifest drops a parent of the field, or the sender comes to
// manage the field although no manifest sets it, as with retainKeys, the API server has defaulted it since.
func (f *facts) removes(n *fieldtree.Node, c ContestedField) bool {
	m := f.search.write.Manifests
	if len(c.Incoming) == 0 || string(c.Incoming) == jsonNull || m.Recorded && m.gains(c.Path) {
		return true
	}
	parent := f.droppedParent(n)
	return parent != nil && parent.Depth() > 1 // the API server does not default a whole spec
}

// droppedParent returns the outermost parent of a field that the manifest drops, nil if there is none.
func (f *facts) droppedParent(n *fieldtree.Node) (dropped *fieldtree.Node) {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if f.inBase.Of(n) != nil && f.inManifest.Of(n) == nil {
			dropped = n
		}
	}
	return dropped
}

// declared returns how the manifests declare a field, at its own path or at the other one.
func (f *facts) declared(n *fieldtree.Node, path fieldpath.Path) Declared {
	if alias := f.search.aliases[n]; alias != nil {
		return f.search.write.Manifests.on(path, alias.Path())
	}
	return f.search.write.Manifests.On(path)
}
