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

const usage = `release-tool builds every file of a release into one folder, or verifies such a folder. It needs go, tar and the source,
and no network once the Go modules are downloaded. Two builds of a commit with the same version of Go are identical, regardless
of machine, folder and date. All times are that of the commit or, if it is set, SOURCE_DATE_EPOCH, in seconds since 1970.

  release-tool image    build the image of the webhook only: a static binary and the license, which runs as user 65532
  release-tool build    the image, the chart, the kustomizations, the plugin, SBOMs, provenance, licenses, notes and checksums
  release-tool verify   check that the files of a folder belong together

The build of the image requires no docker, and pulls nothing. release-tool image prints the digests of the files that it writes:
  bin/image/            an OCI layout with the index of all platforms
  bin/image-amd64.tar   a tarball for docker load and kind load image-archive, one for each platform

Usage:
  release-tool image [flags]
  release-tool build --version=VERSION [flags]
  release-tool verify FOLDER

Examples:
  # All files of the release v0.1.0, in bin/release/v0.1.0.
  release-tool build --version=v0.1.0

  # Is a downloaded release complete and consistent?
  release-tool verify ./v0.1.0

  # Load the image of this commit into docker
  release-tool image --image-platforms=linux/amd64 --version=dev && docker load --input bin/image-amd64.tar

  # Check that the published image was built from this source: both print the same digest. The history of the published
  # image has the version of Go
  docker buildx imagetools inspect ghcr.io/ownership-handoff/handoff-webhook:v1.0.0
  git checkout v1.0.0 && rm -rf bin && GOTOOLCHAIN=go1.26.8 make image

  # Push to a registry with the credentials of docker login
  release-tool image --push --image=registry.example.com/handoff-webhook

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

// options are the flags.
type options struct {
	version, source, output, image string
	imagePlatforms, platforms      []string
	push                           bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := pflag.NewFlagSet("release", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.version, "version", "", "the `tag`, such as v0.1.0 (required; default of release image: the name of the commit)")
	flags.StringVar(&o.source, "source", ".", "`folder` of handoff's source, a clone of its repository")
	flags.StringVar(&o.output, "output", "", "`folder` for the files, which must not exist (default bin/release/VERSION), "+
		"or for the layout of the image, beside the tarballs (default bin/image)")
	flags.StringVar(&o.image, "image", "ghcr.io/ownership-handoff/handoff-webhook", "`name` of the image, without tag")
	flags.StringSliceVar(&o.imagePlatforms, "image-platforms",
		[]string{"linux/amd64", "linux/arm64"}, "`list` of linux/ARCHITECTURE")
	flags.StringSliceVar(&o.platforms, "plugin-platforms",
		[]string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}, "`list` of OS/ARCHITECTURE")
	flags.BoolVar(&o.push, "push", false, "push all platforms to the registry, with the tag (release image only)")
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsagesWrapped(110)) }
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "image":
		return runImage(ctx, o, out)
	case flags.NArg() == 1 && flags.Arg(0) == "build" && !o.push:
		return build(ctx, o, os.Stderr)
	case flags.NArg() == 2 && flags.Arg(0) == "verify":
		return verify(flags.Arg(1), out)
	default:
		return errors.New("say release-tool image [--push], release-tool build --version=VERSION or release-tool verify FOLDER, see --help")
	}
}

func parsePlatforms(list []string) ([]v1.Platform, error) {
	if len(list) == 0 {
		return nil, errors.New("--image-platforms is empty; use --image-platforms=linux/amd64")
	}
	seen := map[string]bool{}
	platforms := make([]v1.Platform, 0, len(list))
	for _, text := range list {
		system, architecture, _ := strings.Cut(text, "/")
		// Variants are not supported: amd64 and arm64 have one that everybody runs, and go names the others differently.
		if system != "linux" || architecture == "" || strings.ContainsAny(architecture, "/:") {
			return nil, fmt.Errorf("--image-platforms: %q is not of the form linux/ARCHITECTURE, such as linux/arm64", text)
		}
		if seen[text] {
			return nil, fmt.Errorf("--image-platforms lists %s twice", text)
		}
		seen[text] = true
		platforms = append(platforms, v1.Platform{OS: system, Architecture: architecture})
	}
	return platforms, nil
}
