package ownership

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
)

// Contested is a field of live that the author of a write and somebody else may both have a say in, and what is recorded
// about it.
type Contested struct {
	Path fieldpath.Path
	// Live and Incoming are its values as JSON; Incoming is nil where the incoming object lacks the field.
	Live, Incoming []byte
	Declared
	Owned

	// Scale reports whether it is the object's scale field.
	Scale bool
	// Removed reports whether the write takes the field away although neither manifest has it, as a replace of the whole
	// object does. Any other value that nobody's manifest has was set on the way through admission, and is nobody's to undo.
	Removed bool
}

// Changed reports whether the write changes the field's value.
func (c Contested) Changed() bool { return !bytes.Equal(c.Live, c.Incoming) }

// Contested returns the contested fields of a write: the scale field and, for an applier, what the patterns give to
// controllers and a controller has written, and what somebody other than an applier has written and the manifest drops. A
// field that live does not have is left out. The order is that of managedFields, the scale field first.
//
// The time is linear in the objects. Where the meter ends the work, the result is not to be used. The error is
// ErrManagedFields.
func (c ObjectContext) Contested(w Write) ([]Contested, error) {
	f := finding{
		context: c, write: w, tree: &fieldtree.Tree{}, incoming: indexOf(w.IncomingEntries),
		patterns: patternMatcher{tree: newPatternTree(c.Controlled, w.Meter), meter: w.Meter},
	}
	f.scale = f.tree.Add(c.Scale)
	if w.Author.Writer == Applier {
		if err := f.addControlled(); err != nil {
			return nil, err
		}
		if err := f.addDropped(); err != nil {
			return nil, err
		}
	}
	if f.tree.Empty() {
		return nil, nil
	}
	f.addAliases()
	r := f.read()
	var contested []Contested
	for _, n := range f.tree.Nodes() {
		if n.Wanted && r.live[n.ID].Present() && !r.isContainer(n) {
			contested = append(contested, r.field(n))
		}
	}
	return contested, nil
}

// finding is the search for the contested fields of a write.
type finding struct {
	context  ObjectContext
	write    Write
	patterns patternMatcher
	incoming entryIndex

	tree  *fieldtree.Tree
	scale *fieldtree.Node // nil where the kind has no scale field
	// aliases are the other places at which a manifest can set fields, by Node.ID.
	aliases map[int]*fieldtree.Node
	loser   string // losesInOtherVersion
}

// addControlled adds what the patterns give to controllers and a controller has written: a manager that is neither applier
// nor imperative. What a controller reports in status is no manifest's business.
func (f *finding) addControlled() error {
	if len(f.context.Controlled) == 0 {
		return nil
	}
	managers := f.context.Managers
	for _, e := range f.write.LiveEntries {
		if e.Subresource == "status" || managers.IsApplier(e) || managers.IsImperative(e) || f.write.InOtherVersion(e) {
			continue
		}
		if err := addMatching(f, e, f.patterns); err != nil {
			return err
		}
	}
	return nil
}

func addMatching[State any](f *finding, e Entry, m fieldtree.Matcher[State]) error {
	if err := fieldtree.AddMatching(f.tree, e.Fields, m, f.meter()); err != nil {
		return fmt.Errorf("%w: the set of %s: %w", ErrManagedFields, e.Manager, err)
	}
	return nil
}

func (f *finding) meter() fieldtree.Meter { return fieldtree.Meter(f.write.Meter) }

// addDropped adds what somebody other than an applier claims where the manifest lacks what the base has.
func (f *finding) addDropped() error {
	if !f.write.Manifests.drops() {
		return nil
	}
	base := f.write.Manifests.base
	dropped := differences(base, f.write.Manifests.manifest, f.write.Meter)
	if dropped.Empty() {
		return nil
	}
	for _, e := range f.write.LiveEntries {
		if e.Subresource == "status" || f.context.Managers.IsApplier(e) || f.write.InOtherVersion(e) && !f.takesFrom(e) {
			continue
		}
		if err := addMatching(f, e, dropped.Within()); err != nil {
			return err
		}
	}
	if f.loser = f.losesInOtherVersion(); f.loser == "" {
		return nil
	}
	for _, text := range [][]byte{base, f.write.Live.Text()} { // what the manifest never had is dropped with its parent
		places := dropped.Find(text, f.meter())
		for _, n := range dropped.Nodes() {
			if n.Wanted {
				dropped.AddLeaves(f.tree, n, text, places, f.meter())
			}
		}
	}
	return nil
}

