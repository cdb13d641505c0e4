package cli

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

func (e *explainOptions) write(explanations []explain.Explanation, sentences, named bool, chosen func(ownership.Owner) bool) error {
	if e.output.isData() {
		items := make([]any, len(explanations))
		for i, explained := range explanations {
			items[i] = explained.Data(chosen)
		}
		return e.output.print(e.shared, "Explanation", items, named)
	}
	several := len(explanations) > 1
	written := 0
	for _, explained := range explanations {
		ofChosen := func(f ownership.Field) bool { return chosen(f.Owner.Kind) }
		if several && len(explained.Select(ofChosen).Fields) == 0 {
			continue
		}
		written++
		if written > 1 && (!sentences || e.output.isWide()) {
			if _, err := fmt.Fprintln(e.shared.env.IOStreams.Out); err != nil {
				return err
			}
		}
		if err := e.writeOne(explained, sentences, several, chosen); err != nil {
			return err
		}
	}
	return nil
}

func (e *explainOptions) writeOne(
	explained explain.Explanation, sentences, several bool, chosen func(ownership.Owner) bool,
) error {
	style := table.Style{Color: e.shared.env.Color, Now: e.shared.env.Now()}
	switch {
	case e.output.isWide():
		return explained.Wide(e.shared.env.IOStreams.Out, style, chosen)
	case !sentences:
		return explained.Tree(e.shared.env.IOStreams.Out, style, chosen)
	case several:
		return explained.Sentences(e.shared.env.IOStreams.Out, explained.Subject.Title()+": ", chosen)
	default:
		return explained.Sentences(e.shared.env.IOStreams.Out, "", chosen)
	}
}
