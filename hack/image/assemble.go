package image

import (
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user that the image runs as, which owns no file. It is a number, because runAsNonRoot requires one.
const user = "65532:65532"

// labels returns the image's metadata, by the keys of the OCI image specification.
func labels(from Source) map[string]string {
	const prefix = "org.opencontainers.image."
	metadata := map[string]string{
		prefix + "title":       "handoff-webhook",
		prefix + "description": "Keeps fields that autoscalers, controllers and users own when a manifest is applied",
		prefix + "source":      "https://github.com/ownership-handoff/handoff",
		prefix + "version":     from.Version,
		prefix + "licenses":    "Apache-2.0",
	}
	if from.Revision != "" {
		metadata[prefix+"revision"] = from.Revision
	}
	return metadata
}

// assemble returns the image of one platform with its layer.
func assemble(from Source, platform v1.Platform, layer v1.Layer) (v1.Image, error) {
	created := v1.Time{Time: from.Time}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
		Created: created,
		RootFS:  v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + entrypoint},
			WorkingDir: "/",
			User:       user,
			Labels:     labels(from),
			// Webhook, metrics, health: see handoff-webhook --help.
			ExposedPorts: map[string]struct{}{"9443/tcp": {}, "8080/tcp": {}, "8081/tcp": {}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: created, CreatedBy: "make image, " + from.Compiler},
	})
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return image, nil
}

// join returns the index of the images of all platforms, from which a node selects its own. The index has the same metadata as
// the images, because a registry shows that of the index.
func join(from Source, images []built) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one.image, Descriptor: v1.Descriptor{Platform: &one.platform},
		})
	}
	annotated, ok := mutate.Annotations(index, labels(from)).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("an index with annotations is no longer an index")
	}
	return annotated, nil
}
