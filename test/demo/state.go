package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// What a state says where there is nothing to name.
const (
	nobody = "nobody"
	none   = "no replicas"
)

// state is what one version of the Deployment says about its replicas.
type state struct {
	resourceVersion string
	replicas        int32
	owner           string // who claims .spec.replicas in managedFields
	lastApplied     string // what the last-applied annotation says about replicas
}

// stateOf reads the object itself and asks nothing of handoff: what is being shown must not be its own judge.
func stateOf(web *appsv1.Deployment) (state, error) {
	s := state{resourceVersion: web.ResourceVersion, lastApplied: none}
	if web.Spec.Replicas != nil {
		s.replicas = *web.Spec.Replicas
	}
	var err error
	if s.owner, err = claimants(web.ManagedFields); err != nil {
		return s, err
	}
	var manifest appsv1.Deployment
	if text, ok := web.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return s, fmt.Errorf("last-applied: %w", err)
		}
	}
	if manifest.Spec.Replicas != nil {
		s.lastApplied = fmt.Sprintf("replicas %d", *manifest.Spec.Replicas)
	}
	return s, nil
}

// claimants are the managers that hold .spec.replicas, each with its operation and subresource.
func claimants(entries []metav1.ManagedFieldsEntry) (string, error) {
	replicas := fieldpath.MakePathOrDie("spec", "replicas")
	var found []string
	for _, entry := range entries {
		var fields fieldpath.Set
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return "", fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
		}
		if !fields.Has(replicas) {
			continue
		}
		how := string(entry.Operation)
		if entry.Subresource != "" {
			how += ", " + entry.Subresource
		}
		found = append(found, fmt.Sprintf("%s (%s)", entry.Manager, how))
	}
	if found == nil {
		return nobody, nil
	}
	return strings.Join(found, " and "), nil
}
