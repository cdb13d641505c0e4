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

// Whoever reaches the port can post a review of any content, and an Event is stored in the cluster in handoff's name. So
// an Event needs a namespace that has opted in by itself, says nothing but handoff's own words, paths and counts, and is
// rate-limited.
const (
	// eventFields is how many fields an Event names.
	eventFields = 3
	// eventPath is how much of a path an Event has, in bytes.
	eventPath = 100
)

// eventRate is how many Events may be recorded at once, and how many a second after that.
type eventRate struct{ burst, perSecond float64 }

func namespaceRate() eventRate { return eventRate{100, 1} }
func podRate() eventRate       { return eventRate{300, 10} }

// recordEvents records one Event for each reason among the changes of a write.
func (h *Handler) recordEvents(r *review, out outcome) {
	reference, ok := r.reference()
	if h.Events == nil || r.dryRun || !ok || !h.optedIn(r.namespace) {
		return
	}
	var reasons []string
	changes := map[string][]change{}
	for _, c := range out.changes {
		if c.Verdict == merge.Warn {
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
				h.Log.Info("Events are rate-limited", "skipped since the last line", times, "namespace", r.namespace)
			})
			continue
		}
		h.Events.Eventf(reference, nil, corev1.EventTypeNormal, reason, "Apply", "%s", h.eventNote(r, changes[reason], out.mode))
	}
}

// optedIn reports whether a namespace has opted in by its own annotation. What a review says is not enough.
func (h *Handler) optedIn(namespace string) bool {
	text, ok := h.Cluster.NamespaceMode(namespace)
	mode, _ := ownership.ParseMode(text)
	return ok && mode != ownership.ModeOff
}

// eventNote names the first of the changes, and how many there are.
func (h *Handler) eventNote(r *review, changes []change, m ownership.Mode) string {
	autoscaler, _ := h.Cluster.Autoscaler(r.namespace, r.kind.Group, r.kind.Kind, r.name)
	var texts []string
	for i, c := range changes {
		if i == eventFields {
			texts = append(texts, "and "+strconv.Itoa(len(changes)-i)+" more ("+strconv.Itoa(len(changes))+" fields)")
			break
		}
		texts = append(texts, c.eventText(m, autoscaler))
	}
	return strings.Join(texts, "; ")
}

// eventText is record without anything that the sender of the review can choose, as names of managers and values that are not
// integers. The autoscaler is the one in the informer's cache.
func (c change) eventText(m ownership.Mode, autoscaler string) string {
	owner := c.Owner.Owner.String()
	if autoscaler != "" && c.Owner.By == autoscaler {
		owner = autoscaler + " (" + owner + ")"
	}
	text := c.did(m) + " " + plainPath(c.Path.String()) + ": "
	if c.Field.Scale {
		text += "live " + plainCount(string(c.Value())) + ", incoming " + plainCount(string(c.Incoming)) + ", "
	}
	return text + "owner " + owner
}

func plainCount(text string) string {
	if _, err := strconv.ParseUint(text, 10, 31); err != nil {
		return "none"
	}
	return text
}

// plainPath returns a path without spaces and other characters that would make it read as text, and the end of one that is
// too long.
func plainPath(path string) string {
	path = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(`._-[]="`, c) {
			return c
		}
		return '?'
	}, path)
	if len(path) > eventPath {
		path = "..." + path[len(path)-eventPath+len("..."):]
	}
	return path
}

// reference returns the object that an Event is about; ok is false where no Event could be stored for it, because a name
// is not one that Kubernetes gives.
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

// bucket holds what may be recorded at once.
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

// eventLimit limits the Events of a namespace, and of all. The zero eventLimit is ready.
type eventLimit struct {
	skipped ratelimit.Log

	mutex      sync.Mutex
	all        bucket
	namespaces map[string]*bucket
}

// maxBuckets is how many namespaces are remembered before those whose buckets are full are forgotten.
const maxBuckets = 1000

func (l *eventLimit) allow(namespace string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.namespaces[namespace] == nil {
		l.forget(now)
		l.namespaces[namespace] = &bucket{}
	}
	// The namespace's first: what it may not record is no load on the others.
	return l.namespaces[namespace].take(namespaceRate(), now) && l.all.take(podRate(), now)
}

func (l *eventLimit) forget(now time.Time) {
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
