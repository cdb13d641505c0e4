package cluster

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestWhatAWatchConfirms has what can happen until a watch ends, after which it counts as up to date, or as old as it was at its start.
func TestWhatAWatchConfirms(t *testing.T) {
	object := &metav1.PartialObjectMetadata{}
	last := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for sentence, c := range map[string]struct {
		streaming bool
		send      func(w *watch.FakeWatcher)
		want      bool
	}{
		"an event":                            {false, func(w *watch.FakeWatcher) { w.Add(object) }, true},
		"the API server ends it":              {false, func(*watch.FakeWatcher) {}, true},
		"an error, as of a dead connection":   {false, func(w *watch.FakeWatcher) { w.Error(&metav1.Status{}) }, false},
		"its version has expired":             {false, func(w *watch.FakeWatcher) { w.Error(&metav1.Status{Reason: metav1.StatusReasonExpired}) }, false},
		"a part of the initial objects":       {true, func(w *watch.FakeWatcher) { w.Add(object) }, false},
		"the initial objects and their end":   {true, func(w *watch.FakeWatcher) { w.Add(object); w.Action(watch.Bookmark, last) }, true},
		"the end of a stream without objects": {true, func(*watch.FakeWatcher) {}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				r, w := &renewal{freshness: &freshness{last: started}}, watch.NewFake()
				go func() {
					time.Sleep(watchFor)
					c.send(w)
					w.Stop()
				}()
				for e := range r.follow(w, func() {}, c.streaming).ResultChan() {
					expect.Equal(t, "client-go reads all objects again", strings.Contains(sentence, "expired"), e.Type == watch.Error)
				}
				confirmed, _ := r.freshness.read()
				expect.Equal(t, "confirmed", c.want, confirmed.After(started))
			})
		})
	}
}
