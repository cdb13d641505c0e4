package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/objects"
)

// The ways to apply a manifest. Most client-side and server-side applies are sent by this process, as kubectl sends them.
const (
	clientSide = "client-side"
	serverSide = "server-side"
	helm       = "helm"
)

// clients send writes.
type clients struct {
	machine *machine
	api     client.Client
	helm    string
	chart   string
}

func newClients(m *machine) *clients {
	m.Helper()
	config := rest.CopyConfig(m.config)
	config.WarningHandlerWithContext = objects.Warnings{}
	api, err := client.New(config, client.Options{})
	m.must(err)
	chart, _ := objects.Chart(m.T, "{{ .Values.manifest }}")
	return &clients{machine: m, api: api, helm: filepath.Join(m.root(), "bin", "helm"), chart: chart}
}

// apply applies a manifest, with the real program or as it does, and returns the warnings.
func (c *clients) apply(ctx context.Context, manifest map[string]any, way string, program bool) (warnings []string, err error) {
	o := &unstructured.Unstructured{Object: manifest}
	if program || way == helm {
		return c.run(ctx, o, way)
	}
	ctx = objects.WithWarnings(ctx, &warnings)
	if way == serverSide {
		//nolint:staticcheck // the object is unstructured
		err = c.api.Patch(ctx, o.DeepCopy(), client.Apply, client.FieldOwner("kubectl"), client.ForceOwnership)
	} else {
		err = c.applyClientSide(ctx, o)
	}
	return warnings, err
}

// run applies a manifest with kubectl or Helm.
func (c *clients) run(ctx context.Context, o *unstructured.Unstructured, way string) ([]string, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	program, args := c.machine.plane.Kubectl, []string{"apply", "-f", "-"}
	switch way {
	case serverSide:
		args = append(args, "--server-side", "--force-conflicts")
	case helm:
		program, args = c.helm, []string{"upgrade", "--install", o.GetName(), c.chart, "-n", o.GetNamespace(), "-f", "-"}
		if text, err = json.Marshal(map[string]string{"manifest": string(text)}); err != nil {
			return nil, err
		}
	}
	output, err := c.machine.command(ctx, string(text), program, args...)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, output)
	}
	return strings.Split(output, "\n"), err
}

// applyClientSide sends what kubectl apply sends: the object, or a strategic merge patch of last-applied, manifest and live object.
func (c *clients) applyClientSide(ctx context.Context, manifest *unstructured.Unstructured) error {
	text, err := manifest.MarshalJSON()
	if err != nil {
		return err
	}
	declared := manifest.DeepCopy()
	annotate(declared, corev1.LastAppliedConfigAnnotation, string(text))
	live := manifest.DeepCopy()
	err = c.api.Get(ctx, client.ObjectKeyFromObject(live), live)
	if apierrors.IsNotFound(err) {
		return c.api.Create(ctx, declared, client.FieldOwner("kubectl-client-side-apply"))
	}
	if err != nil {
		return err
	}
	var last map[string]any
	if text := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			return err
		}
	}
	format, patch, err := objects.ThreeWayPatch(last, declared.Object, live)
	if err != nil {
		return err
	}
	return c.api.Patch(ctx, live, client.RawPatch(format, patch), client.FieldOwner("kubectl-client-side-apply"))
}

// applyOverScale applies a Gadget with 3 replicas, scales it as an autoscaler does, applies the manifest again, and returns the number
// that is stored and the warnings.
func (c *clients) applyOverScale(ctx context.Context, path, way string, scale int64) (stored int64, warnings []string, err error) {
	manifest := func() *unstructured.Unstructured {
		return newObject("soak.example.com/v1", "Gadget", "soak-00", path+"-"+way, map[string]any{"spec": map[string]any{path: int64(3), "color": "red"}})
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, scale))
	_, err = c.apply(ctx, manifest().Object, way, false)
	if err == nil {
		err = c.api.SubResource("scale").Patch(ctx, manifest(), patch, client.FieldOwner(scalerManager))
	}
	if err == nil {
		warnings, err = c.apply(ctx, manifest().Object, way, false)
	}
	live := manifest()
	if err == nil {
		err = c.api.Get(ctx, client.ObjectKeyFromObject(live), live)
	}
	stored, _, _ = unstructured.NestedInt64(live.Object, "spec", path)
	return stored, warnings, err
}

func annotate(o *unstructured.Unstructured, key, value string) {
	_ = unstructured.SetNestedField(o.Object, value, "metadata", "annotations", key) // metadata is a map
}

// patch sends a merge patch of a Deployment, or of its subresource, in the name of a field manager.
func (c *clients) patch(ctx context.Context, namespace, name, manager, patch string, subresource ...string) error {
	o := newObject("apps/v1", "Deployment", namespace, name, nil)
	raw := client.RawPatch(types.MergePatchType, []byte(patch))
	if len(subresource) > 0 {
		return c.api.SubResource(subresource[0]).Patch(ctx, o, raw, client.FieldOwner(manager))
	}
	return c.api.Patch(ctx, o, raw, client.FieldOwner(manager))
}
