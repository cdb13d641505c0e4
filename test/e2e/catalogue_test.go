package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/test/objects"
	"github.com/ownership-handoff/handoff/test/packs"
)

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
		{"replace", "helm", each(replace)},
	}
}

// kubectlAll applies all manifests with one command.
func kubectlAll(args ...string) func(*namespace, string, []*unstructured.Unstructured, []*unstructured.Unstructured) []error {
	return func(n *namespace, manager string, _, manifests []*unstructured.Unstructured) []error {
		var stream strings.Builder
		for _, o := range manifests {
			fmt.Fprintf(&stream, "---\n%s\n", jsontest.Encode(n.T, o.Object))
		}
		r := n.run(stream.String(), append([]string{"apply", "-f", "-", "--field-manager=" + manager}, args...)...)
		errs := make([]error, len(manifests))
		for i, o := range manifests {
			if r.Err != nil && strings.Contains(r.Stderr, `"`+o.GetName()+`"`) {
				errs[i] = fmt.Errorf("%w: %s", r.Err, r.Stderr)
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

// replace is what Helm does with --force: it replaces the object, without last-applied.
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
	return nil, packs.Write{Manager: manager, Verb: "apply", Object: manifest.Object}.Play(n.Context(), cluster.client, n.placed(manifest))
}

// valueOf returns a field of the object of a manifest.
func (n *namespace) valueOf(manifest *unstructured.Unstructured, field string) string {
	n.Helper()
	o, err := packs.Live(n.Context(), cluster.client, manifest)
	expect.NoError(n, err)
	return objects.JSONPath(n.T, o, field)
}

// outcome is what becomes of the field of a play: kept, lost or refused. edited is the value after the edit.
type outcome struct{ field, edited string }

// outcomes plays all entries with an applier.
func (n *namespace) outcomes(s syncer, all []*packs.Entry, mode string) []outcome {
	n.Helper()
	manifests, edited := make([]*unstructured.Unstructured, len(all)), make([]*unstructured.Unstructured, len(all))
	for i, p := range all {
		var err error
		manifests[i], edited[i], err = p.In(cluster.client, n.name, mode)
		expect.NoError(n, err)
	}
	for i, err := range s.sync(n, s.manager, nil, manifests) {
		for _, w := range all[i].Writes {
			if err == nil {
				err = w.Play(n.Context(), cluster.client, manifests[i])
			}
		}
		if err != nil {
			n.Fatalf("%s: %s: %v", all[i].Rule, all[i].Entry, err)
		}
		if got := n.valueOf(manifests[i], all[i].Field); got != all[i].Kept {
			n.Fatalf("%s: %s: the controller writes %q, not %q", all[i].Rule, all[i].Entry, got, all[i].Kept)
		}
	}
	results := make([]outcome, len(all))
	for i, err := range s.sync(n, s.manager, manifests, manifests) {
		switch got := n.valueOf(manifests[i], all[i].Field); {
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
			results[i].edited = n.valueOf(manifests[i], p.Field)
		}
	}
	return results
}

// withKinds installs the kinds of the plays that the API server does not serve, with just enough to store their objects.
func withKinds(t *testing.T, all []*packs.Entry) {
	t.Helper()
	withScalers(t)
	withVirtualServices(t)
	withDeploymentConfigs(t)
	for name, crd := range packs.Missing(cluster.client.RESTMapper(), all) {
		withCRDs(t, crd, "crd/"+name)
	}
}

// TestCatalogue plays every entry of the catalogue with each applier, with and without handoff. Every rule has an entry whose field is
// lost without handoff.
func TestCatalogue(t *testing.T) { //nolint:tparallel // the page follows the subtests
	t.Parallel()
	localOnly(t)
	all, err := packs.Read(filepath.Join("..", ".."))
	expect.NoError(t, err)
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
					expect.Equal(t, p.Rule+": "+p.Entry+": after the edit", p.Edited, got.edited)
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
		expect.NoError(t, err)
		for _, rule := range p.Rules {
			if !isLost[rule.Name] {
				t.Errorf("%s has no entry that is lost without handoff", rule.Name)
			}
		}
	}
	checkCataloguePage(t, all, results)
}
