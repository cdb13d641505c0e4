// Command flux applies objects from standard input as Flux does: with the server-side apply library of its kustomize-controller,
// and the options that the controller passes to it (internal/controller/kustomization_controller.go, the method apply).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// controllerName is the default of the flag --controller-name, and the field manager.
	controllerName = "kustomize-controller"
	group          = "kustomize.toolkit.fluxcd.io"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("flux", flag.ExitOnError) // controller-runtime adds its own flags to flag.CommandLine
	kubeconfig := flags.String("kubeconfig", "", "`path` of the kubeconfig")
	namespace := flags.String("namespace", "default", "`namespace` of the objects")
	_ = flags.Parse(os.Args[1:]) // exits on errors
	if err := apply(ctx, *kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "flux:", err)
		os.Exit(1)
	}
}

// apply applies the objects from standard input, and prints what happened to each.
func apply(ctx context.Context, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	objects, err := ssautil.ReadObjects(os.Stdin)
	if err != nil {
		return fmt.Errorf("reading the objects: %w", err)
	}
	for _, o := range objects {
		namespaced, err := api.IsObjectNamespaced(o)
		if err != nil {
			return fmt.Errorf("discovering the kind: %w", err)
		}
		if namespaced {
			o.SetNamespace(namespace)
		}
	}
	poller := polling.NewStatusPoller(api, api.RESTMapper(), polling.Options{}) // waits for CRDs before their objects
	manager := ssa.NewResourceManager(api, poller, ssa.Owner{Field: controllerName, Group: group})
	manager.SetOwnerLabels(objects, "web", namespace)
	if err := normalize.UnstructuredList(objects); err != nil {
		return fmt.Errorf("normalizing the objects: %w", err)
	}
	changes, err := manager.ApplyAllStaged(ctx, objects, options())
	if changes != nil {
		for _, entry := range changes.Entries {
			fmt.Println(strings.TrimSpace(entry.String()))
		}
	}
	if err != nil {
		return errors.Join(errors.New("applying"), err)
	}
	return nil
}

// options returns the options of a Kustomization that sets none of its own.
func options() ssa.ApplyOptions {
	o := ssa.DefaultApplyOptions()
	o.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	o.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	o.ForceSelector = map[string]string{group + "/force": "enabled"}
	o.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{
			corev1.LastAppliedConfigAnnotation,
			group + "/checksum",
			"fluxcd.io/sync-checksum",
		},
		Labels: []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: controllerName, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{group + "/ssa": "Merge"},
	}
	return o
}
