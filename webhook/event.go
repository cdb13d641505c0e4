package webhook

import (
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// Any client that reaches the port can post a review with any content, and Events are stored in the cluster in handoff's name.
// Therefore Events are only recorded in namespaces that opted in with their own annotation, contain only fixed texts, paths and
// counts, and are rate-limited.
const (
	// eventFields is the maximum number of fields in an Event.
	eventFields = 3
	// maxEventPath is the maximum length of a path in an Event, in bytes.
	maxEventPath = 100
)

// eventRate is the burst and the rate of a limit on Events.
type eventRate struct{ burst, perSecond float64 }

func namespaceRate() eventRate { return eventRate{100, 1} }
func podRate() eventRate       { return eventRate{300, 10} }

// recordEvents records one Event for each reason among the changes of a write.
func (h *Handler) recordEvents(r *review, out outcome) {
	if len(out.changes) == 0 || h.Events == nil || r.dryRun || !h.optedIn(r.namespace) {
		return
	}
	reference, ok := r.reference()
	if !ok {
		return
	}
	var reasons []string
	changes := map[string][]change{}
	for _, c := range out.changes {
		if verdict := c.Change.Decision.Verdict; verdict == merge.Warn || verdict == merge.Removed {
			continue
		}
		reason := eventReason(c, out.mode)
		if changes[reason] == nil {
			reasons = append(reasons, reason)
		}
		changes[reason] = append(changes[reason], c)
	}
	for _, reason := range reasons {
		if !h.eventLimit.allow(r.namespace, time.Now()) {
			h.eventLimit.skipped.Do(10*time.Second, func(times int) {
				h.Log.Info("Events are rate-limited", "skippedSinceLastLog", times, "namespace", r.namespace)
			})
			continue
		}
		h.Events.Eventf(reference, nil, corev1.EventTypeNormal, reason, "Apply", "%s", h.eventNote(r, changes[reason], out.mode))
	}
}

// optedIn reports whether a namespace has opted in with its own annotation. The annotation of the object in the review is not
// enough.
func (h *Handler) optedIn(namespace string) bool {
	mode, _ := ownership.ModeOf(h.Cluster.NamespaceMode(namespace))
	return mode != ownership.ModeOff
}

// eventNote returns the first changes, and the number of the others.
func (h *Handler) eventNote(r *review, changes []change, m ownership.Mode) string {
	autoscaler := h.Cluster.Scaler(r.namespace, r.kind.Group, r.kind.Kind, r.name).Name
	text := func(c change) string { return c.eventText(m, autoscaler) }
	more := func(others int) string {
		return "and " + strconv.Itoa(others) + " more (" + strconv.Itoa(len(changes)) + " fields)"
	}
	return strings.Join(firstOf(changes, eventFields, text, more), "; ")
}

// eventText is record without text that the sender of the review can choose, such as names of managers and values that are not
// integers. The autoscaler is the one in the informer's cache.
func (c change) eventText(m ownership.Mode, autoscaler string) string {
	owner := c.Change.Owner.Kind.String()
	if autoscaler != "" && c.Change.Owner.By == autoscaler {
		owner = autoscaler + " (" + owner + ")"
	}
	text := c.did(m) + " " + plainPath(c.Change.Path.String()) + ": "
	if c.Change.Field.Scale {
		text += "live " + plainCount(string(c.Change.Value())) + ", incoming " + plainCount(string(c.Change.Incoming)) + ", "
	}
	return text + "owner " + owner
}

func plainCount(text string) string {
	if _, err := strconv.ParseUint(text, 10, 31); err != nil {
		return "none"
	}
	return text
}

// plainPath replaces spaces and other characters that could make a path look like a sentence, and truncates the front of a long
// path.
func plainPath(path string) string {
	path = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(`._-[]="`, c) {
			return c
		}
		return '?'
	}, path)
	if len(path) > maxEventPath {
		path = "..." + path[len(path)-maxEventPath+len("..."):]
	}
	return path
}

// reference returns the object that an Event is about; ok is false if no Event can be stored for it, because a name is not a
// valid Kubernetes name.
func (r *review) reference() (reference *corev1.ObjectReference, ok bool) {
	uid := r.live.UID()
	ok = len(validation.IsDNS1123Label(r.namespace)) == 0 && len(validation.IsDNS1123Subdomain(r.name)) == 0 &&
		(r.kind.Group == "" || len(validation.IsDNS1123Subdomain(r.kind.Group)) == 0) &&
		len(validation.IsDNS1035Label(r.kind.Version)) == 0 && len(validation.IsDNS1035Label(strings.ToLower(r.kind.Kind))) == 0 &&
		(uid == "" || len(validation.IsDNS1123Label(uid)) == 0)
	return &corev1.ObjectReference{
		APIVersion: r.kind.GroupVersion().String(), Kind: r.kind.Kind,
		Namespace: r.namespace, Name: r.name, UID: types.UID(uid),
	}, ok
}

// bucket is a token bucket.
type bucket struct {
	tokens float64
	since  time.Time
}

// take takes a token, if there is one.
func (b *bucket) take(rate eventRate, now time.Time) bool {
	b.tokens = b.at(rate, now)
	b.since = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (b *bucket) at(rate eventRate, now time.Time) float64 {
	if b.since.IsZero() {
		return rate.burst
	}
	return min(rate.burst, b.tokens+now.Sub(b.since).Seconds()*rate.perSecond)
}

// eventLimit limits the Events of each namespace, and of all namespaces together. The zero eventLimit is ready to use.
type eventLimit struct {
	skipped ratelimit.Log

	mutex      sync.Mutex
	all        bucket
	namespaces map[string]*bucket
}

// maxBuckets is the number of namespaces from which full buckets are removed.
const maxBuckets = 1000

func (l *eventLimit) allow(namespace string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.namespaces[namespace] == nil {
		l.removeFull(now)
		l.namespaces[namespace] = &bucket{}
	}
	// Check the namespace's limit first, so that Events beyond it do not use up the common limit.
	return l.namespaces[namespace].take(namespaceRate(), now) && l.all.take(podRate(), now)
}

func (l *eventLimit) removeFull(now time.Time) {
	if l.namespaces == nil {
		l.namespaces = map[string]*bucket{}
	}
	if len(l.namespaces) < maxBuckets {
		return
	}
	for name, b := range l.namespaces {
		if b.at(namespaceRate(), now) >= namespaceRate().burst {
			delete(l.namespaces, name)
		}
	}
}
