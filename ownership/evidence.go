package ownership

import (
	"bytes"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// HelmReleaseAnnotation names the release that an object belongs to. Helm, and every program that uses its library, sets it on
// each object of a release (setMetadataVisitor in helm.sh/helm/v3/pkg/action).
const HelmReleaseAnnotation = "meta.helm.sh/release-name"

// HelmReleasePath returns the path of HelmReleaseAnnotation.
func HelmReleasePath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", HelmReleaseAnnotation)
}

// recordsManifest reports whether an entry of an update contains an annotation by which a tool records the manifest that it has
// applied to this object. A controller can also write these annotations, if it copies all annotations of its own object to
// those that it creates. They do not count: the last-applied configuration of another object, and the Helm release of an object
// that a controller created.
func (e Entry) recordsManifest() bool {
	return e.hasLastApplied && e.of.lastAppliedIsOwn() || e.hasRelease && !e.of.isCreatedByController()
}

// readAnnotations records which of the annotations the entry contains. It is called once for each entry, because owners are
// determined for each field, which would make the time quadratic.
func (e *Entry) readAnnotations() {
	if e.Operation == OperationApply || e.Subresource != "" {
		return
	}
	metadata := rawjson.FindPrefixed(e.Fields, "f:", "metadata").Of(e.Fields)
	annotations := rawjson.FindPrefixed(metadata, "f:", "annotations").Of(metadata)
	e.hasLastApplied = rawjson.FindPrefixed(annotations, "f:", LastAppliedAnnotation).Present()
	e.hasRelease = rawjson.FindPrefixed(annotations, "f:", HelmReleaseAnnotation).Present()
}

// mentions reports whether the entry's text contains a name, before it is walked.
func (e Entry) mentions(name []byte) bool { return bytes.Contains(e.Fields, name) }

// maxScaleOnly is the maximum length of a field set that contains only a scale field. Longer paths are not looked at, so that
// the time for each entry is bounded.
const maxScaleOnly = 256

// onlyScales reports whether a server-side apply sets the scale field and nothing else, on an object that other managers have
// declared. That is how an operator scales a workload, to 0 for example, and not a manifest.
func (m Managers) onlyScales(e Entry) bool {
	return m.isScaleOnly(e) && e.of != nil && e.of.isDeclaredBeside(e.Manager, m)
}

// isScaleOnly reports whether the scale field is the only field in the entry.
func (m Managers) isScaleOnly(e Entry) bool {
	if m.Scale == nil || len(e.Fields) == 0 || len(e.Fields) > maxScaleOnly {
		return false
	}
	scale := m.Scale(e.APIVersion)
	if scale == nil {
		return false
	}
	set, err := e.Set()
	return err == nil && set.Leaves().Equals(fieldpath.NewSet(scale))
}

// surroundings are the object that entries belong to. What they show is read when it is first needed, and once, so that the
// time stays linear whatever the number of entries. A nil pointer stands for an unknown object.
type surroundings struct {
	object  Object
	entries []Entry

	annotation, reference, declared sync.Once

	isOwn, isCreated bool
	// declarer is a manager of spec with more than the scale field, declarers reports whether there are several.
	declarer  string
	declarers bool
}

// withSurroundings returns the entries of an object with a reference to it.
func (o Object) withSurroundings(entries []Entry) []Entry {
	if len(entries) == 0 {
		return entries
	}
	of := &surroundings{object: o, entries: entries}
	for i := range entries {
		entries[i].of = of
	}
	return entries
}

// lastAppliedIsOwn reports whether the last-applied configuration is one of the object itself.
func (s *surroundings) lastAppliedIsOwn() bool {
	if s == nil {
		return true
	}
	s.annotation.Do(func() { s.isOwn = s.object.hasOwnLastApplied() })
	return s.isOwn
}

// isCreatedByController reports whether the object has a controller (metav1.GetControllerOf).
func (s *surroundings) isCreatedByController() bool {
	if s == nil {
		return false
	}
	s.reference.Do(func() {
		references := s.object.Value(fieldpath.MakePathOrDie("metadata", "ownerReferences"))
		if len(references) == 0 || references[0] != '[' {
			return
		}
		rawjson.Elements(references, func(at rawjson.Span) bool {
			text := at.Of(references)
			s.isCreated = text[0] == '{' && string(rawjson.Find(text, "controller").Of(text)) == "true"
			return !s.isCreated
		})
	})
	return s.isCreated
}

// isDeclaredBeside reports whether a manager other than this one has set more of spec than the scale field.
func (s *surroundings) isDeclaredBeside(manager string, managers Managers) bool {
	s.declared.Do(func() {
		for _, e := range s.entries {
			if e.Subresource != "" || e.Manager == s.declarer || !e.mentions([]byte(`"f:spec"`)) || managers.isScaleOnly(e) {
				continue
			}
			s.declarers = s.declarer != ""
			if s.declarer = e.Manager; s.declarers {
				return
			}
		}
	})
	return s.declarers || s.declarer != "" && s.declarer != manager
}

// hasOwnLastApplied reports whether the object has a last-applied configuration that is valid and does not name another object.
func (o Object) hasOwnLastApplied() bool {
	manifest, ok := rawjson.UnquoteBytes(o.lastApplied.Of(o.text))
	if !ok || checkLastApplied(manifest) != nil {
		return false
	}
	object := o.Text()
	for _, names := range [][]string{{"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		declared, found := rawjson.Unquote(rawjson.Find(manifest, names...).Of(manifest))
		if is, known := rawjson.Unquote(rawjson.Find(object, names...).Of(object)); found && known && is != declared {
			return false
		}
	}
	return true
}
