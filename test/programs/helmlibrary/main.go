// Command helmlibrary upgrades or rolls back a release with the library of Helm 3, as programs do that embed it, such as
// Terraform's provider. Only Helm's own command names a field manager: for a program with the library, the manager is the name
// of the process, so the file's name matters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kubeconfig := flag.String("kubeconfig", "", "`path` of the kubeconfig")
	namespace := flag.String("namespace", "default", "`namespace` of the release")
	takeOwnership := flag.Bool("take-ownership", false, "adopt objects that do not belong to a release")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: %s [FLAGS] upgrade RELEASE CHART | rollback RELEASE REVISION\n", os.Args[0])
		flag.PrintDefaults()
	}
	flag.Parse()
	log.SetFlags(0)
	getter := genericclioptions.NewConfigFlags(true)
	getter.KubeConfig, getter.Namespace = kubeconfig, namespace
	var config action.Configuration
	err := config.Init(getter, *namespace, "secret", func(string, ...any) {})
	switch {
	case err != nil:
	case flag.NArg() == 3 && flag.Arg(0) == "upgrade":
		err = upgrade(ctx, &config, *namespace, flag.Arg(1), flag.Arg(2), *takeOwnership)
	case flag.NArg() == 3 && flag.Arg(0) == "rollback":
		err = rollback(&config, flag.Arg(1), flag.Arg(2))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		log.Fatalf("%s: %v", os.Args[0], err)
	}
}

// upgrade upgrades a release, or installs it if there is none.
func upgrade(ctx context.Context, config *action.Configuration, namespace, release, path string, takeOwnership bool) error {
	chart, err := loader.Load(path)
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	history := action.NewHistory(config)
	history.Max = 1
	if _, err := history.Run(release); errors.Is(err, driver.ErrReleaseNotFound) {
		install := action.NewInstall(config)
		install.ReleaseName, install.Namespace, install.TakeOwnership = release, namespace, takeOwnership
		_, err = install.RunWithContext(ctx, chart, nil)
		return err
	} else if err != nil {
		return err
	}
	up := action.NewUpgrade(config)
	up.Namespace, up.TakeOwnership = namespace, takeOwnership
	_, err = up.RunWithContext(ctx, release, chart, nil)
	return err
}

func rollback(config *action.Configuration, release, revision string) error {
	number, err := strconv.Atoi(revision)
	if err != nil {
		return fmt.Errorf("REVISION: %w", err)
	}
	back := action.NewRollback(config)
	back.Version = number
	return back.Run(release)
}
