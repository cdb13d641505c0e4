package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

// bigCluster is a fake API server with many Deployments. It serves discovery and paged lists, and generates each page on
// request, so that it keeps none in memory.
type bigCluster struct {
	deployments, autoscalers int
	// busy rejects the fourth request for Deployments with 429. expired fails the fifth because its resource version was
	// compacted. broken fails all from the fourth on.
	busy, expired, broken bool
	// onPage is called for each request for Deployments.
	onPage func()

	mu    sync.Mutex
	lists []string // the continue tokens of the requests for Deployments
}

// start serves until the test ends, and sets KUBECONFIG to the server.
func (c *bigCluster) start(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server.URL)
	t.Setenv("KUBECONFIG", objects.Write(t, kubeconfig, folder, "kubeconfig"))
	t.Setenv("KUBECACHEDIR", filepath.Join(folder, "cache"))
}

func (c *bigCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := func(name, kind string) string {
		return fmt.Sprintf(`{"name":%q,"singularName":"","namespaced":%t,"kind":%q,"verbs":["get","list"]}`, name, kind != "Namespace", kind)
	}
	switch r.URL.Path {
	case "/api":
		write(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		group := func(name, version string) string {
			gv := fmt.Sprintf(`{"groupVersion":"%s/%s","version":%q}`, name, version, version)
			return fmt.Sprintf(`{"name":%q,"versions":[%s],"preferredVersion":%s}`, name, gv, gv)
		}
		write(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s,%s]}`, group("apps", "v1"), group("autoscaling", "v2"))
	case "/api/v1":
		write(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[%s]}`, resource("namespaces", "Namespace"))
	case "/apis/apps/v1":
		write(w, `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[%s,%s]}`,
			resource("deployments", "Deployment"), resource("deployments/scale", "Scale"))
	case "/apis/autoscaling/v2":
		write(w, `{"kind":"APIResourceList","groupVersion":"autoscaling/v2","resources":[%s]}`,
			resource("horizontalpodautoscalers", "HorizontalPodAutoscaler"))
	case "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":
		c.page(w, r, 1, func(int) string {
			return `{"metadata":{"name":"handoff"},"webhooks":[{"name":"webhook.ownership-handoff.io","clientConfig":{"url":"https://localhost"},
				"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}]}`
		})
	case "/api/v1/namespaces":
		c.page(w, r, 10, func(i int) string {
			return fmt.Sprintf(`{"metadata":{"name":"ns-%d","annotations":{"ownership-handoff.io/mode":%q}}}`, i, []string{"enforce", "off"}[i%2])
		})
	case "/apis/autoscaling/v2/horizontalpodautoscalers":
		c.page(w, r, c.autoscalers, func(i int) string {
			return fmt.Sprintf(`{"metadata":{"name":"web-%d","namespace":"ns-%d"},"spec":{"minReplicas":2,"maxReplicas":9,
				"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web-%d"}}}`, i, i%10, i)
		})
	case "/apis/apps/v1/deployments":
		c.deploymentPage(w, r)
	default:
		refuse(w, http.StatusNotFound, "NotFound", "")
	}
}

func (c *bigCluster) deploymentPage(w http.ResponseWriter, r *http.Request) {
	next := r.URL.Query().Get("continue")
	c.mu.Lock()
	c.lists = append(c.lists, next)
	request := len(c.lists)
	if c.onPage != nil {
		c.onPage()
	}
	c.mu.Unlock()
	switch {
	case c.busy && request == 4:
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusTooManyRequests, "TooManyRequests", "")
	case c.broken && request >= 4:
		refuse(w, http.StatusInternalServerError, "InternalError", "")
	case c.expired && request == 5:
		refuse(w, http.StatusGone, "Expired", "anew-"+next)
	default:
		c.page(w, r, c.deployments, deployment)
	}
}

// page writes a page of a list with a number of items.
func (c *bigCluster) page(w http.ResponseWriter, r *http.Request, all int, item func(i int) string) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit > 500 {
		refuse(w, http.StatusBadRequest, "BadRequest", "") // the client must use pages
		return
	}
	begin, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("continue"), "anew-"))
	end := min(begin+limit, all)
	more := ""
	if end < all {
		more = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, end, all-end)
	}
	write(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"%s},"items":[`, more)
	for i := begin; i < end; i++ {
		if i > begin {
			write(w, ",")
		}
		write(w, "%s", item(i))
	}
	write(w, "]}")
}

func refuse(w http.ResponseWriter, code int, reason, next string) {
	w.WriteHeader(code)
	write(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"the server says %s","metadata":{"continue":%q}}`,
		code, reason, reason, next)
}

func write(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // the client reports an incomplete response
}

// deployment returns a Deployment of 5 KB, with three replicas in its manifest and seven from an autoscaler.
func deployment(i int) string {
	template := fmt.Sprintf(`"template":{"metadata":{"annotations":{"example.com/text":%q}}}`, strings.Repeat("text ", 500))
	manifest := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%d","namespace":"ns-%d"},"spec":{"replicas":3,%s}}`,
		i, i%10, template)
	return fmt.Sprintf(`{"metadata":{"name":"web-%d","namespace":"ns-%d","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q},"managedFields":[
		{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","subresource":"scale",
			"fieldsV1":{"f:spec":{"f:replicas":{}}}},
		{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{
			"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},
			"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:example.com/text":{}}}}}}}]},
		"spec":{"replicas":7,%s}}`, i, i%10, manifest, template)
}
