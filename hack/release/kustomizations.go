package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomization is a way to install handoff, or an addition to one.
type kustomization struct {
	name string
	// folder is below manifests. component reports whether it is a component, withNamespace whether the component namespace is added.
	folder                   string
	component, withNamespace bool
}

// file is the name of the rendered file.
func (k kustomization) file() string { return "handoff-" + k.name + ".yaml" }

// kustomizations are those that people install.
func kustomizations() []kustomization {
	return []kustomization{
		{name: "default", folder: "overlays/default"},
		{name: "self-signed", folder: "overlays/self-signed", withNamespace: true},
		{name: "cert-manager", folder: "overlays/cert-manager", withNamespace: true},
		{name: "policies", folder: "policies"},
		{name: "guard", folder: "guard"},
		{name: "guard-v1beta1", folder: "guard-v1beta1"},
		{name: "monitoring", folder: "components/monitoring", component: true},
	}
}

// renderKustomizations renders each kustomization with the image of the release.
func renderKustomizations(_ context.Context, r *release) error {
	for _, k := range kustomizations() {
		text, err := r.render(k)
		if err != nil {
			return fmt.Errorf("manifests/%s: %w", k.folder, err)
		}
		head := fmt.Sprintf("# handoff %s: manifests/%s of commit %s, rendered by kustomize.\n", r.from.Version, k.folder, r.from.Revision)
		if err := r.write(k.file(), append([]byte(head), text...)); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) render(k kustomization) ([]byte, error) {
	dir, err := os.MkdirTemp(r.scratch, "kustomize-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	source, err := filepath.Abs(filepath.Join(r.from.Root, "manifests"))
	if err != nil {
		return nil, err
	}
	// kustomize accepts no absolute paths.
	from, err := filepath.Rel(dir, source)
	if err != nil {
		return nil, err
	}
	list := "resources"
	if k.component {
		list = "components"
	}
	text := fmt.Sprintf("%s: [%s/%s]\nimages: [{name: ghcr.io/ownership-handoff/handoff-webhook, newName: %q, newTag: %q}]\n",
		list, from, k.folder, r.image, r.from.Version)
	if k.withNamespace {
		text += "components: [" + from + "/components/namespace]\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}
