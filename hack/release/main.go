// Command release builds every file of a release into one folder, from which handoff can be installed without this repository,
// and verifies such a folder. Two builds of the same commit with the same version of Go are identical. See --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/pflag"
)

const usage = `release builds every file of a release into one folder, or verifies such a folder. It needs go, tar and the source,
and no network once the Go modules are downloaded. Two builds of a commit with the same version of Go are identical.

  release image    build the image of the webhook only: release image --help
  release build    the image, the chart, the kustomizations, the plugin, SBOMs, provenance, licenses, notes and checksums
  release verify   check that the files of a folder belong together

Usage:
  release image [flags]
  release build --version=VERSION [flags]
  release verify FOLDER

Examples:
  # All files of the release v0.1.0, in bin/release/v0.1.0.
  release build --version=v0.1.0

  # Is a downloaded release complete and consistent?
  release verify ./v0.1.0

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the flags of release build.
type options struct {
	version, source, output, image string
	imagePlatforms, platforms      []string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "image" {
		return runImage(ctx, args[1:], out)
	}
	var o options
	flags := pflag.NewFlagSet("release", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.version, "version", "", "the `tag` of the release, such as v0.1.0 (required)")
	flags.StringVar(&o.source, "source", ".", "`folder` of handoff's source, a clone of its repository")
	flags.StringVar(&o.output, "output", "", "`folder` for the files; it must not exist (default bin/release/VERSION)")
	flags.StringVar(&o.image, "image", "ghcr.io/ownership-handoff/handoff-webhook", "`name` of the image, without tag")
	flags.StringSliceVar(&o.imagePlatforms, "image-platforms",
		[]string{"linux/amd64", "linux/arm64"}, "`list` of linux/ARCHITECTURE")
	flags.StringSliceVar(&o.platforms, "plugin-platforms",
		[]string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}, "`list` of OS/ARCHITECTURE")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsagesWrapped(110)) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "build":
		return build(ctx, o, os.Stderr)
	case flags.NArg() == 2 && flags.Arg(0) == "verify":
		return verify(flags.Arg(1), out)
	default:
		return errors.New("say release image, release build --version=VERSION or release verify FOLDER, see --help")
	}
}

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
