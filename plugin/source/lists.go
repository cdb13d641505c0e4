package source

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// eachItem calls visit for each object of a list, with the number of those that follow, or -1 if the API server does not return it.
// It fetches one page ahead.
func eachItem[T runtime.Object](
	ctx context.Context, list pager.ListPageFunc, selector string, visit func(o T, left int64) error,
) error {
	left := int64(-1)
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := listCurrent(ctx, list, options)
		if err == nil && options.Continue == "" {
			left = itemsOf(page)
		}
		return page, err
	})
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(o runtime.Object) error {
		if left > 0 { // known
			left--
		}
		item, ok := o.(T)
		if !ok {
			return fmt.Errorf("a list contains a %T", o)
		}
		return visit(item, left)
	})
}

// listCurrent lists a page. If the resource version of the list has expired, it continues with the current one: the pages are then
// inconsistent, which is acceptable for an audit.
func listCurrent(ctx context.Context, list pager.ListPageFunc, options metav1.ListOptions) (runtime.Object, error) {
	page, err := list(ctx, options)
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		options.Continue = status.Status().Continue
		return list(ctx, options)
	}
	return page, err
}

// itemsOf returns the number of items of a list, of which this is the first page, or -1 if it is unknown.
func itemsOf(first runtime.Object) int64 {
	accessor, err := meta.ListAccessor(first)
	if err != nil {
		return -1
	}
	items := int64(meta.LenList(first))
	switch remaining := accessor.GetRemainingItemCount(); {
	case remaining != nil:
		return items + *remaining
	case accessor.GetContinue() != "": // with a selector
		return -1
	default:
		return items
	}
}
