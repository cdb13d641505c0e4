package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
)

// HandoverManager is the field manager to which kubectl handoff release transfers a custom resource's field from an applier,
// until the autoscaler or controller that owns the field writes it
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
const HandoverManager = "ownership-handoff"

// Sentences writes why the fields have their values: one sentence for each field, or for each subtree with a single owner.
// Each begins with the prefix.
func (e Explanation) Sentences(w io.Writer, prefix string, chosen func(ownership.Owner) bool) error {
	for _, fold := range e.Fields.Fold() {
		if !chosen(fold.Owner.Kind) {
			continue
		}
		sentence := e.why(&fold.Fields[0])
		if len(fold.Fields) > 1 {
			sentence = e.whyAll(&fold)
		}
		if _, err := io.WriteString(w, printable.Text(prefix+sentence)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// whyAll returns the sentence for several fields of one owner.
func (e Explanation) whyAll(fold *ownership.Fold) string {
	_, declared := e.foldValue(fold)
	f := fold.Fields[0]
	sentence := fmt.Sprintf("%#q has %d fields: %s", table.Dash(Text(fold.Path)), len(fold.Fields), e.who(&f, "them"))
	switch declared {
	case "yes":
		return sentence + "; the manifest sets all of them"
	case "no":
		return sentence + "; the manifest sets none of them"
	case "?":
		return sentence + "; the manifest is not recorded"
	default:
		return sentence + "; the manifest sets some of them: see -o wide"
	}
}

// why returns the sentence for one field.
func (e Explanation) why(f *ownership.Field) string {
	parts := []string{e.is(f) + ": " + e.who(f, "it")}
	if inStatus(f) {
		return strings.Join(append(parts, "an apply does not set status"), "; ")
	}
	return strings.Join(append(parts, e.manifest(f)...), "; ")
}

func (e Explanation) is(f *ownership.Field) string {
	if f.Value == nil {
		return fmt.Sprintf("%#q no longer exists, but is still in managedFields", Text(f.Path))
	}
	return fmt.Sprintf("%#q is %s", Text(f.Path), table.Shorten(e.Subject.Show(f.Path, f.Value), 2*maxValueLen))
}

// who returns who set a field, and how.
func (e Explanation) who(f *ownership.Field, it string) string {
	since := ""
	if f.Since != "" {
		since = " at " + f.Since
	}
	through := ""
	if len(f.Entries) > 0 && f.Entries[0].Subresource != "" {
		through = " through /" + f.Entries[0].Subresource
	}
	switch f.Owner.Kind {
	case ownership.Autoscaler:
		return e.whoScales(f, it, through, since)
	case ownership.Controller:
		return fmt.Sprintf("the controller %#q set %s%s%s", f.Owner.By, it, through, since)
	case ownership.Imperative:
		return fmt.Sprintf("a user set %s with an imperative command (%#q)%s%s", it, f.Owner.By, through, since)
	case ownership.Other:
		return fmt.Sprintf("%#q, a manager that the configuration does not list, set %s%s%s", f.Owner.By, it, through, since)
	case ownership.Manifest:
		return strings.TrimSpace(fmt.Sprintf("the manifest set %s%s%s", it, by(f.Owner.By), since))
	case ownership.Unknown:
		return "its manager is not recorded"
	default:
		return "the API server set " + it + " by default"
	}
}

func (e Explanation) whoScales(f *ownership.Field, it, through, since string) string {
	kind, name, ok := strings.Cut(f.Owner.By, "/")
	if !ok {
		return fmt.Sprintf("the autoscaler %#q set %s%s%s", f.Owner.By, it, through, since)
	}
	if len(f.Entries) == 0 || f.Entries[0].Manager == HandoverManager {
		owns := fmt.Sprintf("%s %#q owns %s, ", kind, name, it)
		switch {
		case e.Subject.Scaled != "":
			return owns + "and last scaled the object at " + e.Subject.Scaled
		case kind == "HorizontalPodAutoscaler": // whose status would say so
			return owns + "but has not set it yet"
		default:
			return owns + "and who set it last is not recorded"
		}
	}
	last := f.Entries[0]
	owner := fmt.Sprintf(", but %s %#q owns %s", kind, name, it)
	if last.Time != "" {
		owner = " at " + last.Time + owner
	}
	switch {
	case e.Subject.Context.Managers.IsApplier(last):
		return fmt.Sprintf("an apply of the manifest (%#q) set %s%s", last.Manager, it, owner)
	case e.Subject.Context.Managers.IsImperative(last):
		return fmt.Sprintf("a user set %s with an imperative command (%#q)%s%s", it, last.Manager, through, owner)
	case through == "":
		return fmt.Sprintf("%#q set %s%s", last.Manager, it, owner)
	default:
		return fmt.Sprintf("%s %#q set %s%s%s", kind, name, it, through, since)
	}
}

func by(manager string) string {
	if manager == "" {
		return ""
	}
	return " (`" + manager + "`)"
}

func inStatus(f *ownership.Field) bool {
	return f.Path[0].FieldName != nil && *f.Path[0].FieldName == "status"
}
