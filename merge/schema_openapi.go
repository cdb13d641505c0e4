package merge

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CustomResource returns the schema that a version of a CustomResourceDefinition declares for its objects, as server-side
// apply reads it (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy): lists are atomic
// unless x-kubernetes-list-type says set or map, objects granular unless x-kubernetes-map-type says atomic. What
// x-kubernetes-preserve-unknown-fields lets in merges field by field, and its lists are atomic. A set of anything but
// scalars is taken as a whole.
//
// The schema copies what it needs: it may change afterwards. Nil stands for a schema that says nothing.
func (t *Types) CustomResource(schema *apiextensionsv1.JSONSchemaProps) Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	root := &place{strategy: Strategy{Holds: HoldsObject}}
	if schema != nil {
		root = t.declared(schema)
	}
	t.embed(root)
	return root
}

func (t *Types) declared(schema *apiextensionsv1.JSONSchemaProps) *place {
	p := &place{strategy: Strategy{Holds: declaredKind(schema)}}
	switch p.strategy.Holds {
	case HoldsList:
		t.declareList(p, schema)
	case HoldsObject:
		t.declareObject(p, schema)
	default:
	}
	return p
}

func (t *Types) declareList(p *place, schema *apiextensionsv1.JSONSchemaProps) {
	if schema.Items != nil && schema.Items.Schema != nil {
		p.element = t.declared(schema.Items.Schema)
	}
	listType := ""
	if schema.XListType != nil {
		listType = *schema.XListType
	}
	switch {
	case listType == "map" && len(schema.XListMapKeys) > 0:
		p.strategy.List, p.strategy.Keys = MergeByKey, append([]string(nil), schema.XListMapKeys...)
	case listType == "set" && p.element != nil && p.element.strategy.Holds != HoldsObject && p.element.strategy.Holds != HoldsList:
		p.strategy.List = MergeSet
	}
}

func (t *Types) declareObject(p *place, schema *apiextensionsv1.JSONSchemaProps) {
	if schema.XMapType != nil && *schema.XMapType == "atomic" {
		p.strategy.Object = ReplaceObject
	}
	p.fields = &fields{byName: make(map[string]*place, len(schema.Properties))}
	for name := range schema.Properties {
		property := schema.Properties[name]
		p.fields.byName[name] = t.declared(&property)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		p.fields.values = t.declared(schema.AdditionalProperties.Schema)
	}
	if schema.XEmbeddedResource {
		t.embed(p)
	}
}

// embed gives an object what every Kubernetes object has, whether its schema says so or not.
func (t *Types) embed(p *place) {
	if p.fields == nil {
		p.fields = &fields{byName: map[string]*place{}}
	}
	for name, field := range t.fieldsOf(reflect.TypeFor[metav1.PartialObjectMetadata]()).byName {
		p.fields.byName[name] = field
	}
}

func declaredKind(schema *apiextensionsv1.JSONSchemaProps) Kind {
	if schema.XIntOrString {
		return HoldsAnything
	}
	switch schema.Type {
	case "object":
		return HoldsObject
	case "array":
		return HoldsList
	case "string", "integer", "number", "boolean":
		return HoldsScalar
	default:
		return HoldsAnything
	}
}
