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

// kappAnnotation contains the manifest that kapp applied last.
const kappAnnotation = "kapp.k14s.io/original"

// reachable returns an error if an object's manifest is not recorded where a plan can edit it.
func reachable(s source.Subject) error {
	entries, err := s.Object.Entries()
	if err != nil {
		return fmt.Errorf("%s: %w; apply the object again to rewrite it", s, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s: no managedFields, so the manifests that declare its fields are unknown; "+
			"apply the manifest once to record them, then release", s)
	}
	var updates, applies []ownership.Entry // of appliers
	for _, e := range entries {
		switch {
		case e.Subresource != "" || !s.Context.Managers.IsApplier(e):
		case e.Operation == ownership.OperationApply:
			applies = append(applies, e)
		default:
			updates = append(updates, e)
		}
	}
	annotated := func(name string) bool {
		return s.Object.Value(fieldpath.MakePathOrDie("metadata", "annotations", name)) != nil
	}
	isHelm := func(e ownership.Entry) bool { // or a program with its library
		return e.Manager == "helm" || e.Manager == "helm-controller" || e.Contains(ownership.HelmReleasePath())
	}
	elsewhere := func(tool, where, remedy string) error {
		return fmt.Errorf("%s: %s records its manifest %s, which this command cannot edit; %s", s, tool, where, remedy)
	}
	_, recorded := s.Object.LastApplied()
	switch {
	case annotated(kappAnnotation):
		return elsewhere("kapp", "in its annotation "+kappAnnotation, "add a rebaseRule for the field to kapp's configuration")
	// Helm 3 sends updates; Helm 4 uses server-side apply and is not affected.
	case (annotated(ownership.HelmReleaseAnnotation) || slices.ContainsFunc(updates, isHelm)) && !slices.ContainsFunc(applies, isHelm):
		return elsewhere("Helm", "in the Secret of the release",
			"give the chart a condition that renders the live value, or enable handoff in the namespace")
	case !recorded && len(updates) == 0 && len(applies) == 0:
		return fmt.Errorf("%s: no manifest is recorded, neither in a last-applied annotation nor by server-side apply, "+
			"so no apply would delete its fields; nothing to release", s)
	case !recorded && len(updates) > 0 && updates[0].Manager == "kubectl-client-side-apply":
		return fmt.Errorf("%s: the last-applied annotation was removed, so the fields that its manifest declares are unknown; "+
			"restore it with kubectl apply set-last-applied --create-annotation -f FILE", s)
	case !recorded && len(updates) > 0:
		return elsewhere(updates[0].Manager, "elsewhere", "see its documentation on ignoring fields")
	}
	return otherVersion(s, applies)
}

// otherVersion returns an error if the records use another API version than the object was read in, because field names can
// differ between versions. If they use several versions, no version fits all of them.
func otherVersion(s source.Subject, applies []ownership.Entry) error {
	read := s.Kind.GroupVersion().String()
	var declared []string
	if text, ok := s.Object.LastApplied(); ok {
		var manifest struct {
			APIVersion string `json:"apiVersion"`
		}
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return fmt.Errorf("%s: %w; apply the object again to rewrite it", s, ownership.ErrLastApplied)
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
		return fmt.Errorf("%s: its manifests use several API versions, %s, between which field names can differ; "+
			"change all of them to one version, and apply each once", s, strings.Join(declared, " and "))
	}
	version, err := schema.ParseGroupVersion(declared[0])
	remedy := "change the manifest to that version, and apply it once"
	if err == nil && version.Group == s.Kind.Group {
		remedy = fmt.Sprintf("name the object as %s.%s.%s/%s", strings.ToLower(s.Kind.Kind), version.Version, version.Group, s.Name)
	}
	return fmt.Errorf("%s: its manifest uses %s, but the object was read in %s, and field names can differ between them; %s",
		s, declared[0], read, remedy)
}
