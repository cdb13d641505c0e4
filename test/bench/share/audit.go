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

// auditPolicy logs one line for each write, when its response is complete.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// counts are the numbers of reviews and writes in each namespace.
type counts struct {
	reviews map[string]int
	// writes counts writes by verb and resource; events counts writes of Events, which are only reported.
	writes, events map[string]map[string]int
	// updates counts the writes that update or patch an object, not a subresource.
	updates map[string]int
}

// audit is an audit log, read from the position at which it was opened.
type audit struct{ file *os.File }

func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return &audit{file}, nil
}

func (a *audit) close() { _ = a.file.Close() }

// counts returns the counts of the lines logged since the log was opened.
func (a *audit) counts() (*counts, error) {
	c := &counts{
		reviews: map[string]int{}, updates: map[string]int{},
		writes: map[string]map[string]int{}, events: map[string]map[string]int{},
	}
	lines := bufio.NewReader(a.file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // an incomplete line belongs to a write that the load did not wait for
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if err := c.add(line); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
	}
}

// add counts a line of the log, unless the write failed or is one of the load's writes to HPAs that replace metrics.
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

// print prints the writes of a namespace by verb and resource, the most frequent first.
func (c *counts) print(w io.Writer, namespace string) {
	writes := c.writes[namespace]
	fmt.Fprintf(w, "share: %s: %d reviews; %d writes, not counting %d of Events:\n",
		namespace, c.reviews[namespace], total(writes), total(c.events[namespace]))
	byCount := func(a, b string) int { return cmp.Or(cmp.Compare(writes[b], writes[a]), cmp.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(writes), byCount) {
		fmt.Fprintf(w, "  %6d  %s\n", writes[what], what)
	}
}

func (c *counts) row(namespace string) table.Row {
	writes := total(c.writes[namespace])
	row := table.Row{
		What:      "reviewed share of writes, namespace " + namespace,
		Handoff:   fmt.Sprintf("%d reviews", c.reviews[namespace]),
		Reference: fmt.Sprintf("%d writes in the audit log, %d of them update objects", writes, c.updates[namespace]),
		Ratio:     table.Ratio{Value: float64(c.reviews[namespace]) / float64(writes), Percent: true},
	}
	if namespace == withoutApplies {
		row.Target, row.Limit = table.Ratio{Value: target, Percent: true}, table.Below
	}
	return row
}
