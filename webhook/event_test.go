package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// forged is text that an attacker would like to place in the cluster.
const forged = "your cluster expires today, call 555"

// TestEventsContainNoTextFromTheReview verifies that a forged review makes no Event outside of namespaces that have
// opted in, and that its text is in none.
func TestEventsContainNoTextFromTheReview(t *testing.T) {
	row1 := update(csa, scaledBy7(), applied3())
	labeled := update(csa, scaledBy7(), applied3().inMode("enforce")).body()
	outside := strings.ReplaceAll(labeled, `"namespace":"shop"`, `"namespace":""`)
	for sentence, c := range map[string]struct {
		body   string
		modes  map[string]string
		events int
	}{
		"a namespace that has opted in":       {row1.body(), map[string]string{"shop": "enforce"}, 1},
		"a namespace under warn":              {row1.body(), map[string]string{"shop": "warn"}, 1},
		"a namespace under an unknown mode":   {row1.body(), map[string]string{"shop": "enforced"}, 1},
		"only the object has opted in":        {labeled, nil, 0},
		"the namespace has opted out":         {labeled, map[string]string{"shop": "off"}, 0},
		"an object outside namespaces":        {outside, nil, 1},
		"only another namespace has opted in": {labeled, map[string]string{"bar": "enforce"}, 0},
		"a name that is a text":               {strings.Replace(row1.body(), `"name":"web"`, `"name":"`+forged+`"`, 1), map[string]string{"shop": "enforce"}, 0},
		"a kind that is a text":               {strings.Replace(row1.body(), `"kind":"Deployment"`, `"kind":"`+forged+`"`, 1), map[string]string{"shop": "enforce"}, 0},
		"a version that is a text":            {strings.Replace(row1.body(), `"version":"v1"`, `"version":"`+forged+`"`, 1), map[string]string{"shop": "enforce"}, 0},
		"a uid that is a text":                {strings.ReplaceAll(row1.body(), "object-uid", forged), map[string]string{"shop": "enforce"}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			cluster := enforced()
			cluster.modes = c.modes
			s := newServer(t, cluster)
			s.answer(t, c.body)
			expect.Equal(t, "number of Events", c.events, len(s.events))
			if strings.Contains(fmt.Sprint(s.events), forged) {
				t.Errorf("the text is recorded: %v", s.events)
			}
		})
	}
}

// configMap is a review in which an apply drops fields that a manager has set.
func configMap(manager string, keys ...string) string {
	data, set := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		data[i], set[i] = fmt.Sprintf(`%q:"V"`, key), fmt.Sprintf("%q:{}", "f:"+key)
	}
	return grown{
		was: `"data":{` + strings.Join(data, ",") + "}", is: `"data":{}`,
		before: []string{entry(manager, "Update", early, `{"f:data":{`+strings.Join(set, ",")+`}}`, "")},
	}.body()
}

// TestOneEventReportsTheKeptFields verifies that an Event is neither one for each field nor about the first alone, and that what a
// review calls its managers and keys cannot be read as text of handoff's.
func TestOneEventReportsTheKeptFields(t *testing.T) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key%03d", i)
	}
	for sentence, c := range map[string]struct {
		manager string
		keys    []string
		want    string
	}{
		"one field": {"kubectl-edit", keys[:1], "kept .data.key000: owner Imperative"},
		"three fields": {
			"kubectl-edit", keys[:3], "kept .data.key000: owner Imperative; kept .data.key001: owner Imperative; kept .data.key002: owner Imperative",
		},
		"1,000 fields": {
			"kubectl-edit", keys, "kept .data.key000: owner Imperative; kept .data.key001: owner Imperative; kept .data.key002: owner Imperative; " +
				"and 997 more (1000 fields)",
		},
		"names that are text": {
			forged, []string{"a b!c\u202ed;e", strings.Repeat("x", 300)},
			"kept .data.a?b?c?d?e: owner Imperative; kept ..." + strings.Repeat("x", 97) + ": owner Imperative",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, enforced())
			s.answer(t, configMap(c.manager, c.keys...))
			expect.Equal(t, "events", []string{c.want}, s.notes())
		})
	}
}

// TestEventsAreRateLimited verifies that many reviews, all about another object, and many scalers are few Events, and that
// a namespace leaves others theirs.
func TestEventsAreRateLimited(t *testing.T) {
	cluster := enforced()
	cluster.modes["other"] = "enforce"
	s := newServer(t, cluster)
	body := update(csa, scaledBy7(), applied3()).body()
	const sent = 1000
	for i := range sent {
		s.answer(t, strings.Replace(body, `"name":"web"`, fmt.Sprintf(`"name":"web-%d"`, i), 1))
	}
	for range sent { // the limit of Events on scalers is the same
		s.Events.Eventf(&corev1.ObjectReference{Namespace: "shop", Kind: "ScaledObject"}, nil, corev1.EventTypeWarning, "NoScaleTarget", "Scale", "")
	}
	recorded := len(s.events)
	if recorded == 0 || recorded > sent/2 {
		t.Errorf("%d reviews and scalers make %d events", sent, recorded)
	}
	s.answer(t, strings.Replace(body, `"namespace":"shop"`, `"namespace":"other"`, 1))
	if len(s.events) <= recorded {
		t.Error("another namespace is limited as well")
	}
	if !strings.Contains(s.logged(), "Events are rate-limited") {
		t.Error("the log does not say so")
	}
}
