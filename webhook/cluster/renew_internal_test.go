package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestAListIsReducedPageByPage verifies that a page of objects is reduced before the next is read, with an API server that, as the
// real ones, returns all objects at once from its cache.
func TestAListIsReducedPageByPage(t *testing.T) {
	type counts struct{ Requests, Unreduced, Listed int }
	const objects = 10*pageSize + 1
	for sentence, c := range map[string]struct {
		expires bool
		want    counts
	}{
		"a large list": {false, counts{11, pageSize, objects}},
		"a list that expires after its first page is read at once, as client-go does": {true, counts{3, objects, objects}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got counts
			unreduced := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				query := r.URL.Query()
				from, _ := strconv.Atoi(query.Get("continue"))
				limit, _ := strconv.Atoi(query.Get("limit"))
				got.Requests++
				w.Header().Set("Content-Type", "application/json")
				if c.expires && from > 0 {
					w.WriteHeader(http.StatusGone)
					_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
					return
				}
				next, end := "", objects
				if query.Get("resourceVersion") != "0" && limit > 0 && from+limit < objects {
					end = from + limit
					next = strconv.Itoa(end)
				}
				unreduced += end - from
				got.Unreduced = max(got.Unreduced, unreduced)
				items := strings.Repeat(`,{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{}}`, end-from)[1:]
				_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"GadgetList","metadata":{"continue":%q,"resourceVersion":"7"},"items":[%s]}`, next, items)
			}))
			defer server.Close()
			client := dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL, QPS: -1}).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"})
			informer := newInformer(&toolscache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, o)
			}}, &unstructured.Unstructured{}, 0, nil)
			err := informer.SetTransform(func(any) (any, error) { unreduced--; return &scaler{}, nil })
			list, listErr := informer.renewal.list(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
			if err = cmp.Or(err, listErr); err != nil {
				t.Fatal(err)
			}
			got.Listed = meta.LenList(list)
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
