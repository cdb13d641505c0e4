package ownership

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// addRecorded marks the fields whose values AppliedAnnotation records, also those that the write sets first.
func (s *Search) addRecorded() error {
	w := s.write
	if !w.Managers.rules.remember() {
		return nil
	}
	matcher := w.Managers.rules.matcher(w.Meter, (*Rule).remembers)
	for _, e := range slices.Concat(w.LiveEntries, w.IncomingEntries) {
		if err := s.addMatching(e, matcher, recordedMark); err != nil {
			return err
		}
	}
	return nil
}

// AppliedValues returns the value that AppliedAnnotation must have after the write; changed is false if the incoming object has it, and no
// manager manages the annotation.
func (s *Search) AppliedValues() (text []byte, changed bool) {
	w := s.write
	if !w.Managers.rules.remember() {
		return nil, false
	}
	text = encodeApplied(s.appliedNow(), w.Incoming)
	is, found := w.Incoming.Annotation(AppliedAnnotation).Bytes()
	isManaged := len(managedfields.For(w.LiveEntries, AppliedPath())) > 0 || len(managedfields.For(w.IncomingEntries, AppliedPath())) > 0
	if was, _ := w.Live.Annotation(AppliedAnnotation).Bytes(); found && !isManaged && !bytes.Equal(is, was) {
		return is, false // no client has written it: this is a reinvocation, and the manifest lacks by now what the first call has kept
	}
	changed = isManaged || !bytes.Equal(is, text)
	return text, changed && (found || string(text) != NothingApplied)
}

// appliedNow returns the hashes after the write. Those of fields that the object no longer has, and that no rule is about, are left out.
func (s *Search) appliedNow() map[string]map[string]string {
	now := map[string]map[string]string{}
	for _, n := range s.tree.Nodes() {
		path := n.Path()
		if !s.is(n, recordedMark) || s.is(n, parentMark) || s.isKey(n) || isNeverKept(path) || s.inLive.Of(n) == nil && s.inIncoming.Of(n) == nil {
			continue
		}
		text := path.String()
		hashes := maps.Clone(s.applied.hashes[text]) // Contested compares with what was recorded before
		if s.setsNow(n, path) {
			if hashes == nil {
				hashes = map[string]string{}
			}
			hashes[s.applied.manager] = hashOf(path, s.inIncoming.Of(n).Text())
		}
		if len(hashes) > 0 {
			now[text] = hashes
		}
	}
	return now
}

// setsNow reports whether the manifest sets a field. Helm 3 does not record what it has set, but manages it.
func (s *Search) setsNow(n *fieldtree.Node, path fieldpath.Path) bool {
	m := s.write.Manifests
	if in := s.inside[n]; in != nil && !in.unmatched {
		return s.declared(n, path).Manifest == Sets
	}
	unrecorded := !m.Recorded && !s.write.Sender.ServerSide() && s.write.Sender.Entry.Contains(path)
	return s.inIncoming.Of(n) != nil && (unrecorded || s.declared(n, path).Manifest == Sets)
}

// encodeApplied returns the annotation for an object, within the limits.
func encodeApplied(hashes map[string]map[string]string, o Object) []byte {
	text, err := json.Marshal(hashes)
	size := len(AppliedAnnotation) + len(text)
	for annotation := range o.At("metadata", "annotations").Parts() {
		if annotation.Name() != AppliedAnnotation {
			size += apitypes.AnnotationSize(annotation)
		}
	}
	if err != nil || len(text) > maxApplied || size > apitypes.MaxAnnotations {
		return []byte(NothingApplied)
	}
	return text
}
