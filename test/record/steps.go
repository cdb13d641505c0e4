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

// step is an action on a stage.
type step func(*stage) error

// apply returns a step that runs kubectl apply.
func apply(manifest string, flags ...string) step {
	return func(s *stage) error { return s.run(manifest, nil, append([]string{"apply", "-f", "-"}, flags...)...) }
}

// serverSideApply returns a step that runs a server-side apply with another field manager, like the sync of a GitOps controller.
func serverSideApply(manifest, manager string) step {
	return apply(manifest, "--server-side", "--force-conflicts", "--field-manager="+manager)
}

// kubectl returns a step that runs another kubectl command. It replaces {} in the arguments with the recording's resource.
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

// edit returns a step that runs a kubectl command with sed as the editor.
func edit(script string, args ...string) step {
	return func(s *stage) error {
		return s.run("", []string{"KUBE_EDITOR=sed -i.before -e '" + script + "'"}, s.expand(args)...)
	}
}

// diff returns a step that runs kubectl diff, which sends a dry run. The external diff program is true, which prints nothing.
func diff(manifest string) step {
	return func(s *stage) error {
		return s.run(manifest, []string{"KUBECTL_EXTERNAL_DIFF=true"}, "diff", "-f", "-")
	}
}

// replace returns a step that replaces the whole object.
func replace(manifest string) step {
	return func(s *stage) error { return s.run(manifest, nil, "replace", "-f", "-") }
}

// autoscaled returns a step that creates a HorizontalPodAutoscaler and waits until the controller has scaled to its minimum.
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

// scaledAgain returns a step that runs another step, which resets the replicas, and waits until the autoscaler has restored them.
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

// helmInstall returns a step that creates a Deployment as Helm 3 does: without last-applied, with the field manager helm.
func helmInstall(manifest string) step {
	return func(s *stage) error {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			return fmt.Errorf("parsing the manifest: %w", err)
		}
		object.SetNamespace(s.namespace)
		if err := s.api.Create(s.ctx, object, helm); err != nil {
			return fmt.Errorf("helm install: %w", err)
		}
		return nil
	}
}

// helmUpgrade returns a step that patches a Deployment as Helm 3 does: with a three-way strategic merge patch from the previous
// release's manifest, the new manifest and the live object (createPatch in helm.sh/helm/v3/pkg/kube).
func helmUpgrade(before, after string) step {
	return func(s *stage) error {
		from, err := yaml.ToJSON([]byte(before))
		if err != nil {
			return fmt.Errorf("parsing the manifest: %w", err)
		}
		to, err := yaml.ToJSON([]byte(after))
		if err != nil {
			return fmt.Errorf("parsing the manifest: %w", err)
		}
		object, err := s.object()
		if err != nil {
			return err
		}
		live, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("encoding the live object: %w", err)
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
