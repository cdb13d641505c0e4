// Package image builds the container image of handoff-webhook: a static binary without a base image, for several platforms. The
// digest is the same wherever it is built. Requires go and the source, but not docker.
package image

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// built is the image of one platform.
type built struct {
	platform v1.Platform
	image    v1.Image
}

// Run builds the image as the flags say, writes it, and prints the digests.
func Run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	from, err := Look(ctx, o.source, o.version)
	if err != nil {
		return err
	}
	tag, err := o.tag(from.Version)
	if err != nil {
		return err
	}
	// Check before the build, which takes minutes.
	if err := replaceable(o.output); err != nil {
		return err
	}
	images := make([]built, 0, len(o.platforms))
	for _, platform := range o.platforms {
		image, err := build(ctx, from, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		images = append(images, built{platform: platform, image: image})
	}
	index, err := join(from, images)
	if err != nil {
		return err
	}
	if err := write(o.output, tag, index, images); err != nil {
		return err
	}
	if err := report(out, o.output, tag, index, images); err != nil {
		return err
	}
	if !o.push {
		return nil
	}
	return push(ctx, out, tag, index)
}

// build returns the image of one platform.
func build(ctx context.Context, from Source, platform v1.Platform) (v1.Image, error) {
	binary, err := Compile(ctx, from, entrypoint, platform)
	if err != nil {
		return nil, err
	}
	layer, err := pack(from, binary)
	if err != nil {
		return nil, err
	}
	return assemble(from, platform, layer)
}
