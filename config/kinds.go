package config

import (
	"errors"
	"slices"
)

// RuleKind is a kind without a version. In Group and Kind, empty or "*" matches any. The core group is written "core".
type RuleKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// limited are the kinds of Kubernetes, by group, that the API server does not send to handoff like all others: those outside namespaces,
// and those that a match condition excludes (manifests/base/webhook.yaml). true stands for kinds whose objects opt in by their label, false
// for kinds that are never sent, "*" for all kinds of a group. Webhook configurations are missing: validateKind has another remedy.
var limited = map[string]map[string]bool{
	"apiextensions.k8s.io":         {"CustomResourceDefinition": true},
	"apiregistration.k8s.io":       {"APIService": true},
	"apps":                         {"ControllerRevision": false},
	"authentication.k8s.io":        {"*": false},
	"authorization.k8s.io":         {"*": false},
	"certificates.k8s.io":          {"CertificateSigningRequest": false, "ClusterTrustBundle": false},
	"coordination.k8s.io":          {"*": false},
	"core":                         {"ComponentStatus": false, "Endpoints": false, "Event": false, "Namespace": false, "Node": false, "PersistentVolume": false},
	"discovery.k8s.io":             {"*": false},
	"events.k8s.io":                {"*": false},
	"flowcontrol.apiserver.k8s.io": {"*": false},
	"internal.apiserver.k8s.io":    {"*": false},
	"metrics.k8s.io":               {"*": false},
	"networking.k8s.io":            {"IPAddress": false, "IngressClass": false, "ServiceCIDR": false},
	"node.k8s.io":                  {"*": false},
	"rbac.authorization.k8s.io":    {"ClusterRole": true, "ClusterRoleBinding": false},
	"resource.k8s.io":              {"DeviceClass": false, "DeviceTaintRule": false, "ResourcePoolStatusRequest": false, "ResourceSlice": false},
	"scheduling.k8s.io":            {"PriorityClass": false},
	"storage.k8s.io":               {"CSIDriver": false, "CSINode": false, "StorageClass": false, "VolumeAttachment": false, "VolumeAttributesClass": false},
	"storagemigration.k8s.io":      {"*": false},
}

// isNamespaced reports whether handoff can act on objects of the kind in a namespace.
func (k RuleKind) isNamespaced() bool {
	for group, kinds := range limited {
		if kinds[k.Kind] && slices.Contains([]string{"", "*", group}, k.Group) {
			return false
		}
	}
	return true
}

// validate returns an error for a kind that is not valid, or that is never sent to handoff.
func (k RuleKind) validate() error {
	if err := validateKind(k.Group, k.Kind); err != nil {
		return err
	}
	kinds := limited[k.Group]
	_, isGroup := kinds["*"]
	if labeled, isKind := kinds[k.Kind]; isGroup || isKind && !labeled {
		return errors.New("the API server never sends objects of this kind to handoff; delete it")
	}
	return nil
}
