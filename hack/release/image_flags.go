package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/pflag"
)

// imageOptions are the flags of release image.
type imageOptions struct {
	source     string
	output     string
	repository string
	version    string
	platforms  []v1.Platform
	push       bool
}

const imageUsage = `release image builds the container image of handoff-webhook from Source. The image contains a static binary and the
license, and runs as user 65532. The build requires no docker, and pulls nothing.

Builds of the same commit with the same version of Go have the same digests, regardless of machine, folder and date. All times
are that of the commit or, if it is set, SOURCE_DATE_EPOCH, in seconds since 1970.

With --output=bin/image, the command writes these files and prints their digests:
  bin/image/            an OCI layout with the index of all platforms
  bin/image-amd64.tar   a tarball for docker load and kind load image-archive, one for each platform

Usage:
  release image [flags]

Examples:
  # Build the image of this commit for amd64 and arm64
  release image

  # Load the image into docker
  release image --platforms=linux/amd64 --version=dev && docker load --input bin/image-amd64.tar

  # Check that the published image was built from this source: both print the same digest. The history of the published
  # image has the version of Go
  docker buildx imagetools inspect ghcr.io/ownership-handoff/handoff-webhook:v1.0.0
  git checkout v1.0.0 && rm -rf bin && GOTOOLCHAIN=go1.26.8 make image

  # Push to a registry with the credentials of docker login
  release image --push --repository=registry.example.com/handoff-webhook

Flags:
`

func parseImage(args []string) (imageOptions, error) {
	var o imageOptions
	var platforms []string
	flags := pflag.NewFlagSet("image", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.source, "source", ".", "`folder` of handoff's source, with its go.mod")
	flags.StringVar(&o.output, "output", "bin/image", "`folder` for the OCI layout; the tarballs are written next to it")
	flags.StringVar(&o.repository, "repository", "ghcr.io/ownership-handoff/handoff-webhook",
		"`name` of the image, without tag")
	flags.StringVar(&o.version, "version", "",
		"the `tag`, and the output of handoff-webhook --version (default: that of "+strings.Join(describe(), " ")+")")
	flags.StringSliceVar(&platforms, "platforms", []string{"linux/amd64", "linux/arm64"}, "`list` of linux/ARCHITECTURE")
	flags.BoolVar(&o.push, "push", false, "push all platforms to the repository, with the tag")
	flags.Usage = func() { fmt.Fprint(os.Stderr, imageUsage, flags.FlagUsagesWrapped(110)) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: image accepts only flags; see --help", flags.Arg(0))
	}
	var err error
	o.platforms, err = parsePlatforms(platforms)
	return o, err
}

func parsePlatforms(list []string) ([]v1.Platform, error) {
	if len(list) == 0 {
		return nil, errors.New("--platforms is empty; use --platforms=linux/amd64")
	}
	seen := map[string]bool{}
	platforms := make([]v1.Platform, 0, len(list))
	for _, text := range list {
		system, architecture, _ := strings.Cut(text, "/")
		// Variants are not supported: amd64 and arm64 have one that everybody runs, and go names the others differently.
		if system != "linux" || architecture == "" || strings.ContainsAny(architecture, "/:") {
			return nil, fmt.Errorf("--platforms: %q is not of the form linux/ARCHITECTURE, such as linux/arm64", text)
		}
		if seen[text] {
			return nil, fmt.Errorf("--platforms lists %s twice", text)
		}
		seen[text] = true
		platforms = append(platforms, v1.Platform{OS: system, Architecture: architecture})
	}
	return platforms, nil
}