// addAliases adds the names that fields have in manifests alone: what a Secret's manifest has in stringData is data in the
// object (k8s.io/api/core/v1, Secret).
func (f *finding) addAliases() {
	f.aliases = map[int]*fieldtree.Node{}
	for _, n := range f.tree.Nodes() {
		if !n.Wanted || n.Depth() != 2 {
			continue
		}
		if alias := StringData(f.write.Kind.GroupKind(), n.Path()); alias != nil {
			f.aliases[n.ID] = f.tree.AddUnwanted(alias)
		}
	}
}

// takesFrom reports whether the write takes fields from an entry of live.
func (f *finding) takesFrom(e Entry) bool {
	now, _ := f.incoming.find(e)
	return !bytes.Equal(now.Fields, e.Fields)
}

// losesInOtherVersion returns a manager that is no applier and from which the write takes fields that it has claimed in
// another version of the kind, empty where there is none. Which fields those are in this version is not known.
func (f *finding) losesInOtherVersion() string {
	for _, e := range f.write.LiveEntries {
		if e.Subresource == "" && f.write.InOtherVersion(e) && !f.context.Managers.IsApplier(e) && f.takesFrom(e) {
			return e.Manager
		}
	}
	return ""
}

// reading is what the objects of a write and their records say about the fields that were found.
type reading struct {
	*finding

	live, places   fieldtree.Places // in live and incoming
	manifest, base fieldtree.Places
	own, was       map[int]bool // what the author's entry claims, now and in live
	holders        [][]Entry
	parents        map[int]bool // in which some entry claims fields
}

// isContainer reports whether a claimed field is a container or names one, and not a value to keep: whoever adds the first
// key to a map claims the map as well, and the fields of a list element's key make it the one it is.
func (r *reading) isContainer(n *fieldtree.Node) bool {
	return r.parents[n.ID] || n.Element.Key != nil || n.IsKey()
}

func (f *finding) read() reading {
	w, meter := f.write, f.meter()
	r := reading{
		finding: f,
		live:    f.tree.Find(w.Live.Text(), meter), places: f.tree.Find(w.Incoming.Text(), meter),
		manifest: f.tree.Find(w.Manifests.manifest, meter), base: f.tree.Find(w.Manifests.base, meter),
		own: f.declares(w.Author.Entry), was: f.declares(w.Manifests.was),
		holders: make([][]Entry, f.tree.Len()), parents: map[int]bool{},
	}
	for _, e := range w.LiveEntries {
		r.readClaims(e)
	}
	return r
}

// claims returns the nodes that an entry claims, by ID.
func (f *finding) claims(e Entry) map[int]bool {
	claims := map[int]bool{}
	f.tree.Claims(e.Fields, f.meter(), func(n *fieldtree.Node, _ int) { claims[n.ID] = true })
	return claims
}

// declares returns the nodes that an applier's own entry claims, by ID. An applier keeps its entry when its manifest moves
// to another version of the kind, in which the scale field can have another path.
func (f *finding) declares(e Entry) map[int]bool {
	claims := f.claims(e)
	if f.scale != nil && f.write.InOtherVersion(e) {
		claims[f.scale.ID] = e.Holds(f.context.scaleIn(e, f.write))
	}
	return claims
}

// readClaims adds an entry to the holders of the fields that it claims. A claim in another version of the kind counts where
// the write takes it away at the same path, and for the scale field by the path that it has in that version.
func (r *reading) readClaims(e Entry) {
	var left map[int]bool
	if r.write.InOtherVersion(e) {
		now, _ := r.incoming.find(e)
		left = r.claims(now)
		if r.scale != nil && e.Holds(r.context.scaleIn(e, r.write)) {
			r.holders[r.scale.ID] = append(r.holders[r.scale.ID], e)
		}
	}
	r.tree.Claims(e.Fields, r.meter(), func(n *fieldtree.Node, start int) {
		if n.Wanted && n != r.scale && !fieldtree.IsLeaf(e.Fields, start) {
			r.parents[n.ID] = true
		}
		if n.Wanted && (left == nil || n != r.scale && !left[n.ID]) {
			r.holders[n.ID] = append(r.holders[n.ID], e)
		}
	})
}

