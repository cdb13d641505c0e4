package schema

import (
	"encoding/json"
	"reflect"
)

// object has the fields of every Kubernetes object. It stands for metav1.PartialObjectMetadata, whose package depends on a
// network client.
type object struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   objectMeta `json:"metadata"`
}

func objectType() reflect.Type { return reflect.TypeFor[object]() }

// objectMeta is metav1.ObjectMeta.
type objectMeta struct {
	Name                       string             `json:"name"`
	GenerateName               string             `json:"generateName"`
	Namespace                  string             `json:"namespace"`
	SelfLink                   string             `json:"selfLink"`
	UID                        string             `json:"uid"`
	ResourceVersion            string             `json:"resourceVersion"`
	Generation                 int64              `json:"generation"`
	CreationTimestamp          json.RawMessage    `json:"creationTimestamp"`
	DeletionTimestamp          json.RawMessage    `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds int64              `json:"deletionGracePeriodSeconds"`
	Labels                     map[string]string  `json:"labels"`
	Annotations                map[string]string  `json:"annotations"`
	OwnerReferences            []ownerReference   `json:"ownerReferences" patchMergeKey:"uid" patchStrategy:"merge"`
	Finalizers                 []string           `json:"finalizers" patchStrategy:"merge"`
	ManagedFields              []managedFieldsRow `json:"managedFields"`
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         bool   `json:"controller"`
	BlockOwnerDeletion bool   `json:"blockOwnerDeletion"`
}

type managedFieldsRow struct {
	Manager     string          `json:"manager"`
	Operation   string          `json:"operation"`
	APIVersion  string          `json:"apiVersion"`
	Time        json.RawMessage `json:"time"`
	FieldsType  string          `json:"fieldsType"`
	FieldsV1    json.RawMessage `json:"fieldsV1"`
	Subresource string          `json:"subresource"`
}
