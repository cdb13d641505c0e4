package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/objects"
)

// packEntry is an entry of the catalogue: a manifest, what a controller writes to its object, and what becomes of that.
type packEntry struct {
	Entry string `json:"entry"`
	Rule  string `json:"rule"`
	// Manifest has no name, or one with {namespace}. The mode of objects outside namespaces is {mode}.
	Manifest map[string]any `json:"manifest"`
	Writes   []recorded     `json:"writes"`
	// Field is the JSONPath of a field that has the value Kept after the writes.
	Field string `json:"field"`
	Kept  string `json:"kept"`
	// Edit is merged into the manifest. Then, the field has the value Edited.
	Edit   map[string]any `json:"edit"`
	Edited string         `json:"edited"`

	object *unstructured.Unstructured // of the manifest, with a name
}

// recorded is a write of a controller: the verb is patch, update or apply (server-side).
type recorded struct {
	Manager string         `json:"manager"`
	Verb    string         `json:"verb"`
	Object  map[string]any `json:"object"`
}

// plays returns the entries of all packs, in order.
func plays(t *testing.T) (all []*packEntry) {
	t.Helper()
	for _, pack := range config.Packs() {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "catalogue", "testdata", pack+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var of []*packEntry
		if err := yaml.UnmarshalStrict(text, &of); err != nil {
			t.Fatalf("%s: %v", pack, err)
		}
		for i, p := range of {
			p.Rule = pack + "/" + p.Rule
			p.object = &unstructured.Unstructured{Object: p.Manifest}
			if p.object.GetName() == "" {
				p.object.SetName(fmt.Sprintf("%s-%d", pack, i))
			}
		}
		all = append(all, of...)
	}
	return all
}

// syncer applies the manifests of all plays. before are those that it applied last, nil for the first. The error of a manifest is that
// of its write.
type syncer struct {
	name, manager string
	sync          func(n *namespace, manager string, before, manifests []*unstructured.Unstructured) []error
}

// syncers are the columns of the page.
func syncers() []syncer {
	return []syncer{
		{"kubectl apply", "ci", kubectlAll()},
		{"server-side", "ci", kubectlAll(serverSide()...)},
		{"Flux", "kustomize-controller", each(flux)},
		{"Helm 3", "terraform-provider-helm_v3.0.2_x5", each(helm3)},
		{"Ansible", "OpenAPI-Generator", each(ansible)},
		{"replace", "argocd-application-controller", each(replace)},
	}
}

// kubectlAll applies all manifests with one command.
func kubectlAll(args ...string) func(*namespace, string, []*unstructured.Unstructured, []*unstructured.Unstructured) []error {
	return func(n *namespace, manager string, _, manifests []*unstructured.Unstructured) []error {
		var stream strings.Builder
		for _, o := range manifests {
			fmt.Fprintf(&stream, "---\n%s\n", encoded(n, o.Object))
		}
		r := n.run(stream.String(), append([]string{"apply", "-f", "-", "--field-manager=" + manager}, args...)...)
		errs := make([]error, len(manifests))
		for i, o := range manifests {
			if r.err != nil && strings.Contains(r.stderr, `"`+o.GetName()+`"`) {
				errs[i] = fmt.Errorf("%w: %s", r.err, r.stderr)
			}
		}
		return errs
	}
}

// each applies one manifest after the other.
func each(s applyFunc) func(*namespace, string, []*unstructured.Unstructured, []*unstructured.Unstructured) []error {
	return func(n *namespace, manager string, before, manifests []*unstructured.Unstructured) []error {
		errs := make([]error, len(manifests))
		for i, o := range manifests {
			var last *unstructured.Unstructured
			if before != nil {
				last = before[i]
			}
			_, errs[i] = s(n, manager, last, o)
		}
		return errs
	}
}

// replace is what Argo CD does with Replace=true (ReplaceResource in gitops-engine): kubectl replace, without last-applied.
func replace(n *namespace, manager string, before, manifest *unstructured.Unstructured) (o *unstructured.Unstructured, err error) {
	if before == nil {
		return n.created(manager, manifest)
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := n.liveOf(manifest)
		if err != nil {
			return err
		}
		o = n.placed(manifest)
		o.SetResourceVersion(live.GetResourceVersion())
		return cluster.client.Update(n.Context(), o, client.FieldOwner(manager))
	})
	return o, err
}

// flux is what Flux's kustomize-controller does (Apply in fluxcd/pkg/ssa): it renames the entries of kubectl, and applies server-side.
func flux(n *namespace, manager string, before, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if before != nil {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			live, err := n.liveOf(manifest)
			if err != nil {
				return err
			}
			live.SetManagedFields(renamed(n.T, live, manager))
			return cluster.client.Update(n.Context(), live, client.FieldOwner(manager))
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, n.write(recorded{Manager: manager, Verb: "apply", Object: manifest.Object}, manifest)
}

// write plays a recorded write to the object of a manifest.
func (n *namespace) write(w recorded, manifest *unstructured.Unstructured) error {
	n.Helper()
	patch := encoded(n, w.Object)
	kind := types.MergePatchType
	if scheme.Scheme.Recognizes(manifest.GroupVersionKind()) {
		kind = types.StrategicMergePatchType
	}
	owner := client.FieldOwner(w.Manager)
	switch w.Verb {
	case "patch":
		_, err := n.patchedAs(w.Manager, manifest, kind, patch)
		return err
	case "update":
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			live, err := n.liveOf(manifest)
			if err != nil {
				return err
			}
			changed := live.DeepCopy()
			if err := cluster.client.Patch(n.Context(), changed, client.RawPatch(kind, patch), client.DryRunAll, owner); err != nil {
				return err
			}
			changed.SetManagedFields(live.GetManagedFields())
			return cluster.client.Update(n.Context(), changed, owner)
		})
	case "apply":
		o := &unstructured.Unstructured{Object: w.Object}
		o = o.DeepCopy()
		o.SetGroupVersionKind(manifest.GroupVersionKind())
		o.SetName(manifest.GetName())
		o = n.placed(o)
		return cluster.client.Apply(n.Context(), client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership)
	default:
		return fmt.Errorf("%s is no verb", w.Verb)
	}
}

