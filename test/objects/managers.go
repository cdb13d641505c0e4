package objects

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldManagers returns the managers of a field as MANAGER/OPERATION[/SUBRESOURCE], in order.
func FieldManagers(o metav1.Object, path fieldpath.Path) (found []string) {
	for _, e := range o.GetManagedFields() {
		if FieldsOf(e).Has(path) {
			found = append(found, strings.TrimSuffix(e.Manager+"/"+string(e.Operation)+"/"+e.Subresource, "/"))
		}
	}
	slices.Sort(found)
	return found
}

// FieldsOf returns the fields of an entry, which the API server has written. It panics if they cannot be read.
func FieldsOf(e metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		panic(err)
	}
	return set
}
