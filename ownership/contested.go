package ownership

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
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

	// Scale reports whether it is the object's scale field.
	Scale bool
	// Removed reports whether the write removes the field although neither manifest has it, as replacing the whole object
	// does. Any other change that no manifest declares was made by another admission webhook, and must not be undone.
	Removed bool
}

// Changed reports whether the write changes the field's value.
func (f ContestedField) Changed() bool { return !bytes.Equal(f.Live, f.Incoming) }

// ContestedFields returns the contested fields of a write. These are the scale field and, if the sender is an applier:
//   - fields that c.Controlled matches and that a controller has written
//   - fields that the manifest drops and that a manager other than an applier has written
//
// Fields that live lacks are not contested. The scale field comes first; the others have the order of managedFields.
//
// The time is linear in the size of the objects. If the meter ends the work, the result is not valid. The error is
// ErrManagedFields.
func (c ObjectContext) ContestedFields(w Write) ([]ContestedField, error) {
	s := search{
		context: c, write: w, tree: &fieldtree.Tree{}, incoming: indexOf(w.IncomingEntries),
		patterns: patternMatcher{tree: newPatternTree(c.Controlled, w.Meter), meter: w.Meter},
	}
	s.scale = s.tree.Add(c.Scale)
	if w.Sender.Writer == Applier {
		if err := s.addControlled(); err != nil {
			return nil, err
		}
		if err := s.addDropped(); err != nil {
			return nil, err
		}
	}
	if s.tree.Empty() {
		return nil, nil
	}
	s.addAliases()
	f := s.facts()
	var fields []ContestedField
	for _, n := range s.tree.Nodes() {
		if n.Wanted && f.inLive[n.ID].Span.Present() && !f.isParentOrKey(n) {
			fields = append(fields, f.field(n))
		}
	}
	return fields, nil
}

// search collects the paths of a write's contested fields in a tree.
type search struct {
	context  ObjectContext
	write    Write
	patterns patternMatcher
	incoming entryIndex

	tree  *fieldtree.Tree
	scale *fieldtree.Node // nil if the kind has no scale field
	// aliases are the other paths by which a manifest can set fields, by Node.ID of the field.
	aliases map[int]*fieldtree.Node
	// otherVersionLoser is the result of loserInOtherVersion.
	otherVersionLoser string
}

// addControlled adds the fields that the patterns match and that a controller has written. Every manager that is neither an
// applier nor imperative counts as a controller. Entries of the status subresource do not count: manifests cannot set it.
func (s *search) addControlled() error {
	if len(s.context.Controlled) == 0 {
		return nil
	}
	managers := s.context.Managers
	for _, e := range s.write.LiveEntries {
		if e.Subresource == "status" || managers.IsApplier(e) || managers.IsImperative(e) || s.write.InOtherVersion(e) {
			continue
		}
		if err := addMatching(s, e, s.patterns); err != nil {
			return err
		}
	}
	return nil
}

// addMatching adds the fields of an entry that m matches.
func addMatching[State any](s *search, e Entry, m fieldtree.Matcher[State]) error {
	if err := fieldtree.AddMatching(s.tree, e.Fields, m, s.meter()); err != nil {
		return fmt.Errorf("%w: the field set of %s: %w", ErrManagedFields, e.Manager, err)
	}
	return nil
}

func (s *search) meter() fieldtree.Meter { return fieldtree.Meter(s.write.Meter) }

// addDropped adds the fields that the manifest drops and that a manager other than an applier manages.
func (s *search) addDropped() error {
	if !s.write.Manifests.mayDrop() {
		return nil
	}
	from := s.mayDropFrom()
	s.otherVersionLoser = s.loserInOtherVersion()
	if len(from) == 0 && s.otherVersionLoser == "" {
		return nil
	}
	base := s.write.Manifests.base
	dropped := differences(base, s.write.Manifests.manifest, s.write.Meter)
	if dropped.Empty() {
		s.otherVersionLoser = ""
		return nil
	}
	for _, e := range from {
		if err := addMatching(s, e, dropped.Within()); err != nil {
			return err
		}
	}
	if s.otherVersionLoser == "" {
		return nil
	}
	// The loser's paths in this version are unknown: any dropped field can be one of them. Live's leaves are added as well,
	// because a dropped parent also drops fields that the manifest never had.
	for _, text := range [][]byte{base, s.write.Live.Text()} {
		places := dropped.Find(text, s.meter())
		for _, n := range dropped.Nodes() {
			if n.Wanted {
				dropped.AddLeaves(s.tree, n, text, places, s.meter())
			}
		}
	}
	return nil
}

