package release

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// cut is a value to remove from the last-applied annotation.
type cut struct {
	path  fieldpath.Path
	value []byte
}

// cutAll removes the paths from the annotation, and parents that become empty: if an empty object remained there, applying a
// manifest without it would delete the whole object from the live object.
func (p *Plan) cutAll() {
	p.text = p.was
	if p.was == "" {
		return
	}
	annotation := jsontree.Valid([]byte(p.was))
	for _, path := range p.Paths {
		for _, path := range p.recordedAs(path) {
			if value := annotation.Cut(path, removableIfEmpty); value != nil {
				p.cuts = append(p.cuts, cut{path, value.Text()})
			}
		}
	}
	p.text = string(annotation.Remaining())
}

// recordedAs returns the possible paths of a field in a manifest: a Secret's data can be in stringData.
func (p Plan) recordedAs(path fieldpath.Path) []fieldpath.Path {
	if p.Subject.Kind.Group == "" && p.Subject.Kind.Kind == "Secret" && *path[0].FieldName == "data" {
		return []fieldpath.Path{path, append(fieldpath.MakePathOrDie("stringData"), path[1:]...)}
	}
	return []fieldpath.Path{path}
}

// removableIfEmpty reports whether a value is removed when it becomes empty. List elements stay, because they have a meaning
// even if empty, and so does the annotations map, which kubectl always records.
func removableIfEmpty(path fieldpath.Path) bool {
	return len(path) > 0 && path[len(path)-1].FieldName != nil && !containsIdentity(path)
}
