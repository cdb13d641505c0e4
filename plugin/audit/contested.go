package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/manifest"
)

// autoscaling is the field manager of the HorizontalPodAutoscaler controller, which writes through /scale.
const autoscaling = "kube-controller-manager"

// contest lists the managers that contend for a field.
type contest struct {
	// appliers are the managers with manifests that set the field.
	appliers []string
	// writer is a manager that is neither an applier nor imperative and has written another value. It is empty if the
	// appliers contend with each other.
	writer string
	// owner is the field's owner.
	owner ownership.Owner
}

func (c contest) exists() bool { return c.writer != "" || len(c.appliers) > 1 }

// contested adds a risk for fields that several managers write. Fields with the same contenders are one risk if their common
// parent has no other declared fields. Defaults, and fields that the object lacks, do not split their parent.
func (a *auditor) contested(e explain.Explanation) {
	clientSide := clientSideApplier(e)
	var fields ownership.Fields
	var contests []contest
	for i := range e.Fields {
		f := &e.Fields[i]
		found := contestOf(e, clientSide, f)
		if found.exists() || f.Owner.Kind != ownership.Default && f.Value != nil {
			fields, contests = append(fields, *f), append(contests, found)
		}
	}
	same := func(x, y int) bool {
		return contests[x].writer == contests[y].writer && contests[x].owner == contests[y].owner &&
			slices.Equal(contests[x].appliers, contests[y].appliers)
	}
	for _, fold := range fields.FoldBy(same) {
		found := contests[fold.First]
		// Every manager that sets a field of a list element also manages its keys.
		notKey := func(f ownership.Field) bool { return !manifest.IsKey(f.Path) }
		if found.exists() && (found.writer != "" || slices.ContainsFunc(fold.Fields, notKey)) {
			a.addContest(e, fold, found)
		}
	}
}

// contestOf returns the managers that contend for a field, in one of two cases:
//   - The last-applied manifest declares a different value, and the field's manager is neither an applier nor imperative: both
//     write repeatedly. An imperative change happens once. A value that the API server has only normalized, such as 0.5 to
//     500m, is still the applier's.
//   - Several appliers set it.
//
// The scale field of an autoscaled object is another risk. A value that an autoscaler left behind belongs to the manifest.
func contestOf(e explain.Explanation, clientSide string, f *ownership.Field) contest {
	status := len(f.Path) > 0 && f.Path[0].FieldName != nil && *f.Path[0].FieldName == "status"
	if f.Value == nil || f.Owner.Kind == ownership.Autoscaler || status {
		return contest{}
	}
	found := contest{appliers: appliers(e, clientSide, f), owner: f.Owner.Kind}
	byOwner := f.Owner.Kind.Decided() == ownership.Imperative || f.Owner.Kind == ownership.Controller
	if f.DeclaredValue == nil || len(f.Entries) == 0 || !byOwner {
		return found
	}
	managers, writer := e.Subject.Context.Managers, f.Entries[0]
	formerAutoscaler := writer.Manager == autoscaling && writer.Subresource == "scale"
	if !managers.IsImperative(writer) && !formerAutoscaler && !managers.IsApplier(writer) {
		found.writer = writer.Manager
	}
	return found
}

// appliers returns the managers with manifests that set a field, without duplicates: the client-side applier if the
// last-applied annotation declares the field, server-side appliers, and clients that do not record their manifest, such as
// Helm 3. The client-side applier's managedFields entry does not count, because it includes defaults.
func appliers(e explain.Explanation, clientSide string, f *ownership.Field) (names []string) {
	if clientSide != "" && f.Declared == ownership.Sets {
		names = append(names, clientSide)
	}
	for _, h := range f.Entries {
		recorded := h.Operation == ownership.OperationUpdate && h.Manager == clientSide
		if e.Subject.Context.Managers.IsApplier(h) && h.Subresource == "" && !recorded && !slices.Contains(names, h.Manager) {
			names = append(names, h.Manager)
		}
	}
	return names
}

// clientSideApplier returns the client-side applier that wrote the last-applied annotation. It returns "" if there is no
// annotation, or if only the API server still updates it, for a server-side applier.
func clientSideApplier(e explain.Explanation) string {
	entries, _ := e.Subject.Object.Entries() // which explain has read
	for _, entry := range ownership.EntriesFor(entries, ownership.LastAppliedPath()) {
		if entry.Operation == ownership.OperationUpdate && e.Subject.Context.Managers.IsApplier(entry) {
			return entry.Manager
		}
	}
	return ""
}

func (a *auditor) addContest(e explain.Explanation, fold ownership.Fold, found contest) {
	s, first := e.Subject, &fold.Fields[0]
	r := newRisk(Contested, s)
	r.addFields(e, fold.Fields...)
	r.Field, r.Now, r.Managers = explain.Text(fold.Path), e.Short(first.Path, first.Value), found.appliers
	if r.Field == "" {
		r.Field = "."
	}
	kept := r.Now
	if len(fold.Fields) > 1 {
		r.Now, kept = fmt.Sprintf("(%d fields)", len(fold.Fields)), "them"
	}
	if !e.Keeps(first, ownership.Sets, ownership.Sets) {
		kept = ""
	}
	answer := a.ask(installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	r.respond(answer, kept)
	r.NextApply = nextOf(e, fold, found)
	if found.writer == "" {
		r.Remedies = []string{"remove " + r.Field + " from one of the manifests"}
	} else {
		r.Managers = append([]string{found.writer}, found.appliers...)
		if kept == "" { // it fails, and changes nothing, if the object already has the annotation with other fields
			r.Remedies = append(r.Remedies, fmt.Sprintf("kubectl annotate %s '%s=%s'",
				s.Title(), ownership.ControllerFieldsAnnotation, r.Field))
		}
		r.Remedies = append(append(r.Remedies, a.enable(s, answer)...), releaseCommand(s, r.Field))
		if !s.Context.Managers.IsEditable(first.Path, first.Owner) {
			r.Remedies = append(r.Remedies, "remove "+r.Field+" from the manifest")
		}
	}
	a.report.Risks = append(a.report.Risks, r)
}

// nextOf returns what the next apply does to contested fields.
func nextOf(e explain.Explanation, fold ownership.Fold, found contest) string {
	first := &fold.Fields[0]
	sets := ""
	switch {
	case len(fold.Fields) == 1 && first.DeclaredValue != nil:
		sets = "sets " + e.Short(first.Path, first.DeclaredValue)
	case first.DeclaredValue != nil:
		sets = "sets the manifest's values"
	}
	all := strings.Join(found.appliers, " and ")
	clientSide := func(h ownership.Entry) bool { return h.Operation != ownership.OperationApply }
	switch {
	case found.writer != "":
		return sets + ", overwriting " + found.writer
	case sets != "":
		return sets + ", as " + all + " differ"
	case slices.ContainsFunc(first.Entries, clientSide):
		return "overwrites the other once " + all + " differ"
	default:
		return "conflicts once " + all + " differ"
	}
}
