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

// manifestWins returns the reason why the manifest wins over a field to keep, empty if the field is kept.
func (k *keeper) manifestWins(f *decidedField) string {
	switch {
	case f.node == nil:
		return "the field is nested too deeply"
	case f.change.Field.Scale:
		return ""
	case f.change.Reason != "":
		return f.change.Reason
	}
	names := f.node.Names(nil)
	if !f.change.Field.Unit {
		return k.contradiction(f, names)
	}
	last := names[len(names)-1]
	switch names[len(names)-2] {
	case "data":
		if k.write.Incoming.At("binaryData", last) != nil {
			return "the manifest sets it in binaryData"
		}
		return k.tooLarge(f.node, maxData)
	case "annotations":
		if container, ok := strings.CutPrefix(last, appArmorPrefix); ok && names[0] != "metadata" {
			if reason := k.appArmorOf(container, f.node); reason != "" {
				return reason
			}
		}
		return k.tooLarge(f.node, ownership.MaxAnnotations)
	}
	if last == "resources" {
		return k.otherResources(f.node)
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
	if _, ok := k.sizes[parent]; !ok {
		k.sizes[parent] = k.sizeOf(parent, limit)
	}
	size := k.sizes[parent] + k.lengthOf(k.live.Of(n), limit)
	if size > limit {
		return "the API server's size limit would be exceeded"
	}
	k.sizes[parent] = size
	return ""
}

// sizeOf returns the size of a map of the incoming object, as the API server limits it, with what the rewrite records in it.
func (k *keeper) sizeOf(parent *fieldtree.Node, limit int) (size int) {
	maps := []*jsontree.Node{k.incoming.Of(parent)}
	if limit == maxData {
		maps = append(maps, k.write.Incoming.At("binaryData"))
	}
	for _, object := range maps {
		for part := range object.Parts() {
			size += k.lengthOf(part, limit)
		}
	}
	for _, f := range k.fields {
		if f.change.Decision.Verdict == Record && f.node.Parent() == parent {
			size += len(ownership.AppliedAnnotation) + len(f.change.Field.Live)
		}
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

var (
	crdKind        = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
)

// contradiction returns the reason if a field of a rule contradicts another one that the manifest sets: a CA that of a server that the
// manifest removes or does not verify (ValidateCustomResourceConversion in k8s.io/apiextensions-apiserver, ValidateAPIService in
// k8s.io/kube-aggregator), and a request its limit. If both are kept, the API server has accepted them.
func (k *keeper) contradiction(f *decidedField, names []string) string {
	kind, path, incoming := k.write.Kind.GroupKind(), f.change.Field.Path, k.write.Incoming
	inResources := len(names) >= 3 && names[len(names)-3] == "resources" && f.node.IsField()
	switch strategy, _ := incoming.At("spec", "conversion", "strategy").String(); {
	case kind == crdKind && ownership.HasPrefix(path, fieldpath.MakePathOrDie("spec", "conversion", "webhook")):
		if strategy != "Webhook" && !k.tree.Has(fieldpath.MakePathOrDie("spec", "conversion", "strategy")) {
			return "the manifest removed the conversion webhook"
		}
	case kind == apiServiceKind && path.Equals(fieldpath.MakePathOrDie("spec", "caBundle")):
		switch skips := fieldpath.MakePathOrDie("spec", "insecureSkipTLSVerify"); {
		case k.tree.Has(skips):
		case !incoming.At("spec", "service").IsObject():
			return "the manifest removed the service"
		case incoming.At("spec", "insecureSkipTLSVerify").Kind() == 't':
			return "the manifest sets insecureSkipTLSVerify"
		}
	case inResources && names[len(names)-2] == "requests":
		return k.overLimit(f, "limits")
	case inResources && names[len(names)-2] == "limits":
		return k.overLimit(f, "requests")
	}
	return ""
}

// overLimit returns the reason if a kept request exceeds the limit that the manifest sets, or a kept limit is less than its request.
// Requests of extended resources and huge pages must equal them (ValidateResourceRequirements in
// k8s.io/kubernetes/pkg/apis/core/validation). other is the list of the one that the manifest sets.
func (k *keeper) overLimit(f *decidedField, other string) string {
	path, name := f.change.Field.Path, *f.node.Element.FieldName
	counterpart := slices.Concat(path[:len(path)-2], fieldpath.Path{fieldpath.FieldNameElement(other), path[len(path)-1]})
	kept, errKept := quantityOf(f.change.Field.Live)
	set, errSet := quantityOf(k.write.Incoming.Value(counterpart))
	compared := kept.Cmp(set)
	switch {
	case errKept != nil || errSet != nil || compared == 0 || k.tree.Has(counterpart):
		return ""
	case strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-"):
		return "it must equal " + other + "." + name
	case other == "limits" && compared > 0:
		return "it exceeds limits." + name
	case other == "requests" && compared < 0:
		return "it is less than requests." + name
	}
	return ""
}

func quantityOf(text []byte) (resource.Quantity, error) {
	return resource.ParseQuantity(strings.Trim(string(text), `"`))
}
