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

// listed is a page of a list: its items as JSON, the continue token, and the number of remaining items, -1 if unknown.
type listed struct {
	items [][]byte
	next  string
	left  int64
	err   error
}

// each calls visit for each page of a list. It fetches at most one page ahead.
func (l lister) each(ctx context.Context, of list, visit func(listed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan listed)
	go func() {
		defer close(pages)
		l.fetch(ctx, of, pages)
	}()
	defer func() {
		cancel()
		for range pages {
		}
	}()
	for page := range pages {
		if page.err != nil {
			return page.err
		}
		if err := visit(page); err != nil {
			return err
		}
	}
	return nil
}

// fetch sends the pages of a list to a channel. If the resource version of the list has expired, it continues with the current
// one: the pages are then inconsistent, which is acceptable for an audit.
func (l lister) fetch(ctx context.Context, of list, pages chan<- listed) {
	next, limit := "", pageLimit
	for {
		body, err := l.request(ctx, of, next, limit)
		if apierrors.IsResourceExpired(err) {
			if current := continueToken(err); current != "" && current != next {
				next = current
				continue
			}
		}
		page := listed{err: err}
		if err == nil {
			page = splitList(body)
		}
		select {
		case pages <- page:
		case <-ctx.Done():
			return
		}
		if next = page.next; next == "" || page.err != nil {
			return
		}
		if each := len(body)/max(len(page.items), 1) + 1; each*limit > pageBytes {
			limit = max(pageBytes/each, 1)
		}
	}
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

// continueToken returns the token to continue an expired list.
func continueToken(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// splitList finds the items in the text of a list, in one pass, without decoding them.
func splitList(body []byte) (page listed) {
	page.left = -1
	root, err := jsontree.Parse(body)
	if err == nil && !root.IsObject() {
		err = errors.New("not a list")
	}
	if err != nil {
		page.err = fmt.Errorf("reading the API server's response: %w", err)
		return page
	}
	for item := range root.Member("items").Parts() {
		page.items = append(page.items, item.Text())
	}
	page.metadata(root.Member("metadata"))
	return page
}

func (l *listed) metadata(of *jsontree.Node) {
	l.next, _ = of.Member("continue").String()
	if left, err := strconv.ParseInt(string(of.Member("remainingItemCount").Text()), 10, 64); err == nil {
		l.left = left
	} else if l.next == "" {
		l.left = 0
	}
}
