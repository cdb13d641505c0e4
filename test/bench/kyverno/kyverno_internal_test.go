package kyverno

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestTheReasonForAMissingVersion(t *testing.T) {
	if _, err := versionOf(filepath.Join(t.TempDir(), "kyverno")); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("without a binary: got %v", err)
	}
	other, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := versionOf(other); err == nil || errors.Is(err, ErrNotBuilt) {
		t.Errorf("another program: got %v", err)
	}
}

func TestTheConfigurationSelectsOnlyItsNamespaces(t *testing.T) {
	text, err := configuration([]string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := strings.Cut(text, "\n---\n")
	var c corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(document), &c); err != nil {
		t.Fatal(err)
	}
	var got struct{ NamespaceSelector metav1.LabelSelector }
	if err := json.Unmarshal([]byte(c.Data["webhooks"]), &got); err != nil {
		t.Fatal(err)
	}
	want := []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{"one", "two"},
	}}
	if diff := cmp.Diff(want, got.NamespaceSelector.MatchExpressions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Kyverno runs with all policies at once, so each must select its namespace, and have a name of its own.
func TestEachPolicySelectsItsNamespace(t *testing.T) {
	names := map[string]bool{}
	for _, policy := range []Policy{Keep, Lookup} {
		text, err := policy.manifest("one")
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				MatchConstraints struct{ NamespaceSelector metav1.LabelSelector }
			}
		}
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{corev1.LabelMetadataName: "one"}
		if diff := cmp.Diff(want, got.Spec.MatchConstraints.NamespaceSelector.MatchLabels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
		if names[got.Metadata.Name] {
			t.Errorf("%s: another policy has the name %s", policy, got.Metadata.Name)
		}
		names[got.Metadata.Name] = true
	}
}