// scaleIn returns the path of the scale field in the version of an entry.
func (c ObjectContext) scaleIn(e Entry, w Write) fieldpath.Path {
	if c.ScaleIn == nil || !w.InOtherVersion(e) {
		return c.Scale
	}
	return c.ScaleIn(e.APIVersion)
}

// field returns what is known of a field that live has.
func (r *reading) field(n *fieldtree.Node) Contested {
	w := r.write
	c := Contested{
		Path: n.Path(), Scale: n == r.scale,
		Live: r.live.Of(n, w.Live.Text()), Incoming: r.places.Of(n, w.Incoming.Text()),
	}
	c.Declared = r.declared(n, c.Changed())
	c.Owned = r.owner(n, c)
	undeclared := w.Author.Writer == Applier && c.Manifest == Lacks && c.Base == Lacks
	c.Removed = undeclared && c.Changed() && c.Owner > Manifest && r.removes(n, c)
	return c
}

// removes reports whether a write that changes a field takes it away. A parent that the manifest drops takes the field with
// it, even where the API server has put a default in its place; else the field is gone.
func (r *reading) removes(n *fieldtree.Node, c Contested) bool {
	gone := len(c.Incoming) == 0 || string(c.Incoming) == jsonNull || c.Scale && string(c.Incoming) == defaultScale
	if parent := r.lostParent(n); parent != nil {
		return gone || parent.Depth() > 1 // nothing puts defaults in the place of a whole spec
	}
	return gone && (c.Owner > Imperative || c.Scale)
}

// lostParent returns the outermost parent of a field that the base has and the manifest lacks, nil where there is none.
func (r *reading) lostParent(n *fieldtree.Node) (lost *fieldtree.Node) {
	for n = n.Parent(); n != nil; n = n.Parent() {
		if r.base[n.ID].Present() && !r.manifest[n.ID].Present() {
			lost = n
		}
	}
	return lost
}

// defaultScale is what the API server sets replicas to where nobody does (k8s.io/api/apps/v1, DeploymentSpec).
const defaultScale = "1"

// declared is Manifests.On for a node.
func (r *reading) declared(n *fieldtree.Node, changed bool) Declared {
	m := r.write.Manifests
	switch {
	case r.write.Author.Writer != Applier:
		return Declared{}
	case m.author.ServerSide():
		return Declared{Manifest: claimOf(r.own[n.ID]), Base: claimOf(r.was[n.ID])}
	case !m.Recorded:
		return Declared{Manifest: claimOf(changed || r.own[n.ID] && !r.was[n.ID])}
	default:
		return m.recorded(r.claimAt(r.manifest, n, m.manifest), r.claimAt(r.base, n, m.base), changed)
	}
}

// claimAt is claimIn for a node, under either of its names.
func (r *reading) claimAt(places fieldtree.Places, n *fieldtree.Node, manifest []byte) Claim {
	claim := claimAt(places, n, manifest)
	if alias := r.aliases[n.ID]; claim == Lacks && alias != nil {
		return claimAt(places, alias, manifest)
	}
	return claim
}

// claimAt is claimIn for a node.
func claimAt(places fieldtree.Places, n *fieldtree.Node, manifest []byte) Claim {
	if text := places.Of(n, manifest); len(text) > 0 {
		return claimOfText(text)
	}
	for n = n.Parent(); n != nil; n = n.Parent() {
		if text := places.Of(n, manifest); len(text) > 0 {
			return clearsWithin(text)
		}
	}
	return Lacks
}

// owner is Context.Resolve for a node. A field whose live value is the one that the manifest last set is the manifest's,
// whoever claims it: kubectl create, for one, which made the object that has been applied since.
func (r *reading) owner(n *fieldtree.Node, c Contested) Owned {
	context := Context{Managers: r.context.Managers, Scale: c.Scale}
	if c.Scale {
		context.Autoscaler = r.context.Autoscaler
	}
	context.Controlled = r.patterns.covers(c.Path)
	asApplied := c.Base == Sets && asApplied(c.Path, c.Live, r.base.Of(n, r.write.Manifests.base))
	owned := context.resolve(r.holders[n.ID], c.Base, asApplied)
	if r.loser == "" || !r.write.Manifests.Recorded {
		return owned
	}
	changed := owned.Owner == Manifest && c.Base == Sets && !asApplied
	added := owned.Owner == Default && c.Base == Lacks && r.lostParent(n) != nil
	if changed || added {
		return Owned{Owner: Imperative, By: r.loser}
	}
	return owned
}
