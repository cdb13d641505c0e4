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

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// asApplied reports whether the live value of a field is the one that a manifest declares, as the API server stores it:
// quantities in canonical form (k8s.io/apimachinery/pkg/api/resource), and atomic lists and maps with the defaults of their
// members.
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
	return equalWithDefaults(is, want, false)
}

// largeValue is the size in bytes, of both texts together, above which values are not decoded: decoding takes a multiple of
// their memory. Larger values that differ by a default count as different.
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

// isQuantity reports whether the API declares a field as a quantity. Other values that look like one, such as a label, are
// compared as text.
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

// quantityParents are fields in k8s.io/api that are maps of quantities.
func quantityParents() []string {
	return []string{"limits", "requests", "hard", "capacity", "overhead", "min", "max", "default", "defaultRequest"}
}

// quantityFields are fields in k8s.io/api that are quantities.
func quantityFields() []string { return []string{"sizeLimit", "divisor", "averageValue"} }

func sameQuantity(a, b []byte) bool {
	left, errLeft := resource.ParseQuantity(string(bytes.Trim(a, `"`)))
	right, errRight := resource.ParseQuantity(string(bytes.Trim(b, `"`)))
	return errLeft == nil && errRight == nil && left.Cmp(right) == 0
}

// equalWithDefaults reports whether a decoded live value is the declared one, except for defaults. quantities reports whether
// scalars are quantities.
func equalWithDefaults(live, declared any, quantities bool) bool {
	switch want := declared.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		return ok && equalObjectWithDefaults(is, want, quantities)
	case []any:
		is, ok := live.([]any)
		return ok && slices.EqualFunc(is, want, func(a, b any) bool { return equalWithDefaults(a, b, false) })
	default:
		if value.Equals(value.NewValueInterface(live), value.NewValueInterface(declared)) {
			return true
		}
		return quantities && sameQuantity(fmt.Append(nil, live), fmt.Append(nil, declared))
	}
}

func equalObjectWithDefaults(live, declared map[string]any, quantities bool) bool {
	for name, want := range declared {
		is, ok := live[name]
		areQuantities := quantities || slices.Contains(quantityParents(), name) || slices.Contains(quantityFields(), name)
		if want != nil && (!ok || !equalWithDefaults(is, want, areQuantities)) {
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

// isDefault reports whether the API server sets the value by defaulting in atomic lists and maps of built-in kinds: the
// protocol of a NetworkPolicy's port, the apiVersion of a fieldRef, the divisor of a resourceFieldRef, the apiGroup of an RBAC
// subject.
func isDefault(name string, v any) bool {
	switch name {
	case "protocol":
		return v == rawjson.DefaultProtocol
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
