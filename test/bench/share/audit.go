package share

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

const auditLog = "audit.log"

// auditPolicy makes a line of each write, once it is answered.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// counts are what happened in each namespace.
type counts struct {
	reviews map[string]int
	// writes are those that count, events those that do not but are told, by what they write.
	writes, events map[string]map[string]int
	// updates are those of the writes that update a whole object.
	updates map[string]int
}

// audit is an audit log from a moment on.
type audit struct{ file *os.File }

func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return &audit{file}, nil
}

func (a *audit) close() { _ = a.file.Close() }

// counts reads what has been logged since the log was opened.
func (a *audit) counts() (*counts, error) {
	c := &counts{
		reviews: map[string]int{}, updates: map[string]int{},
		writes: map[string]map[string]int{}, events: map[string]map[string]int{},
	}
	lines := bufio.NewReader(a.file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line that is still being written is of a write that nobody waited for
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if err := c.add(line); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
	}
}

// add counts a line of the log, unless the write was refused or is the load's own stand-in for metrics.
func (c *counts) add(line []byte) error {
	var event struct {
		Verb string `json:"verb"`
		User struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			Resource, Subresource, Namespace string
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return err
	}
	if event.ResponseStatus.Code >= 400 || event.User.Username == loadUser {
		return nil
	}
	ref := event.ObjectRef
	what, into := event.Verb+" "+ref.Resource, c.writes
	if ref.Subresource != "" {
		what += "/" + ref.Subresource
	}
	if ref.Resource == "events" {
		into = c.events
	} else if ref.Subresource == "" && (event.Verb == "update" || event.Verb == "patch") {
		c.updates[ref.Namespace]++
	}
	if into[ref.Namespace] == nil {
		into[ref.Namespace] = map[string]int{}
	}
	into[ref.Namespace][what]++
	return nil
}

func total(counts map[string]int) int {
	sum := 0
	for n := range maps.Values(counts) {
		sum += n
	}
	return sum
}

// print tells what the writes of a namespace were.
func (c *counts) print(w io.Writer, namespace string) {
	writes := c.writes[namespace]
	fmt.Fprintf(w, "share: %s: %d reviews; %d writes, without %d of events:\n",
		namespace, c.reviews[namespace], total(writes), total(c.events[namespace]))
	most := func(a, b string) int { return cmp.Or(cmp.Compare(writes[b], writes[a]), cmp.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(writes), most) {
		fmt.Fprintf(w, "  %6d  %s\n", writes[what], what)
	}
}

func (c *counts) row(namespace string) table.Row {
	writes := total(c.writes[namespace])
	row := table.Row{
		What:      "share of writes that is reviewed, namespace " + namespace,
		Handoff:   fmt.Sprintf("%d reviews", c.reviews[namespace]),
		Reference: fmt.Sprintf("%d writes in the audit log, %d of them updates of objects", writes, c.updates[namespace]),
		Ratio:     table.Ratio{Value: float64(c.reviews[namespace]) / float64(writes), Percent: true},
	}
	if namespace == quiet {
		row.Target, row.Below = table.Ratio{Value: target, Percent: true}, true
	}
	return row
}
