package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// step is one thing that happens on a stage.
type step func(*stage) error

// apply applies a manifest by the real kubectl.
func apply(manifest string, flags ...string) step {
	return func(s *stage) error { return s.run(manifest, nil, append([]string{"apply", "-f", "-"}, flags...)...) }
}

// serverSideApply is another manager's, as a sync of a GitOps controller is.
func serverSideApply(manifest, manager string) step {
	return apply(manifest, "--server-side", "--force-conflicts", "--field-manager="+manager)
}

// kubectl runs any other command of the real kubectl, with {} for what the recording writes.
func kubectl(args ...string) step {
	return func(s *stage) error { return s.run("", nil, s.expand(args)...) }
}

func (s *stage) expand(args []string) []string {
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = strings.ReplaceAll(arg, "{}", s.resource)
	}
	return expanded
}

// edit runs a command that opens an editor, with sed for one.
func edit(script string, args ...string) step {
	return func(s *stage) error {
		return s.run("", []string{"KUBE_EDITOR=sed -i.before -e '" + script + "'"}, s.expand(args)...)
	}
}

// diff runs kubectl diff, which sends a dry run and then shows the outcome by a program: here, one that shows nothing.
func diff(manifest string) step {
	return func(s *stage) error {
		return s.run(manifest, []string{"KUBECTL_EXTERNAL_DIFF=true"}, "diff", "-f", "-")
	}
}

// replace replaces the whole object.
func replace(manifest string) step {
	return func(s *stage) error { return s.run(manifest, nil, "replace", "-f", "-") }
}

// autoscaled makes a HorizontalPodAutoscaler and waits until the real controller has scaled to its minimum.
func autoscaled(minimum int) step {
	return func(s *stage) error {
		object, err := s.object()
		if err != nil {
			return err
		}
		manifest := fmt.Sprintf(autoscaler, minimum, object.GetAPIVersion(), object.GetKind(), object.GetName())
		if err := s.run(manifest, nil, "create", "-f", "-"); err != nil {
			return err
		}
		return s.scaled(minimum)
	}
}

// scaledAgain does a step that takes from the autoscaler what it has set, and waits until it has set it again.
func scaledAgain(minimum int, then step) step {
	return func(s *stage) error {
		if err := then(s); err != nil {
			return err
		}
		return s.scaled(minimum)
	}
}

func (s *stage) scaled(replicas int) error {
	want := strconv.Itoa(replicas)
	return s.eventually("the autoscaler has scaled to "+want, func() (bool, error) {
		got, err := s.output("", nil, "get", s.resource, "--subresource=scale", "-o", "jsonpath={.spec.replicas}")
		return string(got) == want, err
	})
}

const helm = client.FieldOwner("helm")

// helmInstall creates a Deployment as Helm 3 does: without last-applied, under the field manager helm.
func helmInstall(manifest string) step {
	return func(s *stage) error {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			return fmt.Errorf("read the chart: %w", err)
		}
		object.SetNamespace(s.namespace)
		if err := s.api.Create(s.ctx, object, helm); err != nil {
			return fmt.Errorf("helm install: %w", err)
		}
		return nil
	}
}

// helmUpgrade patches a Deployment as Helm 3 does: by the three-way strategic merge of the manifest of the release
// before, the new one and the live object (createPatch in helm.sh/helm/v3/pkg/kube).
func helmUpgrade(before, after string) step {
	return func(s *stage) error {
		from, err := yaml.ToJSON([]byte(before))
		if err != nil {
			return fmt.Errorf("read the chart: %w", err)
		}
		to, err := yaml.ToJSON([]byte(after))
		if err != nil {
			return fmt.Errorf("read the chart: %w", err)
		}
		object, err := s.object()
		if err != nil {
			return err
		}
		live, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("write the live object: %w", err)
		}
		meta, err := strategicpatch.NewPatchMetaFromStruct(appsv1.Deployment{})
		if err != nil {
			return fmt.Errorf("helm upgrade: %w", err)
		}
		patch, err := strategicpatch.CreateThreeWayMergePatch(from, to, live, meta, true)
		if err != nil {
			return fmt.Errorf("helm upgrade: %w", err)
		}
		if err := s.api.Patch(s.ctx, object, client.RawPatch(types.StrategicMergePatchType, patch), helm); err != nil {
			return fmt.Errorf("helm upgrade: %w", err)
		}
		return nil
	}
}
