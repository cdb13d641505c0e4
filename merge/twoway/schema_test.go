package twoway_test

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// kinds returns the schema of the kinds that kyaml knows: kustomize's, or kyaml's own if the keys of unknown lists are inferred.
// TestKustomizeEqualsKyamlSchema compares the two.
func kinds(infer bool) schema.Schema {
	if !infer {
		return kustomize()
	}
	return kyamlSchema(false)
}

// kyamlSchema is kyaml's schema of all kinds.
func kyamlSchema(replaceLists bool) *twoway.Inferred {
	unknown := &twoway.Inferred{ReplaceLists: replaceLists}
	unknown.ByKind = func(apiVersion, kind string) schema.Schema {
		if known := openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind}); known != nil {
			return kyamlPlace{known, unknown}
		}
		return nil
	}
	return unknown
}

// kyamlPlace is kyaml's schema of one place.
type kyamlPlace struct {
	known   *openapi.ResourceSchema
	unknown *twoway.Inferred
}

func (p kyamlPlace) Field(name string) schema.Schema { return p.nested(p.known.Field(name)) }
func (p kyamlPlace) Element() schema.Schema          { return p.nested(p.known.Elements()) }

func (p kyamlPlace) nested(known *openapi.ResourceSchema) schema.Schema {
	if known == nil {
		return p.unknown
	}
	return kyamlPlace{known, p.unknown}
}

func (p kyamlPlace) Strategy() schema.Strategy {
	strategies, keys := p.known.PatchStrategyAndKeyList()
	switch {
	case !slices.Contains(strings.Split(strategies, ","), "merge"):
		return schema.Strategy{}
	case len(keys) == 0:
		return schema.Strategy{List: schema.MergeSet}
	default:
		return schema.Strategy{List: schema.MergeByKey, Keys: keys}
	}
}
