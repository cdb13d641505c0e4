package release

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// The annotations of tools that record manifests elsewhere.
const (
	helmAnnotation = "meta.helm.sh/release-name"
	kappAnnotation = "kapp.k14s.io/original"
)

// Reachable refuses an object whose manifest is not recorded where a plan could take something out of it.
func Reachable(s source.Subject) error {
	entries, err := s.Object.Entries()
	if err != nil {
		return fmt.Errorf("%s: %w; apply the object again, which writes it anew", s, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s: its managedFields were taken away, so that nothing tells which manifests declare its fields; "+
			"apply the manifest once, which records them anew, and release then", s)
	}
	var updates, applies []ownership.Entry // of those who apply
	for _, e := range entries {
		switch {
		case e.Subresource != "" || !s.Context.Managers.IsApplier(e):
		case e.Operation == ownership.OperationApply:
			applies = append(applies, e)
		default:
			updates = append(updates, e)
		}
	}
	if err := ofOtherTools(s, updates, applies); err != nil {
		return err
	}
	if _, recorded := s.Object.LastApplied(); !recorded {
		if err := unrecorded(s, updates, applies); err != nil {
			return err
		}
	}
	return otherVersion(s, applies)
}

// ofOtherTools refuses the objects of tools that have their own record of the manifest, and go by that. Helm 3 updates; Helm 4
// applies server-side, as others do.
func ofOtherTools(s source.Subject, updates, applies []ownership.Entry) error {
	annotated := func(name string) bool {
		return s.Object.Value(fieldpath.MakePathOrDie("metadata", "annotations", name)) != nil
	}
	if annotated(kappAnnotation) {
		return elsewhere(s, "kapp", "in its annotation "+kappAnnotation, "add a rebaseRule for the field to kapp's configuration")
	}
	isHelm := func(e ownership.Entry) bool { return e.Manager == "helm" || e.Manager == "helm-controller" }
	if !slices.ContainsFunc(applies, isHelm) && (annotated(helmAnnotation) || slices.ContainsFunc(updates, isHelm)) {
		return elsewhere(s, "Helm", "in the Secret of the release",
			"give the chart a condition that renders the live value, or enable handoff in the namespace")
	}
	return nil
}

// unrecorded refuses an object without an annotation, unless it was applied server-side alone.
func unrecorded(s source.Subject, updates, applies []ownership.Entry) error {
	switch {
	case len(updates) == 0 && len(applies) == 0:
		return fmt.Errorf("%s: no manifest is recorded on it, neither by a last-applied annotation nor by server-side apply, "+
			"so that no apply would delete a field of it; there is nothing to release", s)
	case len(updates) == 0:
		return nil
	case updates[0].Manager == "kubectl-client-side-apply":
		return fmt.Errorf("%s: it has no last-applied annotation any more, so that what its manifest declares is not known; "+
			"write it with kubectl apply set-last-applied --create-annotation -f FILE", s)
	default:
		return elsewhere(s, updates[0].Manager, "by itself", "see there how it ignores a field")
	}
}

func elsewhere(s source.Subject, who, where, remedy string) error {
	return fmt.Errorf("%s: %s records its manifest %s, where this command cannot take a field out of it; %s", s, who, where, remedy)
}

// otherVersion refuses records that are of another version than the object was read in: there, fields can have other names.
// Where they are of several versions, the object can be read in none.
func otherVersion(s source.Subject, applies []ownership.Entry) error {
	read := s.Kind.GroupVersion().String()
	var declared []string
	if text, ok := s.Object.LastApplied(); ok {
		var manifest struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return fmt.Errorf("%s: %w; apply the object again, which writes it anew", s, ownership.ErrLastApplied)
		}
		declared = append(declared, manifest.APIVersion)
	}
	for _, e := range applies {
		declared = append(declared, e.APIVersion)
	}
	slices.Sort(declared)
	declared = slices.Compact(declared)
	switch {
	case len(declared) == 0 || len(declared) == 1 && declared[0] == read:
		return nil
	case len(declared) > 1:
		return fmt.Errorf("%s: its manifests are written in several versions, %s, in which fields can have other names; "+
			"write all of them in one version, and apply each once", s, strings.Join(declared, " and "))
	}
	version, err := schema.ParseGroupVersion(declared[0])
	remedy := "write it in that version, and apply it once"
	if err == nil && version.Group == s.Kind.Group {
		remedy = fmt.Sprintf("name the object as %s.%s.%s/%s", strings.ToLower(s.Kind.Kind), version.Version, version.Group, s.Name)
	}
	return fmt.Errorf("%s: its manifest is written in %s, and the object was read in %s, in which fields can have other names; %s",
		s, declared[0], read, remedy)
}
