package release

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// cut is something that goes from the last-applied annotation.
type cut struct {
	path  fieldpath.Path
	value []byte
}

// cutAll takes the paths out of the annotation, and what they are in where nothing else is left in that: an empty object
// there would make the next manifest without it delete all that live has in it.
func (p *Plan) cutAll() {
	p.text = p.was
	if p.was == "" {
		return
	}
	for _, path := range p.Paths {
		for _, path := range p.recordedAs(path) {
			o, err := ownership.ParseObject([]byte(p.text))
			if err != nil {
				return // Explanation has read it
			}
			value := o.Value(path)
			if value == nil {
				continue
			}
			p.cuts = append(p.cuts, cut{path, value})
			p.text = string(cutWithEmptied([]byte(p.text), path))
		}
	}
}

// recordedAs returns the names of a field in a manifest. What a Secret has in stringData becomes data.
func (p Plan) recordedAs(path fieldpath.Path) []fieldpath.Path {
	if p.Kind.Group == "" && p.Kind.Kind == "Secret" && *path[0].FieldName == "data" {
		return []fieldpath.Path{path, append(fieldpath.MakePathOrDie("stringData"), path[1:]...)}
	}
	return []fieldpath.Path{path}
}

// cutWithEmptied takes a field out of a manifest, with the objects and lists that it leaves empty: up to, and not including,
// an element of a list.
func cutWithEmptied(text []byte, path fieldpath.Path) []byte {
	text = ownership.Cut(text, path)
	for path = path[:len(path)-1]; canGo(path); path = path[:len(path)-1] {
		o, err := ownership.ParseObject(text)
		if err != nil || !isEmpty(o.Value(path)) {
			break
		}
		text = ownership.Cut(text, path)
	}
	return text
}

// canGo says whether what has become empty goes. An element of a list stands for something by being there; and annotations
// are in each manifest that kubectl records, be they empty.
func canGo(path fieldpath.Path) bool {
	return len(path) > 0 && path[len(path)-1].FieldName != nil && !holdsIdentity(path)
}

func isEmpty(value []byte) bool {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	return json.Unmarshal(value, &object) == nil && object != nil && len(object) == 0 ||
		json.Unmarshal(value, &list) == nil && list != nil && len(list) == 0
}

// emptied returns what goes from the manifest with a path: the outermost that holds nothing else of any manifest.
func (p Plan) emptied(path fieldpath.Path) fieldpath.Path {
	n := len(path)
	for n > 1 && canGo(path[:n-1]) && p.leavesNothingIn(path[:n-1], path) {
		n--
	}
	return path[:n]
}

// leavesNothingIn says whether no manifest declares anything in a container any more, but for what a path is in. What an
// applier claims by updates says nothing: it claims defaults as well.
func (p Plan) leavesNothingIn(container, path fieldpath.Path) bool {
	recorded := false
	if p.was != "" {
		before, errBefore := ownership.ParseObject([]byte(p.was))
		after, errAfter := ownership.ParseObject([]byte(p.text))
		if errBefore != nil || errAfter != nil || after.Value(container) != nil {
			return false
		}
		recorded = before.Value(container) != nil
	}
	on := fieldpath.NewSet()
	for n := range path {
		on.Insert(path[:n+1])
	}
	for _, e := range p.before {
		if e.Operation != ownership.OperationApply || !p.speaks(e) || !e.Holds(container) {
			continue
		}
		recorded = true
		now, _ := e.Find(p.after)
		set, err := now.Set()
		if err != nil || !beneath(set, container).Difference(on).Empty() {
			return false
		}
	}
	return recorded
}
