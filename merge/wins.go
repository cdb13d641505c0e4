package merge

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// A unit is kept only if the API server accepts it whatever else the manifest sets, as far as its size and the names in it tell. A
// field of a rule is kept in any case, except for requests over limits, and the CA of a server that the manifest removes. In all other
// cases the user's rule, or the person who has set the unit, decides, and the API server's error arrives beside the warning that names
// the field.

// manifestWins returns the reason why the manifest wins over a kept field, empty if the field is kept.
func (k *keeper) manifestWins(f *keptField) string {
	n := f.node
	switch {
	case n == nil:
		return "the field is nested too deeply"
	case f.change.Field.Scale:
		return ""
	case f.change.Reason != "":
		return f.change.Reason
	case !f.change.Field.Unit:
		return k.contradiction(f)
	}
	names := n.Names(nil)
	switch names[len(names)-2] {
	case "data":
		if k.write.Incoming.At("binaryData", names[1]) != nil {
			return "the manifest sets it in binaryData"
		}
		return k.tooLarge(n, maxData)
	case "annotations":
		if container, ok := strings.CutPrefix(names[len(names)-1], appArmorPrefix); ok && names[0] != "metadata" {
			if reason := k.appArmorOf(container, n); reason != "" {
				return reason
			}
		}
		return k.tooLarge(n, ownership.MaxAnnotations)
	}
	if names[len(names)-1] == "resources" {
		return k.otherResources(n)
	}
	return ""
}

// maxData is the maximum length of all values of a ConfigMap or Secret (MaxSecretSize in k8s.io/api/core/v1).
const maxData = 1 << 20

// appArmorPrefix is the prefix of annotations of a pod that name a container (k8s.io/api/core/v1, annotation_key_constants.go), and
// appArmorField the field that replaces them.
const (
	appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/"
	appArmorField  = "appArmorProfile"
)

// tooLarge adds a key to the size of the map of the incoming object, and returns the reason if that exceeds a limit.
func (k *keeper) tooLarge(n *fieldtree.Node, limit int) string {
	parent := n.Parent()
	if k.sizes == nil {
		k.sizes = map[*fieldtree.Node]int{}
	}
	if _, ok := k.sizes[parent]; !ok {
		k.sizes[parent] = k.sizeOf(k.incoming.Of(parent), limit)
		if limit == maxData {
			k.sizes[parent] += k.sizeOf(k.write.Incoming.At("binaryData"), limit)
		}
		for _, f := range k.fields {
			if f.change.Decision.Verdict == Record && f.node.Parent() == parent {
				k.sizes[parent] += len(ownership.AppliedAnnotation) + len(f.change.To)
			}
		}
	}
	size := k.sizes[parent] + k.lengthOf(k.live.Of(n), limit)
	if size > limit {
		return "the API server's size limit would be exceeded"
	}
	k.sizes[parent] = size
	return ""
}

// sizeOf returns the size of a map, as the API server limits it.
func (k *keeper) sizeOf(object *jsontree.Node, limit int) (size int) {
	for part := range object.Parts() {
		size += k.lengthOf(part, limit)
	}
	return size
}

// lengthOf returns the length of a key of a map. The names of annotations count, those of data do not.
func (k *keeper) lengthOf(member *jsontree.Node, limit int) int {
	text, _ := member.Bytes()
	switch {
	case limit == ownership.MaxAnnotations:
		return ownership.AnnotationSize(member)
	case k.write.Kind.Kind == "Secret":
		return base64.StdEncoding.DecodedLen(len(text)) - bytes.Count(text, []byte("="))
	default:
		return len(text)
	}
}

// podSpecIn returns the pod spec of an object that a unit of a pod template belongs to.
func podSpecIn(o ownership.Object, n *fieldtree.Node) *jsontree.Node {
	path := n.Path()
	at := slices.IndexFunc(path, func(e fieldpath.PathElement) bool { return e.FieldName != nil && *e.FieldName == "template" })
	return o.At().Find(path[:at+1]).Member("spec")
}

// appArmorOf returns the reason if the pod template that an annotation belongs to does not have its container, or sets the field that
// replaces the annotation: the two must be equal (ValidateAppArmorPodAnnotations in k8s.io/kubernetes/pkg/apis/core/validation).
func (k *keeper) appArmorOf(container string, n *fieldtree.Node) (reason string) {
	spec := podSpecIn(k.write.Incoming, n)
	in := elementNamed(spec.Member("containers"), container)
	if in == nil {
		in = elementNamed(spec.Member("initContainers"), container)
	}
	switch {
	case in == nil:
		return "the manifest removed container " + container
	case in.At("securityContext", appArmorField) != nil || spec.At("securityContext", appArmorField) != nil:
		return "the manifest sets " + appArmorField
	}
	return ""
}

