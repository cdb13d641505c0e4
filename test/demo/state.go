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

// The texts of a state without an owner or without replicas in the annotation.
const (
	noOwner    = "none"
	noReplicas = "no replicas"
)

// state is what one version of the Deployment contains about its replicas.
type state struct {
	resourceVersion string
	replicas        int32
	owner           string // the managers of .spec.replicas in managedFields
	lastApplied     string // the replicas in the last-applied annotation
}

// stateOf reads the object itself, without code of handoff: the demo must not use handoff to judge handoff.
func stateOf(web *appsv1.Deployment) (state, error) {
	s := state{resourceVersion: web.ResourceVersion, lastApplied: noReplicas}
	if web.Spec.Replicas != nil {
		s.replicas = *web.Spec.Replicas
	}
	var err error
	if s.owner, err = managersOf(web.ManagedFields); err != nil {
		return s, err
	}
	var manifest appsv1.Deployment
	if text, ok := web.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			return s, fmt.Errorf("parsing the last-applied annotation: %w", err)
		}
	}
	if manifest.Spec.Replicas != nil {
		s.lastApplied = fmt.Sprintf("replicas %d", *manifest.Spec.Replicas)
	}
	return s, nil
}

// managersOf returns the managers of .spec.replicas, each with its operation and subresource.
func managersOf(entries []metav1.ManagedFieldsEntry) (string, error) {
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
		return noOwner, nil
	}
	return strings.Join(found, " and "), nil
}
