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

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

const (
	// pageLimit is how many objects are asked for at once, as kubectl does.
	pageLimit = 500
	// pageBytes is what a page should stay below: of large objects, fewer are asked for.
	pageBytes = 16 << 20
	// onlyMetadata asks for objects without what they hold.
	onlyMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// lister reads lists as the text they come as. A request that the API server puts off (429) is sent again, by client-go.
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

// listed is a page of a list: its items as text, where it goes on, and how many are left, -1 where that is not said.
type listed struct {
	items [][]byte
	next  string
	left  int64
	err   error
}

// each calls visit for each page of a list. While one is visited, the next is fetched; there are never more.
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

// fetch sends the pages of a list. Where the API server no longer has the state that the list began with, it goes on with
// the one it has: an object can then be of a later state than those before it, which an audit does not mind.
func (l lister) fetch(ctx context.Context, of list, pages chan<- listed) {
	next, limit := "", pageLimit
	for {
		body, err := l.request(ctx, of, next, limit)
		if apierrors.IsResourceExpired(err) {
			if anew := goOn(err); anew != "" && anew != next {
				next = anew
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

// bodyOf prefers the error that the API server has written.
func bodyOf(result rest.Result) ([]byte, error) {
	body, err := result.Raw()
	if err != nil {
		return nil, result.Error()
	}
	return body, nil
}

// goOn returns where a list goes on that has expired.
func goOn(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// splitList finds the items in the text of a list, in one pass, without decoding them.
func splitList(body []byte) (page listed) {
	page.left = -1
	w := rawjson.Walk(body)
	isObject, err := w.Object(func(name []byte) error {
		if string(name) != "items" {
			isMetadata := string(name) == "metadata"
			span, err := w.Value()
			if err == nil && isMetadata {
				page.metadata(span.Of(body))
			}
			return err
		}
		_, err := w.Array(func() error {
			span, err := w.Value()
			page.items = append(page.items, span.Of(body))
			return err
		})
		return err
	})
	if err == nil && !isObject {
		err = errors.New("it is no list")
	}
	if err != nil {
		page.err = fmt.Errorf("the answer of the API server cannot be read: %w", err)
	}
	return page
}

func (l *listed) metadata(text []byte) {
	l.next = unquoted(rawjson.Find(text, "continue").Of(text))
	if left, err := strconv.ParseInt(string(rawjson.Find(text, "remainingItemCount").Of(text)), 10, 64); err == nil {
		l.left = left
	} else if l.next == "" {
		l.left = 0
	}
}
