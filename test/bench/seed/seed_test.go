package seed_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/seed"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

func TestCopiesAreObjectsOfTheAPIServer(t *testing.T) {
	controlPlane := controlplane.ForTest(t, controlplane.Options{WithoutControllerManager: true})
	api, err := client.New(controlPlane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	original := &corev1.ConfigMap{Data: map[string]string{"name": "copy-000"}}
	original.Namespace, original.Name = "default", "copy-000"
	if err := api.Create(t.Context(), original); err != nil {
		t.Fatal(err)
	}
	copies := seed.Copies{
		Etcd: controlPlane.EtcdURL(), Key: "/registry/configmaps/default/copy-000", From: 1, To: 251,
		Replace: func(i int) [][2]string { return [][2]string{{"copy-000", seed.Name("copy", i, 3)}} },
	}
	if err := copies.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := &corev1.ConfigMap{}
	last.Namespace, last.Name = "default", "copy-250"
	if err := seed.Await(t.Context(), api, last); err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	if err := api.List(t.Context(), &list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	count := 0
	for i := range list.Items {
		if o := &list.Items[i]; strings.HasPrefix(o.Name, "copy-") {
			count++
			if o.Data["name"] != o.Name {
				t.Errorf("%s contains the name %s", o.Name, o.Data["name"])
			}
		}
	}
	if count != 251 {
		t.Errorf("%d objects are listed, want 251", count)
	}
}

func TestTextsOfDifferentLengthsAreRefused(t *testing.T) {
	controlPlane := controlplane.ForTest(t, controlplane.Options{WithoutControllerManager: true})
	copies := seed.Copies{
		Etcd: controlPlane.EtcdURL(), Key: "/registry/namespaces/default", From: 1, To: 2,
		Replace: func(int) [][2]string { return [][2]string{{"default", "longer-name"}} },
	}
	if err := copies.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "different lengths") {
		t.Errorf("got %v", err)
	}
	copies.Key = "/registry/namespaces/none"
	if err := copies.Write(t.Context()); err == nil || !strings.Contains(err.Error(), "no such key") {
		t.Errorf("got %v", err)
	}
}