// mayDropFrom returns the entries of live, of managers other than appliers, that may have fields that the manifest drops.
func (s *search) mayDropFrom() (entries []Entry) {
	drops := s.context.newDropSearch(s.write)
	for _, e := range s.write.LiveEntries {
		otherVersion := s.write.InOtherVersion(e)
		if e.Subresource == "status" || s.context.Managers.IsApplier(e) || otherVersion && !s.changes(e) {
			continue
		}
		if otherVersion || len(s.context.Controlled) > 0 || drops.mayDropFrom(e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// addAliases adds the paths that exist only in manifests: stringData in the manifest of a Secret becomes data in the object
// (k8s.io/api/core/v1, Secret).
func (s *search) addAliases() {
	for _, n := range s.tree.Nodes() {
		if !n.Wanted || n.Depth() != 2 {
			continue
		}
		if alias := StringData(s.write.Kind.GroupKind(), n.Path()); alias != nil {
			if s.aliases == nil {
				s.aliases = map[int]*fieldtree.Node{}
			}
			s.aliases[n.ID] = s.tree.AddUnwanted(alias)
		}
	}
}

// changes reports whether the write changes the field set of an entry of live.
func (s *search) changes(e Entry) bool {
	now, _ := s.incoming.find(e)
	return !bytes.Equal(now.Fields, e.Fields)
}

// loserInOtherVersion returns a manager, not an applier, whose entry was recorded in another API version of the kind and
// loses fields by the write; empty if there is none. Which fields these are in the write's version is not known.
func (s *search) loserInOtherVersion() string {
	for _, e := range s.write.LiveEntries {
		if e.Subresource == "" && s.write.InOtherVersion(e) && !s.context.Managers.IsApplier(e) && s.changes(e) {
			return e.Manager
		}
	}
	return ""
}

// facts are the values, the declarations and the managers of the fields that a search has found.
type facts struct {
	search *search

	inLive, inIncoming fieldtree.Positions
	inManifest, inBase fieldtree.Positions
	// applied and wasApplied are the fields in the sender's managedFields entry, in incoming and in live, by Node.ID.
	applied, wasApplied map[int]bool
	managers            [][]Entry    // the live entries that contain a field, by Node.ID
	parents             map[int]bool // the fields under which an entry contains others, by Node.ID
}

// isParentOrKey reports whether a managed field is the parent or the key of others, and so not a value to keep: a manager
// that adds the first key to a map manages the map as well, and the key fields identify a list element.
func (f *facts) isParentOrKey(n *fieldtree.Node) bool {
	return f.parents[n.ID] || n.Element.Key != nil || n.IsKey()
}

func (s *search) facts() facts {
	w, meter := s.write, s.meter()
	f := facts{
		search: s,
		inLive: s.tree.Find(w.Live.Text(), meter), inIncoming: s.tree.Find(w.Incoming.Text(), meter),
		inManifest: s.tree.Find(w.Manifests.manifest, meter), inBase: s.tree.Find(w.Manifests.base, meter),
		applied: s.appliedBy(w.Sender.Entry), wasApplied: s.appliedBy(w.Manifests.was),
		managers: make([][]Entry, s.tree.Len()), parents: map[int]bool{},
	}
	for _, e := range w.LiveEntries {
		f.addManager(e)
	}
	return f
}

// fieldsOf returns the fields in an entry's field set, by Node.ID.
func (s *search) fieldsOf(e Entry) map[int]bool {
	fields := map[int]bool{}
	s.tree.Managed(e.Fields, s.meter(), func(n *fieldtree.Node, _ int) { fields[n.ID] = true })
	return fields
}

// appliedBy is fieldsOf for the sender's entry. An Apply entry can be recorded in another API version, in which the scale
// field can have another path.
func (s *search) appliedBy(e Entry) map[int]bool {
	fields := s.fieldsOf(e)
	if s.scale != nil && s.write.InOtherVersion(e) {
		fields[s.scale.ID] = e.Contains(s.context.scaleIn(e, s.write))
	}
	return fields
}

// addManager adds an entry to the managers of the fields in its field set. If the entry was recorded in another API version,
// the scale field counts by its path in that version. Any other field counts only if the write removes it from the entry: its
// path is then the same in both versions.
func (f *facts) addManager(e Entry) {
	var remaining map[int]bool
	if f.search.write.InOtherVersion(e) {
		now, _ := f.search.incoming.find(e)
		remaining = f.search.fieldsOf(now)
		if f.search.scale != nil && e.Contains(f.search.context.scaleIn(e, f.search.write)) {
			f.managers[f.search.scale.ID] = append(f.managers[f.search.scale.ID], e)
		}
	}
	f.search.tree.Managed(e.Fields, f.search.meter(), func(n *fieldtree.Node, start int) {
		if n.Wanted && n != f.search.scale && !fieldtree.IsLeaf(e.Fields, start) {
			f.parents[n.ID] = true
		}
		if n.Wanted && (remaining == nil || n != f.search.scale && !remaining[n.ID]) {
			f.managers[n.ID] = append(f.managers[n.ID], e)
		}
	})
}

// scaleIn returns the path of the scale field in the API version of an entry.
func (c ObjectContext) scaleIn(e Entry, w Write) fieldpath.Path {
	if c.ScaleIn == nil || !w.InOtherVersion(e) {
		return c.Scale
	}
	return c.ScaleIn(e.APIVersion)
}

// field returns a contested field with its values, declarations and owner.
func (f *facts) field(n *fieldtree.Node) ContestedField {
	w := f.search.write
	c := ContestedField{
		Path: n.Path(), Scale: n == f.search.scale,
		Live: f.inLive.Of(n, w.Live.Text()), Incoming: f.inIncoming.Of(n, w.Incoming.Text()),
	}
	c.Declared = f.declared(n, c.Changed())
	c.Owner = f.owner(n, c)
	undeclared := w.Sender.Writer == Applier && c.Declared.Manifest == Lacks && c.Declared.Base == Lacks
	c.Removed = undeclared && c.Changed() && c.Owner.Kind > Manifest && f.removes(n, c)
	return c
}

// removes reports whether a write that changes a field removes it. If the manifest drops a parent of the field, the field
// counts as removed even if the API server has defaulted it since.
func (f *facts) removes(n *fieldtree.Node, c ContestedField) bool {
	gone := len(c.Incoming) == 0 || string(c.Incoming) == jsonNull || c.Scale && string(c.Incoming) == defaultReplicas
	if parent := f.droppedParent(n); parent != nil {
		return gone || parent.Depth() > 1 // the API server does not default a whole spec
	}
	return gone && (c.Owner.Kind > Imperative || c.Scale)
}

// droppedParent returns the outermost parent of a field that the manifest drops, nil if there is none.
func (f *facts) droppedParent(n *fieldtree.Node) (dropped *fieldtree.Node) {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if f.inBase[n.ID].Span.Present() && !f.inManifest[n.ID].Span.Present() {
			dropped = n
		}
	}
	return dropped
}

// defaultReplicas is the API server's default for replicas (k8s.io/api/apps/v1, DeploymentSpec).
const defaultReplicas = "1"

// declared is Manifests.On for a node.
func (f *facts) declared(n *fieldtree.Node, changed bool) Declared {
	m := f.search.write.Manifests
	switch {
	case f.search.write.Sender.Writer != Applier:
		return Declared{}
	case m.sender.ServerSide():
		return Declared{Manifest: setsIf(f.applied[n.ID]), Base: setsIf(f.wasApplied[n.ID])}
	case !m.Recorded:
		return Declared{Manifest: setsIf(changed || f.applied[n.ID] && !f.wasApplied[n.ID])}
	default:
		return m.recorded(f.withAlias(m.manifest, f.inManifest, n), f.withAlias(m.base, f.inBase, n), changed)
	}
}

// withAlias is declarationIn for a node or, if the manifest lacks that, its alias.
func (f *facts) withAlias(manifest []byte, places fieldtree.Positions, n *fieldtree.Node) Declaration {
	declared := declarationAt(places, n, manifest)
	if alias := f.search.aliases[n.ID]; declared == Lacks && alias != nil {
		return declarationAt(places, alias, manifest)
	}
	return declared
}

// declarationAt is declarationIn for a node.
func declarationAt(places fieldtree.Positions, n *fieldtree.Node, manifest []byte) Declaration {
	if text := places.Of(n, manifest); len(text) > 0 {
		return declarationBy(text)
	}
	for n = n.Parent(); n != nil; n = n.Parent() {
		if text := places.Of(n, manifest); len(text) > 0 {
			return declarationByParent(text)
		}
	}
	return Lacks
}

// owner is Context.Resolve for a node, with two differences. If live has the value that the base sets, the manifest owns the
// field although an imperative manager manages it, such as the kubectl create that made the object. And if live has a value
// that neither the base nor an entry in the write's API version accounts for, the owner is a manager that loses fields in
// another version.
func (f *facts) owner(n *fieldtree.Node, c ContestedField) FieldOwner {
	context := Context{Managers: f.search.context.Managers, Scale: c.Scale}
	if c.Scale {
		context.Autoscaler = f.search.context.Autoscaler
	}
	context.Controlled = f.search.patterns.covers(c.Path)
	isBase := c.Declared.Base == Sets && asApplied(c.Path, c.Live, f.inBase.Of(n, f.search.write.Manifests.base))
	owned := context.resolve(f.managers[n.ID], c.Declared.Base, isBase)
	if f.search.otherVersionLoser == "" || !f.search.write.Manifests.Recorded {
		return owned
	}
	changed := owned.Kind == Manifest && c.Declared.Base == Sets && !isBase
	added := owned.Kind == Default && c.Declared.Base == Lacks && f.droppedParent(n) != nil
	if changed || added {
		return FieldOwner{Kind: Imperative, By: f.search.otherVersionLoser}
	}
	return owned
}
