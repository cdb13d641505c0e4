package schema

// WithoutRetainKeys returns a schema without patchStrategy=retainKeys: a merge does not remove the members of a union that the
// manifest lacks. Only strategic merge patches do; server-side apply and two-way merges ignore the strategy. It returns nil for a
// nil schema.
func WithoutRetainKeys(s Schema) Schema {
	if s == nil {
		return nil
	}
	return withoutRetainKeys{s}
}

type withoutRetainKeys struct{ Schema }

// Unwrap returns the schema itself, for merges that ignore the strategy.
func (w withoutRetainKeys) Unwrap() Schema { return w.Schema }

// Field implements Schema.
func (w withoutRetainKeys) Field(name string) Schema { return WithoutRetainKeys(w.Schema.Field(name)) }

// Element implements Schema.
func (w withoutRetainKeys) Element() Schema { return WithoutRetainKeys(w.Schema.Element()) }

// Strategy implements Schema.
func (w withoutRetainKeys) Strategy() Strategy {
	strategy := w.Schema.Strategy()
	if strategy.Object == RetainKeys {
		strategy.Object = MergeFields
	}
	return strategy
}
