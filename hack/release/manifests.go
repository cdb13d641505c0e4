package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// chartArchive is the name of the chart's file. A chart's version has no v, because Helm requires a semantic version.
func (r *release) chartArchive() string {
	return "handoff-" + strings.TrimPrefix(r.from.Version, "v") + ".tgz"
}

// packChart packs the chart as helm package does, but with the commit's time instead of the current one.
func (r *release) packChart(context.Context) error {
	members, err := membersOf(filepath.Join(r.from.Root, "manifests", "chart"), "handoff/")
	if err != nil {
		return err
	}
	for i, m := range members {
		if m.name == "handoff/Chart.yaml" {
			members[i].content = setVersion(m.content, r.from.Version)
		}
	}
	archive, err := gzipped(r.from.Time, members)
	if err != nil {
		return err
	}
	return r.write(r.chartArchive(), archive)
}

// setVersion sets the versions of the chart and of the image in a Chart.yaml. An indented line is in the annotation that lists the images
// for Artifact Hub.
func setVersion(chart []byte, version string) []byte {
	for line, with := range map[string]string{
		`(?m)^(version): .*$`:       "${1}: " + strings.TrimPrefix(version, "v"),
		`(?m)^(appVersion): .*$`:    "${1}: " + version,
		`(?m)^(\s+image: \S+:)\S+$`: "${1}" + version,
		`(/prerelease): .*`:         fmt.Sprintf(`${1}: "%t"`, strings.Contains(version, "-")),
	} {
		chart = regexp.MustCompile(line).ReplaceAll(chart, []byte(with))
	}
	return chart
}

// kustomizations are the folders below manifests that people install.
var kustomizations = []string{
	"overlays/default", "overlays/self-signed", "overlays/cert-manager", "policies", "guard", "guard-v1beta1", "components/monitoring",
}

// renderedAs is the name of a rendered kustomization.
func renderedAs(folder string) string { return "handoff-" + path.Base(folder) + ".yaml" }

// renderKustomizations renders each kustomization with the image of the release.
func (r *release) renderKustomizations(context.Context) error {
	for _, folder := range kustomizations {
		text, err := r.render(folder)
		if err != nil {
			return fmt.Errorf("manifests/%s: %w", folder, err)
		}
		head := fmt.Sprintf("# handoff %s: manifests/%s of commit %s, rendered by kustomize.\n", r.from.Version, folder, r.from.Revision)
		if err := r.write(renderedAs(folder), append([]byte(head), text...)); err != nil {
			return err
		}
	}
	return nil
}

// render renders a kustomization. All overlays contain the namespace: the default one names it, the others get the component.
func (r *release) render(folder string) ([]byte, error) {
	dir, err := os.MkdirTemp(r.scratch, "kustomize-")
	if err != nil {
		return nil, err
	}
	// kustomize accepts no absolute paths.
	var absolute [2]string
	for i, folder := range []string{dir, filepath.Join(r.from.Root, "manifests")} {
		if absolute[i], err = filepath.Abs(folder); err != nil {
			return nil, err
		}
	}
	manifests, err := filepath.Rel(absolute[0], absolute[1])
	if err != nil {
		return nil, err
	}
	resources, components := []string{manifests + "/" + folder}, []string{}
	if strings.HasPrefix(folder, "components/") {
		resources, components = components, resources
	}
	if folder == "overlays/self-signed" || folder == "overlays/cert-manager" {
		components = append(components, manifests+"/components/namespace")
	}
	text := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\nimages: [{name: ghcr.io/ownership-handoff/handoff-webhook, newName: %q, newTag: %q}]\n",
		strings.Join(resources, ", "), strings.Join(components, ", "), r.image, r.from.Version)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), absolute[0])
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

// krewManifest is the name of the plugin's manifest for the krew index.
const krewManifest = "krew.yaml"

// pluginArchive is the name of the file with the plugin of one platform.
func pluginArchive(platform string) string {
	return "kubectl-handoff-" + strings.ReplaceAll(platform, "/", "-") + ".tar.gz"
}

// pluginProgram is the name of the plugin's program.
func pluginProgram(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "kubectl-handoff.exe"
	}
	return "kubectl-handoff"
}

// buildPlugin builds the plugin's archives, and the manifest with their digests: krew identifies them by these.
func (r *release) buildPlugin(ctx context.Context) error {
	text, err := r.from.file("manifests", "krew", "handoff.yaml")
	if err != nil {
		return err
	}
	manifest := strings.ReplaceAll(string(text), "VERSION", r.from.Version)
	for _, platform := range r.platforms {
		archive, err := r.archivePlugin(ctx, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := r.write(pluginArchive(platform), archive); err != nil {
			return err
		}
		manifest = strings.ReplaceAll(manifest, "SHA256-"+strings.ReplaceAll(platform, "/", "-"), sum(archive))
	}
	return r.write(krewManifest, []byte(manifest))
}

// archivePlugin returns the archive with the plugin of one platform, its license and its shell completion.
func (r *release) archivePlugin(ctx context.Context, platform string) ([]byte, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	binary, err := r.from.compile(ctx, "kubectl-handoff", v1.Platform{OS: system, Architecture: architecture})
	if err != nil {
		return nil, err
	}
	license, err := r.from.file("LICENSE")
	if err != nil {
		return nil, err
	}
	const completion = "kubectl_complete-handoff"
	script, err := r.from.file("manifests", "krew", completion)
	if err != nil {
		return nil, err
	}
	return gzipped(r.from.Time, []member{
		{name: "LICENSE", mode: 0o644, content: license},
		{name: pluginProgram(platform), mode: 0o755, content: binary},
		{name: completion, mode: 0o755, content: script},
	})
}
