package webhook

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// Any client that reaches the port can post a review with any content, and Events are stored in the cluster in handoff's name.
// Therefore Events are only recorded in namespaces that opted in with their own annotation and for objects outside namespaces,
// contain only fixed texts, paths and counts, and are rate-limited (LimitEvents). The recorder stores those about objects outside
// namespaces in namespace default.
const (
	// eventFields is the maximum number of fields in an Event.
	eventFields = 3
	// maxEventPath is the maximum length of a path in an Event, in bytes.
	maxEventPath = 100
)

// recordEvents records one Event for each reason among the changes of a write.
func (h *Handler) recordEvents(w ownership.Write, out outcome) {
	mode, _ := optin.ModeOf(h.Cluster.NamespaceMode(w.Namespace))
	if len(out.decided.Changes) == 0 || h.Events == nil || w.DryRun || w.Namespace != "" && mode == optin.Off {
		return
	}
	reference, ok := referenceTo(w)
	if !ok {
		return
	}
	changes := grouped(out.decided.Changes, func(c *merge.Change) string { return out.deed(c).event })
	delete(changes, "")
	for _, reason := range slices.Sorted(maps.Keys(changes)) {
		reference.FieldPath = plainPath(changes[reason][0].Field.Path.String())[1:] // client-go joins Events that only differ in their note
		h.Events.Eventf(reference, nil, corev1.EventTypeNormal, reason, "Apply", "%s", h.eventNote(w, out, changes[reason]))
	}
}

// eventNote returns the first changes, and the number of the others.
func (h *Handler) eventNote(w ownership.Write, out outcome, changes []*merge.Change) string {
	autoscaler := h.Cluster.Scaler(w.Namespace, w.Kind.Group, w.Kind.Kind, w.Name).Name
	text := func(c *merge.Change) string { return out.eventText(c, autoscaler) }
	more := func(others int) string {
		return "and " + strconv.Itoa(others) + " more (" + strconv.Itoa(len(changes)) + " fields)"
	}
	return strings.Join(firstOf(changes, eventFields, text, more), "; ")
}

// eventText is record without text that the sender of the review can choose, such as names of managers. The autoscaler is the cached one.
func (out outcome) eventText(c *merge.Change, autoscaler string) string {
	owner := ownership.FieldOwner{Kind: c.Field.Owner.Kind}
	if c.Field.Owner.By == autoscaler {
		owner.By = autoscaler
	}
	return out.sentence(c, plainPath(c.Field.Path.String()), owner)
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

// referenceTo returns the object that an Event is about; ok is false if no Event can be stored for it, because a name is not a
// valid Kubernetes name.
func referenceTo(w ownership.Write) (reference *corev1.ObjectReference, ok bool) {
	uid, _ := w.Live.At("metadata", "uid").String()
	ok = (w.Namespace == "" || len(validation.IsDNS1123Label(w.Namespace)) == 0) && len(validation.IsDNS1123Subdomain(w.Name)) == 0 &&
		(w.Kind.Group == "" || len(validation.IsDNS1123Subdomain(w.Kind.Group)) == 0) &&
		len(validation.IsDNS1035Label(w.Kind.Version)) == 0 && len(validation.IsDNS1035Label(strings.ToLower(w.Kind.Kind))) == 0 &&
		(uid == "" || len(validation.IsDNS1123Label(uid)) == 0)
	return &corev1.ObjectReference{
		APIVersion: w.Kind.GroupVersion().String(), Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name, UID: types.UID(uid),
	}, ok
}
