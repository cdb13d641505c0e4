package webhook

import (
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// change is what becomes of a field of a review: the change that package merge knows, and what a review adds to it.
type change struct {
	merge.Change

	verdict  merge.Verdict
	field    merge.Field
	incoming string // the value that the writer sent, as JSON
	choice   string // what contradicts the field
	secret   bool   // no word of the value to anybody
}

// changeOf looks a field up in the decision table. Live and incoming are its values as JSON; on a create, live is the
// value that it is given.
func changeOf(path fieldpath.Path, field merge.Field, by, live, incoming string) change {
	decision := merge.Decide(field)
	c := change{verdict: decision.Verdict, field: field, incoming: incoming}
	c.Change = merge.Change{
		Path: path, Row: decision.Row, Owner: ownership.Owned{Owner: field.Owner, By: by},
		From: json.RawMessage(live), To: json.RawMessage(incoming), Verb: merge.FieldSet,
	}
	switch decision.Verdict {
	case merge.Keep:
		c.Verb, c.To = merge.FieldKept, c.From
	case merge.Clear:
		c.Verb, c.To = merge.FieldCleared, nil
	case merge.Start:
		c.From, c.To = nil, c.From
	default:
	}
	return c
}

// value returns the value that the field has in live or, on a create, is given; as JSON.
func (c change) value() string {
	of := c.From
	if c.verdict == merge.Start {
		of = c.To
	}
	text, _ := of.(json.RawMessage)
	return string(text)
}
