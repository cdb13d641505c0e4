package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	source     string
	output     string
	repository string
	version    string
	platforms  []v1.Platform
	push       bool
}

const usage = `image builds the container image of handoff-webhook from source: a static binary, the license and nothing else, run
as user 65532. No docker is needed, and nothing is pulled.

Two builds of the same commit, with the same version of Go, give the same digests: on another machine, in another folder, on
another day. Times are the commit's, or SOURCE_DATE_EPOCH, in seconds since 1970, where that is set.

It writes, for --output=bin/image,
  bin/image/            an OCI layout with the index of all platforms
  bin/image-amd64.tar   what docker load and kind load image-archive take; one for each platform
and prints the digests.

Usage:
  image [flags]

Examples:
  # The image of this commit, for amd64 and arm64.
  image

  # On this machine's docker.
  image --platforms=linux/amd64 --version=dev && docker load --input bin/image-amd64.tar

  # Is the published image made from this source? Both print the same digest. The published image's history names the
  # version of Go to build it with.
  docker buildx imagetools inspect ghcr.io/ownership-handoff/handoff-webhook:v1.0.0
  git checkout v1.0.0 && make clean && GOTOOLCHAIN=go1.26.8 make image

  # To a registry, as the user whom docker login has noted in ~/.docker/config.json.
  image --push --repository=registry.example.com/handoff-webhook

Flags:
`

func parse(args []string) (options, error) {
	var o options
	var platforms []string
	flags := pflag.NewFlagSet("image", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.source, "source", ".", "`folder` of handoff's source, with its go.mod")
	flags.StringVar(&o.output, "output", "bin/image", "`folder` for the OCI layout; the tarballs go beside it")
	flags.StringVar(&o.repository, "repository", "ghcr.io/ownership-handoff/handoff-webhook",
		"`name` of the image, without tag")
	flags.StringVar(&o.version, "version", "",
		"the `tag`, and what handoff-webhook --version prints; empty: "+strings.Join(describe(), " "))
	flags.StringSliceVar(&platforms, "platforms", []string{"linux/amd64", "linux/arm64"}, "`list` of linux/ARCHITECTURE")
	flags.BoolVar(&o.push, "push", false, "push all platforms to the repository afterwards, under the tag")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsagesWrapped(110)) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: image takes flags only, see --help", flags.Arg(0))
	}
	var err error
	o.platforms, err = parsePlatforms(platforms)
	return o, err
}

func parsePlatforms(list []string) ([]v1.Platform, error) {
	if len(list) == 0 {
		return nil, errors.New("--platforms: there is none to build for, say --platforms=linux/amd64")
	}
	seen := map[string]bool{}
	platforms := make([]v1.Platform, 0, len(list))
	for _, text := range list {
		system, architecture, _ := strings.Cut(text, "/")
		// Variants are left out: amd64 and arm64 have one that everybody runs, and go calls others by other names.
		if system != "linux" || architecture == "" || strings.ContainsAny(architecture, "/:") {
			return nil, fmt.Errorf("--platforms: %q is not of the form linux/ARCHITECTURE, such as linux/arm64", text)
		}
		if seen[text] {
			return nil, fmt.Errorf("--platforms: %s is there twice", text)
		}
		seen[text] = true
		platforms = append(platforms, v1.Platform{OS: system, Architecture: architecture})
	}
	return platforms, nil
}

// tag is the reference of the image.
func (o options) tag(version string) (name.Tag, error) {
	tag, err := name.NewTag(o.repository + ":" + version)
	if err != nil {
		return tag, fmt.Errorf("--repository and --version give no reference "+
			"(a tag has letters, digits, '_', '.' and '-', and no '+'): %w", err)
	}
	return tag, nil
}
