package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// asApplied reports whether the live value of a field is the one that a manifest gives it, as the API server stores that:
// a quantity in its canonical form (k8s.io/apimachinery/pkg/api/resource), and with the defaults that it puts into what is
// one field to managedFields.
func asApplied(path fieldpath.Path, live, declared []byte) bool {
	if len(live) == 0 || len(declared) == 0 {
		return false
	}
	if len(live)+len(declared) > largeValue {
		return sameText(live, declared)
	}
	if sameValue(live, declared) {
		return true
	}
	if isScalar(live) && isScalar(declared) {
		return isQuantity(path) && sameQuantity(live, declared)
	}
	var is, want any
	if json.Unmarshal(live, &is) != nil || json.Unmarshal(declared, &want) != nil {
		return false
	}
	return applied(is, want, false)
}

// largeValue is from what size on values are not decoded, which takes many times their size: a default in them then makes
// them differ.
const largeValue = 64 << 10

// sameText compares two JSON texts by their canonical form (RFC 8785).
func sameText(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, right := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return left.Canonicalize() == nil && right.Canonicalize() == nil && bytes.Equal(left, right)
}

func isScalar(text []byte) bool { return text[0] != '{' && text[0] != '[' }

// isQuantity reports whether a field is one that the API reads as a quantity. The texts of other fields that look like one,
// as that of a label, are compared as they are.
func isQuantity(path fieldpath.Path) bool {
	for i, element := range path {
		if element.FieldName == nil {
			continue
		}
		switch name := *element.FieldName; {
		case i == 0 && name != "spec":
			return false
		case slices.Contains(quantityParents(), name) && i == len(path)-2, slices.Contains(quantityFields(), name) && i == len(path)-1:
			return true
		}
	}
	return false
}

func quantityParents() []string {
	return []string{"limits", "requests", "hard", "capacity", "overhead", "min", "max", "default", "defaultRequest"}
}

func quantityFields() []string { return []string{"sizeLimit", "divisor", "averageValue"} }

func sameQuantity(a, b []byte) bool {
	left, errLeft := resource.ParseQuantity(string(bytes.Trim(a, `"`)))
	right, errRight := resource.ParseQuantity(string(bytes.Trim(b, `"`)))
	return errLeft == nil && errRight == nil && left.Cmp(right) == 0
}

// applied reports whether a decoded live value is the declared one with defaults. The members of some objects are quantities.
func applied(live, declared any, quantities bool) bool {
	switch want := declared.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		return ok && appliedObject(is, want, quantities)
	case []any:
		is, ok := live.([]any)
		return ok && slices.EqualFunc(is, want, func(a, b any) bool { return applied(a, b, false) })
	default:
		if value.Equals(value.NewValueInterface(live), value.NewValueInterface(declared)) {
			return true
		}
		return quantities && sameQuantity(fmt.Append(nil, live), fmt.Append(nil, declared))
	}
}

func appliedObject(live, declared map[string]any, quantities bool) bool {
	for name, want := range declared {
		is, ok := live[name]
		of := quantities || slices.Contains(quantityParents(), name) || slices.Contains(quantityFields(), name)
		if want != nil && (!ok || !applied(is, want, of)) {
			return false
		}
	}
	for name, is := range live {
		if _, ok := declared[name]; !ok && !isDefault(name, is) {
			return false
		}
	}
	return true
}

// isDefault reports whether the API server puts the value in by itself, in the atomic lists and maps of the built-in kinds:
// the protocol of a NetworkPolicy's port, the version of a fieldRef, the divisor of a resourceFieldRef, the group of an RBAC
// subject.
func isDefault(name string, v any) bool {
	switch name {
	case "protocol":
		return v == "TCP"
	case "apiVersion":
		return v == "v1"
	case "divisor":
		return v == "0"
	case "apiGroup":
		return v == "rbac.authorization.k8s.io" || v == ""
	default:
		return false
	}
}
