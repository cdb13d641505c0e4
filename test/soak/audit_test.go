package soak_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// event is a write in the audit log of an API server, which names everything that the write stored, and who was asked.
type event struct {
	Verb, RequestURI, UserAgent string
	ObjectRef                   struct{ Namespace, Name, Subresource, APIGroup string }
	ResponseStatus              struct {
		Code    int
		Message string
	}
	RequestObject            object // an object or a patch
	ResponseObject           object // a Deployment or a Scale
	RequestReceivedTimestamp metav1.MicroTime
	StageTimestamp           metav1.MicroTime
	Annotations              map[string]string

	read time.Time
}

// object is decoded as the API machinery does, with integers.
type object map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(text []byte) error {
	return utiljson.Unmarshal(text, (*map[string]any)(o))
}

// id returns the ID of an apply, which a webhook cannot change in the request.
func (e event) id() string {
	return (&unstructured.Unstructured{Object: e.RequestObject}).GetAnnotations()[idAnnotation]
}

// unlike returns the name of a field that a patch sets, and that has another value in what is stored.
func unlike(patch, stored map[string]any) string {
	for name, value := range patch {
		nested, isMap := value.(map[string]any)
		if !isMap && !reflect.DeepEqual(value, stored[name]) {
			return name
		}
		has, _ := stored[name].(map[string]any)
		if inside := unlike(nested, has); inside != "" {
			return name + "." + inside
		}
	}
	return ""
}

// uid returns the UID of the object, which is also that of its Scale.
func (e event) uid() types.UID { return e.response().GetUID() }

func (e event) replicas() int64 {
	number, _, err := unstructured.NestedInt64(e.ResponseObject, "spec", "replicas")
	if err != nil {
		return 0
	}
	return number
}

// response returns the stored object.
func (e event) response() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: e.ResponseObject}
}

func (e event) key() string { return e.ObjectRef.Namespace + "/" + e.ObjectRef.Name }

// version returns the resourceVersion, which orders the writes of all API servers.
func (e event) version() int64 {
	version, err := strconv.ParseInt(e.response().GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// manager returns the field manager.
func (e event) manager() string {
	if uri, err := url.Parse(e.RequestURI); err == nil && uri.Query().Get("fieldManager") != "" {
		return uri.Query().Get("fieldManager")
	}
	name, _, _ := strings.Cut(e.UserAgent, "/")
	return name
}

func (e event) dryRun() bool { return strings.Contains(e.RequestURI, "dryRun=") }

// said returns what the webhook, or the API server in its stead, said of the write.
func (e event) said() (said []string) {
	for key, value := range e.Annotations {
		if name, ok := strings.CutPrefix(key, "webhook.ownership-handoff.io/"); ok || strings.HasPrefix(key, "failed-open.") {
			said = append(said, name+": "+value)
		}
	}
	slices.Sort(said)
	return said
}

// undecided reports whether the API server could not call the webhook and said so.
func (e event) undecided() bool {
	for key := range e.Annotations {
		if strings.HasPrefix(key, "failed-open.mutation.webhook.admission.k8s.io/") {
			return true
		}
	}
	return false
}

// lag is how long an event waits for those with a lower resourceVersion from the other API server.
const lag = 12 * time.Second

// auditLog merges the audit logs of the API servers. They write to named pipes: nothing is stored, rotated or read twice.
type auditLog struct {
	mutex   sync.Mutex
	waiting []event
	broken  int // lines of an API server that was killed
}

// newAuditLog creates the pipes in a directory and reads them until the context ends.
func newAuditLog(ctx context.Context, dir string) (*auditLog, error) {
	l := &auditLog{}
	for _, name := range []string{"first", "second"} {
		file := filepath.Join(dir, name)
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			return nil, fmt.Errorf("creating a pipe for the audit log: %w", err)
		}
		// Open for writing, too: otherwise the pipe ends when an API server does.
		pipe, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("opening the audit log: %w", err)
		}
		context.AfterFunc(ctx, func() { _ = pipe.Close() })
		go l.read(bufio.NewReaderSize(pipe, 1<<20))
	}
	return l, nil
}

func (l *auditLog) read(from *bufio.Reader) {
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return
		}
		// A killed API server can leave the start of a line, to which the next one appends.
		if i := bytes.LastIndex(line, []byte(`{"kind":"Event"`)); i > 0 {
			line = line[i:]
		}
		e := event{read: time.Now()}
		err = json.Unmarshal(line, &e)
		l.mutex.Lock()
		if err != nil {
			l.broken++
		} else if !e.dryRun() {
			l.waiting = append(l.waiting, e)
		}
		l.mutex.Unlock()
	}
}

// take removes the events that have waited long enough, and returns them in the order of their writes.
func (l *auditLog) take(wait time.Duration) []event {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	until := time.Now().Add(-wait)
	first := map[string]int64{} // the lowest version of each object among the events that must wait
	for _, e := range l.waiting {
		if version, ok := first[e.key()]; e.read.After(until) && (!ok || e.version() < version) {
			first[e.key()] = e.version()
		}
	}
	var due []event
	l.waiting = slices.DeleteFunc(l.waiting, func(e event) bool {
		if version, ok := first[e.key()]; e.read.After(until) || ok && version > 0 && e.version() >= version {
			return false
		}
		due = append(due, e)
		return true
	})
	slices.SortStableFunc(due, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.version(), b.version()), cmp.Compare(a.rank(), b.rank()))
	})
	return due
}

// rank orders events of one version, only one of which has stored anything: the apply, or a write to /scale with another number.
func (e event) rank() int {
	switch {
	case e.id() != "":
		return 0
	case e.response().GetKind() == "Scale":
		return 1
	default:
		return 2
	}
}
