package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// missing names the resources that are not listed yet.
func (f *Facts) missing() []string {
	var resources []string
	for resource, informer := range f.informers {
		if !informer.HasSynced() {
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	return resources
}

// Check says what is missing for Ready, and why: the API server's own words where it has refused a request, which name
// the verb, the resource and the user.
func (f *Facts) Check() error {
	if f.Ready() {
		return nil
	}
	var texts []string
	for _, resource := range f.missing() {
		text := resource + " are not listed yet"
		if problem, ok := f.problems.Load(resource); ok {
			text = fmt.Sprintf("%s: %v", text, problem)
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return errors.New("the informers have just synced")
	}
	return fmt.Errorf("%s (list and watch must be permitted)", strings.Join(texts, "; "))
}

// remember keeps what an informer's requests fail with. It is logged as well, as without this.
func (f *Facts) remember(resource string, informer cache.Informer) error {
	shared, ok := informer.(interface {
		SetWatchErrorHandlerWithContext(toolscache.WatchErrorHandlerWithContext) error
	})
	if !ok {
		return fmt.Errorf("its informer, a %T, does not tell its errors", informer)
	}
	return shared.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *toolscache.Reflector, err error) {
		f.problems.Store(resource, err)
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	})
}
