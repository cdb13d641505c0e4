package apitypes

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// SameValue reports whether two JSON texts have the same value.
func SameValue(a, b []byte) bool {
	if bytes.Equal(a, b) || len(a) == 0 {
		return len(a) > 0
	}
	left, right, exact := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b)), jsontext.CanonicalizeRawInts(false)
	return left.Canonicalize(exact) == nil && right.Canonicalize(exact) == nil && bytes.Equal(left, right)
}

// AsDeclared reports whether live has the value that a manifest declares for the field at path, as the API server stores it:
// the quantities of a container's resources are in canonical form (k8s.io/apimachinery/pkg/api/resource).
func AsDeclared(path fieldpath.Path, live, declared []byte) bool {
	if len(live) == 0 || len(declared) == 0 {
		return false
	}
	if SameValue(live, declared) {
		return true
	}
	at := slices.IndexFunc(path, func(e fieldpath.PathElement) bool { return fieldpattern.IsNamed(e, "resources") })
	switch {
	case at < 0 || at < len(path)-3:
		return false
	case at == len(path)-1: // ResourceRequirements (k8s.io/api/core/v1), of which empty members do not count
		return areIn(jsontree.Valid(live), jsontree.Valid(declared)) && areIn(jsontree.Valid(declared), jsontree.Valid(live))
	default:
		return sameQuantities(live, declared)
	}
}

// areIn reports whether all resources of a value are the same in the other one.
func areIn(a, b *jsontree.Node) bool {
	if a.Len() > maxNested {
		return false // not what the API has
	}
	for is := range a.Parts() {
		other := b.Member(is.Name())
		isSame := SetsNothing(is) && SetsNothing(other) || SameValue(is.Text(), other.Text()) || sameQuantities(is.Text(), other.Text())
		if !isSame {
			return false
		}
	}
	return true
}

// sameQuantities reports whether two quantities, or two maps of quantities, are equal.
func sameQuantities(a, b []byte) bool {
	same := func(a, b json.RawMessage) bool {
		l, errLeft := quantity(a)
		r, errRight := quantity(b)
		return errLeft == nil && errRight == nil && l.Cmp(r) == 0
	}
	var left, right map[string]json.RawMessage
	if json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil {
		return maps.EqualFunc(left, right, same)
	}
	return same(a, b)
}

// maxQuantity is the maximum length of a quantity as JSON, and hugeExponent matches one that no quantity of a resource has: parsing
// 1e-20000000 takes five seconds, and last-applied can have any.
const maxQuantity = 64

var hugeExponent = regexp.MustCompile(`[eE][+-]?\d{3}`)

// quantity parses a quantity in JSON.
func quantity(text []byte) (resource.Quantity, error) {
	if len(text) > maxQuantity || hugeExponent.Match(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(strings.Trim(string(text), `"`))
}

// maxNested is how deep the members of a unit can be nested.
const maxNested = 4

// SetsNothing reports whether a JSON value sets no field: it is missing, null, or an object or list of nothing else. Nothing that is
// nested deeper than a unit can be is read.
func SetsNothing(n *jsontree.Node) bool { return setsNothingWithin(n, maxNested) }

func setsNothingWithin(n *jsontree.Node, depth int) bool {
	switch {
	case n == nil || n.IsNull():
		return true
	case depth == 0:
		return false
	case n.Kind() == '[':
		return n.Len() == 0
	case !n.IsObject():
		return false
	}
	for part := range n.Parts() {
		if !setsNothingWithin(part, depth-1) {
			return false
		}
	}
	return true
}

// The limits of the API server in bytes.
const (
	// MaxAnnotations is the maximum size of all annotations with their names (TotalAnnotationSizeLimitB in
	// k8s.io/apimachinery/pkg/api/validation).
	MaxAnnotations = 256 << 10
	// MaxData is the maximum length of all values of a ConfigMap or Secret (MaxSecretSize in k8s.io/api/core/v1).
	MaxData = 1 << 20
)

// AnnotationSize returns what an annotation counts against MaxAnnotations.
func AnnotationSize(annotation *jsontree.Node) int {
	value, _ := annotation.Bytes()
	return len(annotation.NameBytes()) + len(value)
}

// DataSize returns what a key of data or binaryData counts against MaxData: that of a Secret is encoded in base64.
func DataSize(kind schema.GroupKind, key *jsontree.Node) int {
	value, _ := key.Bytes()
	if kind == SecretKind {
		return base64.StdEncoding.DecodedLen(len(value)) - bytes.Count(value, []byte("="))
	}
	return len(value)
}
