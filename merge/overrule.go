package merge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/ownership"
)

// overrule removes the units that must not be kept: the manifest removed more of a parent than is kept, the next apply would
// remove the field, or the API server would reject the object.
func (k *keeper) overrule() error {
	if err := k.overruleIncompleteParents(); err != nil {
		return err
	}
	k.overruleRetained()
	// Without a unit, another relation can be broken. Each round drops a unit at least, and is metered.
	for broken := k.brokenRelations(); len(broken) > 0; broken = k.brokenRelations() {
		k.drop(broken)
	}
	return nil
}

// drop removes units, for which the manifest wins, and records the reason for their fields.
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

// isParent reports whether a unit restores a missing parent rather than a kept field.
func (u *unit) isParent() bool { return !u.top.Wanted }

// overruleIncompleteParents removes the missing parents in which the manifest had declared more than the kept fields: a
// parent is restored only as a whole. The parent of the scale field is restored in any case, together with the fields that
// the manifest has removed from it: the API server accepted it like that in live.
func (k *keeper) overruleIncompleteParents() error {
	if !k.write.Live.Present() || !slices.ContainsFunc(k.units, (*unit).isParent) {
		return nil
	}
	incomplete, err := k.incompleteParents()
	if err != nil {
		return err
	}
	reasons := map[*unit]string{}
	for u := range incomplete {
		if !u.scale {
			reasons[u] = "the manifest removed " + u.top.Names(u.top.Parent())[0]
		}
	}
	k.drop(reasons)
	return nil
}

// overruleRetained removes units in objects with patchStrategy=retainKeys (k8s.io/api: the source of a volume, the strategy
// of a Deployment). kubectl apply deletes every field of such an object that the manifest lacks, so a kept field would be
// lost at the next apply that bypasses handoff.
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
			if !places[n.ID].Span.Present() && places[object.ID].Span.Present() && k.retainsKeys(object) {
				names := object.Names(nil)
				reasons[u] = "the manifest sets " + strings.TrimSuffix(strings.Join(names[max(0, len(names)-2):], "."), ".*") + " without it"
			}
		}
	}
	k.drop(reasons)
}

// retainsKeys reports whether an object has patchStrategy=retainKeys.
func (k *keeper) retainsKeys(n *fieldtree.Node) bool {
	names := n.Names(nil)
	if len(names) > 2 && names[len(names)-1] == "*" {
		return names[len(names)-2] == "volumes" && names[len(names)-3] == "spec"
	}
	isDeployment := k.write.Kind.GroupKind() == schema.GroupKind{Group: "apps", Kind: "Deployment"}
	return isDeployment && slices.Equal(names, []string{"spec", "strategy"})
}

// incompleteParents returns the missing parents in which the base declares more than the kept fields. If the base is not
// recorded as an annotation, the sender's managedFields entry of live stands for it.
func (k *keeper) incompleteParents() (map[*unit]bool, error) {
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
			return nil, fmt.Errorf("%w: the field set of %s: %w", ownership.ErrManagedFields, was.Manager, err)
		}
	}
	incomplete := map[*unit]bool{}
	for _, n := range declared.Nodes() {
		if !n.Wanted || k.tree.Has(n) {
			continue
		}
		for top := k.tree.Deepest(n); top != nil; top = top.Parent() {
			if u := byTop[top]; u != nil {
				incomplete[u] = true
			}
		}
	}
	return incomplete, nil
}
