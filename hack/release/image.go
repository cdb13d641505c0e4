package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// webhook is the name of the webhook's program, of its file in the image, and of the files with the image.
	webhook = "handoff-webhook"
	// user is the user that the image runs as, which owns no file. It is a number, because runAsNonRoot requires one.
	user = "65532:65532"
)

// built is the image of one platform.
type built struct {
	platform v1.Platform
	image    v1.Image
}

// runImage builds the image as the flags say, writes it, and prints the digests.
func runImage(ctx context.Context, o options, out io.Writer) error {
	o.output = cmp.Or(o.output, filepath.Join("bin", "image"))
	from, err := look(ctx, o.source, o.version)
	if err != nil {
		return err
	}
	return makeImage(ctx, from, o, out)
}

func makeImage(ctx context.Context, from source, o options, out io.Writer) error {
	platforms, err := parsePlatforms(o.imagePlatforms)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(o.image + ":" + from.Version)
	if err != nil {
		return fmt.Errorf("--image and --version are not a valid reference "+
			"(a tag consists of letters, digits, '_', '.' and '-', without '+'): %w", err)
	}
	// Check before the build, which takes minutes.
	if err := replaceable(o.output); err != nil {
		return err
	}
	images := make([]built, 0, len(platforms))
	for _, platform := range platforms {
		image, err := assemble(ctx, from, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		images = append(images, built{platform: platform, image: image})
	}
	index, err := join(from, images)
	if err != nil {
		return err
	}
	if err := writeImage(o.output, tag, index, images); err != nil {
		return err
	}
	if err := reportImage(out, o.output, tag, index, images); err != nil || !o.push {
		return err
	}
	return push(ctx, out, tag, index)
}

// labels returns the image's metadata, by the keys of the OCI image specification.
func labels(from source) map[string]string {
	const prefix = "org.opencontainers.image."
	metadata := map[string]string{
		prefix + "title":       webhook,
		prefix + "description": "Keeps fields that autoscalers, controllers and users own when a manifest is applied",
		prefix + "source":      repository,
		prefix + "version":     from.Version,
		prefix + "licenses":    "Apache-2.0",
	}
	if from.Revision != "" {
		metadata[prefix+"revision"] = from.Revision
	}
	return metadata
}

// assemble builds the image of one platform.
func assemble(ctx context.Context, from source, platform v1.Platform) (v1.Image, error) {
	layer, err := pack(ctx, from, platform)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: from.Time}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture,
		Created: created,
		RootFS:  v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + webhook},
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
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "make image, " + from.Compiler},
	})
}

// pack returns the only layer. It needs no CA certificates: the webhook connects only to the API server, whose CA is mounted with
// the service account.
func pack(ctx context.Context, from source, platform v1.Platform) (v1.Layer, error) {
	binary, err := from.compile(ctx, webhook, platform)
	if err != nil {
		return nil, err
	}
	license, err := from.file("LICENSE")
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	// Nobody but root may change the binary: user 65532 can run it.
	err = writeTar(&archive, from.Time, []member{
		{name: "LICENSE", mode: 0o644, content: license}, {name: webhook, mode: 0o755, content: binary},
	})
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}

// join returns the index of the images of all platforms, from which a node selects its own. The index has the same metadata as
// the images, because a registry shows that of the index.
func join(from source, images []built) (v1.ImageIndex, error) {
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

// replaceable returns an error if the output exists and is not an OCI layout: the program only removes what it has written.
func replaceable(output string) error {
	if _, err := os.Lstat(output); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(output, "oci-layout")); err != nil {
		return fmt.Errorf("--output=%s exists and is not an OCI layout; choose another path: %w", output, err)
	}
	return nil
}

// tarballOf returns the path of an architecture's tarball.
func tarballOf(output, architecture string) string {
	return filepath.Clean(output) + "-" + architecture + ".tar"
}

// writeImage writes the layout and the tarballs. It replaces earlier ones.
func writeImage(output string, tag name.Tag, index v1.ImageIndex, images []built) error {
	if err := os.RemoveAll(output); err != nil {
		return err
	}
	folder, err := layout.Write(output, empty.Index)
	if err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	named := map[string]string{"org.opencontainers.image.ref.name": tag.TagStr()}
	if err := folder.AppendIndex(index, layout.WithAnnotations(named)); err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	for _, one := range images {
		if err := tarball.WriteToFile(tarballOf(output, one.platform.Architecture), tag, one.image); err != nil {
			return fmt.Errorf("tarball of %s: %w", one.platform, err)
		}
	}
	return nil
}

// reportImage prints the digests. A Deployment should use that of the index.
func reportImage(out io.Writer, output string, tag name.Tag, index v1.ImageIndex, images []built) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, tag)
	fmt.Fprintf(out, "%-12s %s %s\n", "index", digest, output)
	for _, one := range images {
		digest, err := one.image.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s %s %s\n", one.platform, digest, tarballOf(output, one.platform.Architecture))
	}
	return nil
}

// push pushes all platforms to the tag's registry.
func push(ctx context.Context, out io.Writer, tag name.Tag, index v1.ImageIndex) error {
	err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "pushed", tag.Digest(digest.String()))
	return nil
}
