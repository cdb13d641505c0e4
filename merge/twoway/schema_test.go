package twoway_test

import (
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// kyamlSchema is kyaml's schema of the kinds of Kubernetes.
func kyamlSchema(infer bool) schema.Schema {
	unknown := &twoway.Inferred{ReplaceLists: !infer}
	var places sync.Map
	unknown.ByKind = func(apiVersion, kind string) schema.Schema {
		if kept, ok := places.Load(apiVersion + " " + kind); ok {
			if place, ok := kept.(schema.Schema); ok {
				return place
			}
		}
		known := openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
		if known == nil {
			return nil
		}
		place := &kyamlPlace{known: known, unknown: unknown}
		places.Store(apiVersion+" "+kind, place)
		return place
	}
	return unknown
}

// kyamlPlace is kyaml's schema of one place. It caches lookups, because kyaml copies a schema each time.
type kyamlPlace struct {
	known   *openapi.ResourceSchema
	unknown *twoway.Inferred
	fields  sync.Map
}

func (p *kyamlPlace) Field(name string) schema.Schema {
	return p.keep(name, func() *openapi.ResourceSchema { return p.known.Field(name) })
}

func (p *kyamlPlace) Element() schema.Schema { return p.keep("[]", p.known.Elements) }

func (p *kyamlPlace) keep(name string, look func() *openapi.ResourceSchema) schema.Schema {
	if kept, ok := p.fields.Load(name); ok {
		if place, ok := kept.(schema.Schema); ok {
			return place
		}
	}
	var place schema.Schema = p.unknown
	if known := look(); known != nil {
		place = &kyamlPlace{known: known, unknown: p.unknown}
	}
	p.fields.Store(name, place)
	return place
}

func (p *kyamlPlace) Strategy() schema.Strategy {
	const itself = "strategy of the place"
	if kept, ok := p.fields.Load(itself); ok {
		if strategy, ok := kept.(schema.Strategy); ok {
			return strategy
		}
	}
	strategies, keys := p.known.PatchStrategyAndKeyList()
	strategy := schema.Strategy{Keys: keys}
	switch {
	case !slices.Contains(strings.Split(strategies, ","), "merge"):
		strategy.Keys = nil
	case len(keys) == 0:
		strategy.List = schema.MergeSet
	default:
		strategy.List = schema.MergeByKey
	}
	p.fields.Store(itself, strategy)
	return strategy
}