// elementNamed returns the element of a list with a name, nil if there is none.
func elementNamed(list *jsontree.Node, name string) *jsontree.Node {
	return list.Child(fieldpath.PathElement{Key: fieldpath.KeyByFields("name", name)})
}

// otherResources returns the reason if a container's resources name a resource claim that the pod spec does not have, or if the
// manifest changes the resources of the whole pod, which limit those of its containers.
func (k *keeper) otherResources(n *fieldtree.Node) (reason string) {
	spec := podSpecIn(k.write.Incoming, n)
	whole := spec.Member("resources")
	if whole != nil && !bytes.Equal(whole.Text(), podSpecIn(k.write.Live, n).Member("resources").Text()) {
		return "the manifest sets resources of the pod"
	}
	for claim := range k.live.Of(n).Member("claims").Parts() {
		name, _ := claim.Member("name").String()
		if elementNamed(spec.Member("resourceClaims"), name) == nil {
			return "the manifest removed resource claim " + name
		}
	}
	return ""
}

// counterpart returns the path of the field that can contradict a field of a rule: the limit for a request of a container's resources and
// the reverse, and what shows whether a CustomResourceDefinition or an APIService calls a server with a CA. It is nil for any other field.
func counterpart(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	switch {
	case kind == crdKind && ownership.HasPrefix(path, fieldpath.MakePathOrDie("spec", "conversion", "webhook")):
		return fieldpath.MakePathOrDie("spec", "conversion", "strategy")
	case kind == apiServiceKind && path.Equals(fieldpath.MakePathOrDie("spec", "caBundle")):
		return fieldpath.MakePathOrDie("spec", "insecureSkipTLSVerify")
	}
	if len(path) < 3 || path[len(path)-1].FieldName == nil {
		return nil
	}
	resources, list := path[len(path)-3].FieldName, path[len(path)-2].FieldName
	if resources == nil || *resources != "resources" || list == nil {
		return nil
	}
	if *list != "requests" && *list != "limits" {
		return nil
	}
	return append(path[:len(path)-2:len(path)-2], fieldpath.FieldNameElement(otherList(*list)), path[len(path)-1])
}

var (
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// contradiction returns the reason if a kept field contradicts its counterpart.
func (k *keeper) contradiction(f *keptField) string {
	if f.other == nil || f.other.Wanted {
		return "" // live has both, and the API server has accepted them
	}
	switch k.write.Kind.GroupKind() {
	case crdKind, apiServiceKind:
		return k.withoutServer(f)
	default:
		return k.overLimit(f)
	}
}

// withoutServer returns the reason if the manifest removes the server that a CA is for, or does not verify it
// (ValidateCustomResourceConversion in k8s.io/apiextensions-apiserver, ValidateAPIService in k8s.io/kube-aggregator).
func (k *keeper) withoutServer(f *keptField) string {
	set := k.incoming.Of(f.other)
	strategy, _ := set.String()
	switch {
	case k.write.Kind.Kind == crdKind.Kind && strategy != "Webhook":
		return "the manifest removed the conversion webhook"
	case k.write.Kind.Kind == apiServiceKind.Kind && !k.write.Incoming.At("spec", "service").IsObject():
		return "the manifest removed the service"
	case set.Kind() == 't':
		return "the manifest sets insecureSkipTLSVerify"
	}
	return ""
}

// overLimit returns the reason if a kept request exceeds the limit that the manifest sets, or a kept limit is less than its request.
// Requests of extended resources and huge pages must equal them (ValidateResourceRequirements in
// k8s.io/kubernetes/pkg/apis/core/validation).
func (k *keeper) overLimit(f *keptField) string {
	n, other := f.node, f.other
	kept, okKept := quantityOf(k.live.Of(n).Text())
	set, okSet := quantityOf(k.incoming.Of(other).Text())
	if !okKept || !okSet {
		return ""
	}
	names := n.Names(nil)
	name, list := names[len(names)-1], names[len(names)-2]
	compared := kept.Cmp(set)
	exact := strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-")
	switch {
	case compared == 0:
		return ""
	case exact:
		return "it must equal " + otherList(list) + "." + name
	case list == "requests" && compared > 0:
		return "it exceeds limits." + name
	case list == "limits" && compared < 0:
		return "it is less than requests." + name
	}
	return ""
}

func otherList(list string) string {
	if list == "requests" {
		return "limits"
	}
	return "requests"
}

func quantityOf(text []byte) (q resource.Quantity, ok bool) {
	if len(text) == 0 {
		return q, false
	}
	q, err := resource.ParseQuantity(strings.Trim(string(text), `"`))
	return q, err == nil
}
