package release

import (
	"regexp"
	"strings"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Without returns the live object without the fields and without server-generated metadata, to check whether the API server
// would create it from a manifest without the fields.
func (p Plan) Without() []byte {
	object := jsontree.Valid(p.bare())
	for _, path := range p.Paths {
		object.Cut(path, removableIfEmpty)
	}
	return object.Remaining()
}

// With returns the same object with the fields.
func (p Plan) With() []byte { return p.bare() }

func (p Plan) bare() []byte { return source.WithoutGenerated(p.Subject.Object.Text()) }

// Concerns reports whether the removal of the fields causes a validation error. It compares the paths of the fields with the
// error's, such as spec.containers[0].image. A missing required field is always caused by the removal.
func (p Plan) Concerns(field string, missing bool) bool {
	if missing {
		return true
	}
	named := regexp.MustCompile(`\[([^]]*)\]`).ReplaceAllString("."+field, ".$1")
	named = strings.ReplaceAll(named, ".", "/") + "/"
	for _, path := range p.Paths {
		pointer, _ := p.Subject.Object.Pointer(path)
		released := strings.NewReplacer(".", "/", "~1", "/", "~0", "~").Replace(pointer) + "/"
		if strings.HasPrefix(named, released) || strings.HasPrefix(released, named) {
			return true
		}
	}
	return false
}
