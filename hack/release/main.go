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
	"syscall"

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
