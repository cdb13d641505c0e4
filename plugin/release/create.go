package release

import (
	"regexp"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/ownership"
)

// Without returns an object to try whether the API server would create it from a manifest without the fields: the live one
// without them, and without what the API server gives it.
func (p Plan) Without() []byte {
	object := jsonindex.New(p.bare())
	for _, path := range p.Paths {
		object.Cut(path, canGo)
	}
	return object.Text()
}

// With returns the same with the fields.
func (p Plan) With() []byte { return p.bare() }

func (p Plan) bare() []byte {
	text := ownership.Cut(p.Object.Text(), fieldpath.MakePathOrDie("status"))
	for _, given := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		text = ownership.Cut(text, fieldpath.MakePathOrDie("metadata", given))
	}
	return text
}

// Concerns says whether what the API server has against an object without the fields is due to that, by the field that it
// names: as validation writes paths, spec.containers[0].image. That something is missing is due to it in any case.
func (p Plan) Concerns(field string, missing bool) bool {
	if missing {
		return true
	}
	named := regexp.MustCompile(`\[([^]]*)\]`).ReplaceAllString("."+field, ".$1")
	named = strings.ReplaceAll(named, ".", "/") + "/"
	for _, path := range p.Paths {
		released := strings.NewReplacer(".", "/", "~1", "/", "~0", "~").Replace(p.Object.Locate(path).Pointer) + "/"
		if strings.HasPrefix(named, released) || strings.HasPrefix(released, named) {
			return true
		}
	}
	return false
}
