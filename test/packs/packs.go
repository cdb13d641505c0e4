// Package packs reads what the tests play of the catalogue of rules: manifests, and the recorded writes of the controllers whose
// fields the packs keep.
package packs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// Entry is a manifest, what a controller writes to its object, and what becomes of that.
type Entry struct {
	Entry string `json:"entry"`
	// Rule is PACK/RULE.
	Rule string `json:"rule"`
	// Manifest has no name, or one with {namespace}. The mode of objects outside namespaces is {mode}.
	Manifest map[string]any `json:"manifest"`
	Writes   []Write        `json:"writes"`
	// Field is the JSONPath of a field that has the value Kept after the writes.
	Field string `json:"field"`
	Kept  string `json:"kept"`
	// Edit is merged into the manifest. Then, the field has the value Edited.
	Edit   map[string]any `json:"edit"`
	Edited string         `json:"edited"`
}

// Write is a write of a controller: the verb is patch, update or apply (server-side).
type Write struct {
	Manager string         `json:"manager"`
	Verb    string         `json:"verb"`
	Object  map[string]any `json:"object"`
}

// Read returns the entries of all packs, in their order. root is that of the repository.
func Read(root string) (all []*Entry, err error) {
	for _, pack := range config.Packs() {
		text, err := os.ReadFile(filepath.Join(root, "config", "catalogue", "testdata", pack+".yaml"))
		if err != nil {
			return nil, err
		}
		var of []*Entry
		if err := yaml.UnmarshalStrict(text, &of); err != nil {
			return nil, fmt.Errorf("%s: %w", pack, err)
		}
		for i, e := range of {
			e.Rule = pack + "/" + e.Rule
			e.SetName(fmt.Sprintf("%s-%d", pack, i))
		}
		all = append(all, of...)
	}
	return all, nil
}

// SetName names the object of a manifest without a name.
func (e *Entry) SetName(name string) {
	if o := (&unstructured.Unstructured{Object: e.Manifest}); o.GetName() == "" {
		o.SetName(name)
	}
}

// In returns the manifest for a namespace and a mode, and the manifest after the edit. The API server must serve its kind.
func (e *Entry) In(api client.Client, namespace, mode string) (manifest, edited *unstructured.Unstructured, err error) {
	manifest, edited = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	text, err := json.Marshal(e.Manifest)
	if err != nil {
		return nil, nil, err
	}
	text = []byte(strings.NewReplacer("{namespace}", namespace, "{mode}", mode).Replace(string(text)))
	edit, err := json.Marshal(e.Edit)
	if err != nil {
		return nil, nil, err
	}
	changed := text
	if e.Edit != nil {
		if changed, err = jsonpatch.MergePatch(text, edit); err != nil {
			return nil, nil, err
		}
	}
	for o, text := range map[*unstructured.Unstructured][]byte{manifest: text, edited: changed} {
		if err := json.Unmarshal(text, &o.Object); err != nil {
			return nil, nil, err
		}
		namespaced, err := api.IsObjectNamespaced(o)
		if err != nil {
			return nil, nil, err
		}
		if namespaced {
			o.SetNamespace(namespace)
		}
	}
	return manifest, edited, nil
}

// Missing returns CRDs of the kinds that an API server does not serve, with just enough to store their objects, by their names.
func Missing(mapper meta.RESTMapper, entries []*Entry) map[string]string {
	missing := map[string]string{}
	for _, e := range entries {
		kind := (&unstructured.Unstructured{Object: e.Manifest}).GroupVersionKind()
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			missing[strings.ToLower(kind.Kind)+"s."+kind.Group] = objects.CRD(kind.Group, kind.Kind, fmt.Sprintf("  - {name: %s, served: true, storage: true, "+
				"schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", kind.Version))
		}
	}
	return missing
}

// Play sends a recorded write to the object of a manifest (In).
func (w Write) Play(ctx context.Context, api client.Client, manifest *unstructured.Unstructured) error {
	patch, err := json.Marshal(w.Object)
	if err != nil {
		return err
	}
	kind := types.MergePatchType
	if scheme.Scheme.Recognizes(manifest.GroupVersionKind()) {
		kind = types.StrategicMergePatchType
	}
	owner := client.FieldOwner(w.Manager)
	switch w.Verb {
	case "patch":
		return api.Patch(ctx, manifest.DeepCopy(), client.RawPatch(kind, patch), owner)
	case "update":
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			live, err := Live(ctx, api, manifest)
			if err != nil {
				return err
			}
			changed := live.DeepCopy()
			if err := api.Patch(ctx, changed, client.RawPatch(kind, patch), client.DryRunAll, owner); err != nil {
				return err
			}
			changed.SetManagedFields(live.GetManagedFields())
			return api.Update(ctx, changed, owner)
		})
	case "apply":
		o := (&unstructured.Unstructured{Object: w.Object}).DeepCopy()
		o.SetGroupVersionKind(manifest.GroupVersionKind())
		o.SetName(manifest.GetName())
		o.SetNamespace(manifest.GetNamespace())
		return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership)
	default:
		return fmt.Errorf("%s is no verb", w.Verb)
	}
}

// Live reads the object of a manifest (In).
func Live(ctx context.Context, api client.Client, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(manifest.GroupVersionKind())
	return o, api.Get(ctx, client.ObjectKeyFromObject(manifest), o)
}
