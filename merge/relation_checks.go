package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// isSet reports whether a member of an object counts as set. To the API server's validation, an empty string is not set.
func isSet(v any) bool { return v != nil && v != "" }

// oneOf returns a fault for each member that is set, if more than one is.
func oneOf(o map[string]any) []fault {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if isSet(o[name]) {
			set = append(set, name)
		}
	}
	return exclusive(set)
}

// exclusive returns a fault for each of several names of which only one can be set.
func exclusive(names []string) []fault {
	if len(names) < 2 {
		return nil
	}
	faults := make([]fault, 0, len(names))
	for i, name := range names {
		faults = append(faults, fault{names: []string{name}, reason: "the manifest sets " + names[(i+1)%len(names)]})
	}
	return faults
}

// oneVolumeSource is oneOf for volumes, which have a name in addition to their source.
func oneVolumeSource(o map[string]any) []fault {
	o = maps.Clone(o)
	delete(o, "name")
	return oneOf(o)
}

// together returns a fault with the same reason for each of several members. A member is a dotted path.
func together(reason string, members ...string) []fault {
	faults := make([]fault, 0, len(members))
	for _, member := range members {
		faults = append(faults, fault{names: strings.Split(member, "."), reason: reason})
	}
	return faults
}

// at returns the value at a dotted path, nil if there is none.
func at(o map[string]any, path string) any {
	var v any = o
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// mapAt returns the object at a dotted path, nil if there is none.
func mapAt(o map[string]any, path string) map[string]any {
	object, _ := at(o, path).(map[string]any)
	return object
}

func quantityOf(v any) (q resource.Quantity, ok bool) {
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	return q, v != nil && err == nil
}

// isZero reports whether an integer or a percentage is 0.
func isZero(v any) bool { return v == float64(0) || v == "0" || v == "0%" }

// objectsIn returns the elements of a list that are objects.
func objectsIn(v any) []map[string]any {
	list, _ := v.([]any)
	objects := make([]map[string]any, 0, len(list))
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// repeated reports whether two objects of a list have the same value for a member. Empty values and 0 do not count.
func repeated(list any, member string) bool {
	seen := map[any]bool{}
	for _, o := range objectsIn(list) {
		v := o[member]
		if isSet(v) && !isZero(v) && seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}