// in returns the manifest for a namespace, and the manifest after the edit.
func (p *packEntry) in(n *namespace, mode string) (manifest, edited *unstructured.Unstructured) {
	n.Helper()
	manifest, edited = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	text := []byte(strings.NewReplacer("{namespace}", n.name, "{mode}", mode).Replace(string(encoded(n, p.object.Object))))
	err := json.Unmarshal(text, &manifest.Object)
	if err == nil && p.Edit != nil {
		text, err = jsonpatch.MergePatch(text, encoded(n, p.Edit))
	}
	if err == nil {
		err = json.Unmarshal(text, &edited.Object)
	}
	if err != nil {
		n.Fatal(err)
	}
	return manifest, edited
}

// value returns the field of an entry.
func (n *namespace) value(p *packEntry, manifest *unstructured.Unstructured) string {
	n.Helper()
	o, err := n.liveOf(manifest)
	if err != nil {
		n.Fatal(err)
	}
	return objects.JSONPath(n.T, o, p.Field)
}

// outcome is what becomes of the field of a play: kept, lost or refused. edited is the value after the edit.
type outcome struct{ field, edited string }

// outcomes plays all entries with an applier.
func (n *namespace) outcomes(s syncer, all []*packEntry, mode string) []outcome {
	n.Helper()
	manifests, edited := make([]*unstructured.Unstructured, len(all)), make([]*unstructured.Unstructured, len(all))
	for i, p := range all {
		manifests[i], edited[i] = p.in(n, mode)
	}
	for i, err := range s.sync(n, s.manager, nil, manifests) {
		for _, w := range all[i].Writes {
			if err == nil {
				err = n.write(w, manifests[i])
			}
		}
		if err != nil {
			n.Fatalf("%s: %s: %v", all[i].Rule, all[i].Entry, err)
		}
		if got := n.value(all[i], manifests[i]); got != all[i].Kept {
			n.Fatalf("%s: %s: the controller writes %q, not %q", all[i].Rule, all[i].Entry, got, all[i].Kept)
		}
	}
	results := make([]outcome, len(all))
	for i, err := range s.sync(n, s.manager, manifests, manifests) {
		switch got := n.value(all[i], manifests[i]); {
		case err != nil:
			n.Logf("%s: %s: %v", all[i].Rule, all[i].Entry, err)
			results[i].field = "refused"
		case got != all[i].Kept:
			results[i].field = "lost"
		default:
			results[i].field = "kept"
		}
	}
	s.sync(n, s.manager, manifests, edited)
	for i, p := range all {
		if p.Edit != nil {
			results[i].edited = n.value(p, manifests[i])
		}
	}
	return results
}

// withKinds installs the kinds of the plays that the API server does not serve, with just enough to store their objects.
func withKinds(t *testing.T, all []*packEntry) {
	t.Helper()
	withScalers(t)
	withVirtualServices(t)
	for _, p := range all {
		kind := p.object.GroupVersionKind()
		_, err := cluster.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if !meta.IsNoMatchError(err) {
			continue
		}
		withCRDs(t, objects.CRD(kind.Group, kind.Kind, fmt.Sprintf("  - {name: %s, served: true, storage: true, schema: {openAPIV3Schema: "+
			"{type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", kind.Version)), "crd/"+strings.ToLower(kind.Kind)+"s."+kind.Group)
	}
}

// TestCatalogue plays every entry of the catalogue with each applier, with and without handoff. Every rule has an entry whose field is
// lost without handoff.
func TestCatalogue(t *testing.T) { //nolint:tparallel // the page follows the subtests
	t.Parallel()
	localOnly(t)
	all := plays(t)
	withKinds(t, all)
	results := make([][]string, len(all))
	for i := range results {
		results[i] = make([]string, len(syncers()))
	}
	t.Run("appliers", func(t *testing.T) { // ends when all of them do
		for column, s := range syncers() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				with := newNamespace(t, "enforce")
				with.withRules()
				without := newNamespace(t, "").outcomes(s, all, "off")
				for i, got := range with.outcomes(s, all, "enforce") {
					p := all[i]
					if got.field != "kept" && without[i].field != "refused" {
						t.Errorf("%s: %s: want the field kept, got it %s", p.Rule, p.Entry, got.field)
					}
					if got.edited != p.Edited {
						t.Errorf("%s: %s: want %q after the edit, got %q", p.Rule, p.Entry, p.Edited, got.edited)
					}
					results[i][column] = without[i].field + " → " + got.field
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	isLost := map[string]bool{}
	for i, p := range all {
		isLost[p.Rule] = isLost[p.Rule] || slices.Contains(results[i], "lost → kept")
	}
	for _, name := range config.Packs() {
		p, err := config.ReadPack(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range p.Rules {
			if !isLost[rule.Name] {
				t.Errorf("%s has no entry that is lost without handoff", rule.Name)
			}
		}
	}
	checkCataloguePage(t, catalogueText(t, all, results))
}
