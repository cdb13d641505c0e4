package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

const (
	// pageLimit is the number of objects per page, as in kubectl.
	pageLimit = 500
	// pageBytes is the target size of a page: pages of large objects contain fewer.
	pageBytes = 16 << 20
	// onlyMetadata requests objects with their metadata only.
	onlyMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// lister reads lists as raw JSON. client-go repeats requests that the API server rejects with 429.
type lister struct{ client rest.Interface }

func newLister(getter genericclioptions.RESTClientGetter) (lister, error) {
	restConfig, err := getter.ToRESTConfig()
	if err != nil {
		return lister{}, err
	}
	restConfig = rest.CopyConfig(restConfig)
	restConfig.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	client, err := rest.UnversionedRESTClientFor(restConfig)
	return lister{client}, err
}

// list is what to list.
type list struct {
	path, selector string
	metadata       bool
}

// listed is a page of a list: its items as JSON, the continue token of the next page and the number of objects to request, and the
// number of remaining items, -1 if unknown.
type listed struct {
	items [][]byte
	next  string
	limit int
	left  int64
	err   error
}

// each calls visit for each page of a list. It fetches at most one page ahead.
func (l lister) each(ctx context.Context, of list, visit func(listed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fetch := func(next string, limit int) <-chan listed {
		fetched := make(chan listed, 1)
		go func() { fetched <- l.page(ctx, of, next, limit) }()
		return fetched
	}
	for pending := fetch("", pageLimit); pending != nil; {
		page := <-pending
		if page.err != nil {
			return page.err
		}
		pending = nil
		if page.next != "" {
			pending = fetch(page.next, page.limit)
		}
		if err := visit(page); err != nil {
			return err
		}
	}
	return nil
}

// page reads a page of a list. If the resource version of the list has expired, it continues with the current one: the pages are
// then inconsistent, which is acceptable for an audit.
func (l lister) page(ctx context.Context, of list, next string, limit int) listed {
	body, err := l.request(ctx, of, next, limit)
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		body, err = l.request(ctx, of, status.Status().Continue, limit)
	}
	if err != nil {
		return listed{err: err}
	}
	root, err := jsontree.Parse(body)
	if err == nil && !root.IsObject() {
		err = errors.New("not a list")
	}
	if err != nil {
		return listed{err: fmt.Errorf("reading the API server's response: %w", err)}
	}
	page := listed{left: -1, limit: limit}
	for item := range root.Member("items").Parts() {
		page.items = append(page.items, item.Text())
	}
	page.next, _ = root.At("metadata", "continue").String()
	if left, err := strconv.ParseInt(string(root.At("metadata", "remainingItemCount").Text()), 10, 64); err == nil {
		page.left = left
	} else if page.next == "" {
		page.left = 0
	}
	if each := len(body)/max(len(page.items), 1) + 1; each*limit > pageBytes {
		page.limit = max(pageBytes/each, 1)
	}
	return page
}

func (l lister) request(ctx context.Context, of list, next string, limit int) ([]byte, error) {
	request := l.client.Get().AbsPath(of.path).Param("limit", strconv.Itoa(limit))
	if of.selector != "" {
		request.Param("labelSelector", of.selector)
	}
	if next != "" {
		request.Param("continue", next)
	}
	if of.metadata {
		request.SetHeader("Accept", onlyMetadata)
	}
	return bodyOf(request.Do(ctx))
}

// bodyOf returns the body of a response, or the API server's own error.
func bodyOf(result rest.Result) ([]byte, error) {
	body, err := result.Raw()
	if err != nil {
		return nil, result.Error()
	}
	return body, nil
}

// get reads the text of one object.
func (l lister) get(ctx context.Context, path string) ([]byte, error) {
	return bodyOf(l.client.Get().AbsPath(path).Do(ctx))
}
