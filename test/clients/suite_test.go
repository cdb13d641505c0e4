// Package clients_test plays the decisions with the programs that people use to apply and to scale: each is built from its own
// modules, and run against a real control plane, once in a namespace without handoff and once in a namespace with it. The
// results are docs/clients.md.
package clients_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// patience bounds what the tests wait for. Argo CD is slow while other clients are played or built.
const patience = 5 * time.Minute

// suite is shared by all tests.
var suite struct {
	all, update bool
	cluster     *handofftest.Cluster
	api         client.Client
	root        string
	results     *results
	// argocd, keda, rollouts, istio and kinds start or install a program or its kinds on the first call, and return the error of that call.
	argocd, keda, rollouts, istio, kinds func() error
	// ansible returns the version of Ansible's collection.
	ansible func() string
}

func TestMain(m *testing.M) {
	flag.BoolVar(&suite.all, "all", false, "play all clients, not only those that `make test` builds")
	flag.BoolVar(&suite.update, "update", false, "write the results to docs/clients.md")
	flag.Parse()
	os.Exit(func() int {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, "clients:", err)
			return 1
		}
		code := m.Run()
		if err := finish(); err != nil {
			fmt.Fprintln(os.Stderr, "clients:", err)
			code = 1
		}
		return code
	}())
}

// start starts a control plane and the webhook.
func start() (err error) {
	if suite.root, err = controlplane.Root(); err != nil {
		return err
	}
	suite.results = &results{played: map[key]result{}}
	suite.argocd, suite.keda, suite.rollouts = sync.OnceValue(startArgoCD), sync.OnceValue(installKEDA), sync.OnceValue(installRollouts)
	suite.istio, suite.kinds = sync.OnceValue(installIstio), sync.OnceValue(installKinds)
	suite.ansible = sync.OnceValue(ansibleVersion)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if suite.cluster, err = startCluster(ctx); err != nil {
		return err
	}
	config := rest.CopyConfig(suite.cluster.Plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if suite.api, err = client.New(config, client.Options{}); err == nil {
		err = suite.cluster.Webhook.Register(ctx)
	}
	if err != nil {
		_ = suite.cluster.Stop() // the first error is the cause
	}
	return err
}

// startCluster starts a control plane, and the webhook with all packs.
func startCluster(ctx context.Context) (*handofftest.Cluster, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	file, err := allPacks(plane.Dir)
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	webhook, err := handofftest.Start(ctx, plane, handofftest.Options{Config: file})
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return &handofftest.Cluster{Plane: plane, Webhook: webhook}, nil
}

// finish prints the results, updates the page if that was requested, and stops the control plane.
func finish() error {
	text, err := os.ReadFile(pagePath())
	if err != nil {
		return errors.Join(err, suite.cluster.Stop())
	}
	played := page(string(text), cells(suite.results.played))
	if suite.all {
		fmt.Print(played)
	}
	if suite.update {
		err = os.WriteFile(pagePath(), []byte(played), 0o644)
	}
	return errors.Join(err, suite.cluster.Stop())
}

// pagePath returns the path of the page with the results.
func pagePath() string { return filepath.Join(suite.root, "docs", "clients.md") }

// binary returns the path of a client that make builds.
func binary(name string) string {
	if name == "helm" { // Helm 3, which other tests use as well
		return filepath.Join(suite.root, "bin", name)
	}
	return filepath.Join(suite.root, "bin", "clients", name)
}
