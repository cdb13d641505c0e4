package release

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
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
	annotation := jsonindex.New([]byte(p.was))
	for _, path := range p.Paths {
		for _, path := range p.recordedAs(path) {
			if value := annotation.Cut(path, canGo); value != nil {
				p.cuts = append(p.cuts, cut{path, value})
			}
		}
	}
	p.text = string(annotation.Text())
}

// recordedAs returns the names of a field in a manifest. What a Secret has in stringData becomes data.
func (p Plan) recordedAs(path fieldpath.Path) []fieldpath.Path {
	if p.Kind.Group == "" && p.Kind.Kind == "Secret" && *path[0].FieldName == "data" {
		return []fieldpath.Path{path, append(fieldpath.MakePathOrDie("stringData"), path[1:]...)}
	}
	return []fieldpath.Path{path}
}

// canGo says whether what has become empty goes. An element of a list stands for something by being there; and annotations
// are in each manifest that kubectl records, be they empty.
func canGo(path fieldpath.Path) bool {
	return len(path) > 0 && path[len(path)-1].FieldName != nil && !holdsIdentity(path)
}
