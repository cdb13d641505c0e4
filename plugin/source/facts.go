package source

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// facts are what other objects say about subjects. Those of each namespace and each kind are read once.
type facts struct {
	from origin
	// cluster is from, nil if objects are read from files.
	cluster *cluster
	// namespace is that of objects without one: in files, only if a flag selects it. A flag also forbids others.
	namespace string
	explicit  bool

	who         who
	scales      map[schema.GroupVersionKind]scaleField
	byNamespace map[string]*scalers
	// everywhere reads the scalers of all namespaces at once. Users without that permission read them by namespace.
	everywhere bool
}

// scaleOf returns the scale field of a kind.
func (f *facts) scaleOf(ctx context.Context, kind schema.GroupVersionKind) (field scaleField, err error) {
	if path := scale.Known(kind.Group, kind.Kind); path != nil {
		return scaleField{path: path, in: func(string) fieldpath.Path { return path }}, nil
	}
	field, known := f.scales[kind]
	if !known {
		if field, err = f.from.scaleField(ctx, kind); err == nil {
			f.scales[kind] = field
		}
	}
	return field, err
}

// subject returns the subject of an object, with its scale field and its scaler.
func (f *facts) subject(ctx context.Context, o *unstructured.Unstructured) (Subject, error) {
	s, err := newSubject(o, f.who)
	if err != nil {
		return s, err
	}
	err = f.complete(ctx, &s)
	return s, err
}

// complete adds the scale field and the scaler to a subject.
func (f *facts) complete(ctx context.Context, s *Subject) error {
	field, err := f.scaleOf(ctx, s.Kind)
	s.setScale(field)
	if field.gap != "" {
		s.gap("%s", field.gap)
	}
	if err != nil || field.path == nil {
		return err
	}
	near, err := f.scalersIn(ctx, s.Namespace)
	if err != nil {
		return err
	}
	for _, kind := range near.unread {
		s.gap("unknown whether a %s targets it%s; %s", kind.name, kind.read.because, kind.read.remedy)
	}
	s.scaledBy(near)
	return nil
}

// scalersIn returns the scalers of a namespace, possibly with those of others.
func (f *facts) scalersIn(ctx context.Context, namespace string) (*scalers, error) {
	if f.everywhere && namespace != "" {
		if all, err := f.scalersIn(ctx, ""); err != nil || len(all.unread) == 0 {
			return all, err
		}
	}
	if read := f.byNamespace[namespace]; read != nil {
		return read, nil
	}
	read := newScalers()
	err := read.read(ctx, f.from, f.who.scalers, namespace, func(*Autoscaler, map[string]string) {})
	f.byNamespace[namespace] = read
	return read, err
}
