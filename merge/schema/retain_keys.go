package schema

// WithoutRetainKeys returns a schema without patchStrategy=retainKeys: a merge does not remove the members of a union that the
// manifest lacks. Only strategic merge patches do; server-side apply ignores the strategy.
func WithoutRetainKeys(s Schema) Schema { return withoutRetainKeys{s} }

type withoutRetainKeys struct{ Schema }

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
