package merge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

// overrule takes out the units that the API server might refuse, or that the manifest has removed for the most part.
func (k *keeper) overrule() error {
	if err := k.overruleHalfParents(); err != nil {
		return err
	}
	k.overruleRetained()
	for range maxRounds {
		broken := k.brokenRelations()
		if len(broken) == 0 {
			return nil
		}
		k.drop(broken)
	}
	return nil
}

// maxRounds is how often relations are looked at again after units were taken out: a unit can be in several.
const maxRounds = 8

// drop takes units out, each for a reason: the manifest wins.
func (k *keeper) drop(reasons map[*unit]string) {
	k.units = slices.DeleteFunc(k.units, func(u *unit) bool {
		reason, dropped := reasons[u]
		for _, i := range u.kept {
			if dropped {
				k.overruled[i] = reason
			}
		}
		return dropped
	})
}

// isParent reports whether a unit is a missing parent, and not a kept field.
func (u *unit) isParent() bool { return !u.top.Wanted }

// overruleHalfParents looks at the missing parents. One that comes back comes back whole: what the manifest declared in it
// and has removed must be kept, all of it. The parent of the scale field comes back in any case, with what the manifest has
// removed beside it: as it was in live, the API server accepts it.
func (k *keeper) overruleHalfParents() error {
	if !k.write.Live.Present() || !slices.ContainsFunc(k.units, (*unit).isParent) {
		return nil
	}
	half, err := k.halfParents()
	if err != nil {
		return err
	}
	reasons := map[*unit]string{}
	for u := range half {
		if !u.scale {
			reasons[u] = "the manifest removed " + u.top.Names(u.top.Parent())[0]
		}
	}
	k.drop(reasons)
	return nil
}

// overruleRetained looks at the objects of which kubectl apply leaves in live what the manifest has and nothing else
// (patchStrategy=retainKeys in k8s.io/api: the source of a volume, the strategy of a Deployment). A field that is kept there
// although the manifest has the object without it would go at the next apply that handoff does not see.
func (k *keeper) overruleRetained() {
	manifest := k.write.Manifests.Manifest()
	if len(manifest) == 0 {
		return
	}
	places := k.tree.Find(manifest, k.meter)
	reasons := map[*unit]string{}
	for _, u := range k.units {
		for n := u.top; n.Parent() != nil && !u.scale; n = n.Parent() {
			object := n.Parent()
			if !places[n.ID].Present() && places[object.ID].Present() && k.retainsKeys(object) {
				names := object.Names(nil)
				reasons[u] = "the manifest sets " + strings.TrimSuffix(strings.Join(names[max(0, len(names)-2):], "."), ".*") + " without it"
			}
		}
	}
	k.drop(reasons)
}

func (k *keeper) retainsKeys(n *fieldtree.Node) bool {
	names := n.Names(nil)
	if len(names) > 2 && names[len(names)-1] == "*" {
		return names[len(names)-2] == "volumes" && names[len(names)-3] == "spec"
	}
	isDeployment := k.write.Kind.GroupKind() == schema.GroupKind{Group: "apps", Kind: "Deployment"}
	return isDeployment && slices.Equal(names, []string{"spec", "strategy"})
}

// halfParents returns the missing parents in which the manifest declared more than what is kept.
func (k *keeper) halfParents() (map[*unit]bool, error) {
	declared, tops := &fieldtree.Tree{}, &fieldtree.Tree{}
	byTop := map[*fieldtree.Node]*unit{}
	base := k.write.Manifests.Base()
	places := k.tree.Find(base, k.meter)
	for _, u := range k.units {
		if u.isParent() {
			byTop[u.top] = u
			tops.Add(u.top.Path())
			k.tree.AddLeaves(declared, u.top, base, places, k.meter)
		}
	}
	if !k.write.Manifests.Recorded {
		was := k.write.Manifests.Declares()
		if err := fieldtree.AddMatching(declared, was.Fields, tops.Within(), k.meter); err != nil {
			return nil, fmt.Errorf("%w: the set of %s: %w", ownership.ErrManagedFields, was.Manager, err)
		}
	}
	half := map[*unit]bool{}
	for _, n := range declared.Nodes() {
		if !n.Wanted || k.tree.Has(n) {
			continue
		}
		for top := k.tree.Deepest(n); top != nil; top = top.Parent() {
			if u := byTop[top]; u != nil {
				half[u] = true
			}
		}
	}
	return half, nil
}
