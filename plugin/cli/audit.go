package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/audit"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type auditOptions struct {
	shared     *shared
	subjects   inputs
	output     outputFlags
	progress   string
	failOnRisk bool
}

func (s *shared) newAudit() *cobra.Command {
	a := &auditOptions{shared: s}
	c := &cobra.Command{
		Use:   "audit [TYPE...] [-A | -f FILE]",
		Short: "Find objects that the next apply would break",
		Long: `Finds objects that work now and that the next apply of an unchanged manifest would break.

For the history of one object, see "kubectl handoff explain deployment/web .spec.replicas".

Risks:
  replicas          an autoscaler scales the object, and its manifest still sets the replicas: according to the
                    last-applied annotation, or to managedFields of a server-side apply or of a client that does not
                    record its manifest, such as Helm 3. It is a risk even if both values are equal now
  contested         two managers write the same field: a manifest declares a value and a controller has written
                    another, or two manifests set the field. What a user has changed is no risk, but a note below the table:
                    the next apply overwrites it, and an apply that drops the field removes it
  no-target         a HorizontalPodAutoscaler or another scaler, such as a ScaledObject, scales nothing: its target does not
                    exist or cannot be scaled, or its reference is invalid
  two-autoscalers   several HorizontalPodAutoscalers target one object

NEXT APPLY shows what an apply of the same manifest does. HANDOFF shows how handoff responds: "keeps 10", or why not, as "off:
would keep 10", "excluded: would keep 10" or "does not keep it". Status fields and the contents of Secrets are not shown.

Without a TYPE, the command audits all kinds with a scale subresource, but only those ReplicaSets that an autoscaler
targets. With -f, it audits files written by kubectl get deployments,hpa,namespaces -o yaml --show-managed-fields.

Risks do not change the exit code: it is 0, or 3 if something is unknown. With --fail-on-risk, it is 1 if there is a
risk, even one that handoff prevents while it runs, and 3 if an object could be one: an autoscaler has taken over its
replicas from Helm or server-side apply, so nothing shows whether the manifest sets them, and handoff does not keep them.`,
		Example: `  # Audit one namespace, or all
  kubectl handoff audit -n shop
  kubectl handoff audit -A

  # Show the managers, times and remedies of each risk
  kubectl handoff audit -n shop -o wide

  # Audit other types for contested fields
  kubectl handoff audit deployments,configmaps,services -n shop

  # Fail a pipeline if there is a risk
  kubectl handoff audit -n shop --fail-on-risk

  # Audit files, without a cluster
  kubectl get deployments,hpa -n shop -o yaml --show-managed-fields > shop.yaml
  kubectl get namespace shop -o yaml > namespace.yaml
  kubectl handoff audit -f shop.yaml -f namespace.yaml`,
		RunE:              func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
		ValidArgsFunction: a.complete,
	}
	a.subjects.addObjects(c)
	c.Flags().BoolVar(&a.failOnRisk, "fail-on-risk", false, "Exit with code 1 if there is a risk.")
	styles := []string{"auto", "plain", "none"}
	c.Flags().StringVar(&a.progress, "progress", "auto",
		`Progress on standard error. One of "auto", "plain" or "none": auto updates one line on a terminal, plain writes lines.`)
	must(c.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(styles, noFiles)))
	a.output.add(c)
	return c
}

func (a *auditOptions) run(ctx context.Context, args []string) error {
	types, err := typesOf(args)
	if err != nil {
		return err
	}
	shown, err := newProgress(a.shared.env, a.progress)
	if err != nil {
		return err
	}
	reader, gaps, err := a.shared.reader(ctx, &a.subjects)
	if err != nil {
		return err
	}
	in, err := a.shared.installation(ctx, a.subjects.offline())
	if err != nil {
		return err
	}
	namespace := ""
	if !a.subjects.offline() && !a.subjects.allNamespaces {
		if namespace, _, err = a.shared.cluster.ToRawKubeConfigLoader().Namespace(); err != nil {
			return source.Advise(err, "")
		}
	}
	survey, err := reader.Survey(ctx, a.subjects.query(types...))
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, survey, in, namespace, shown.update)
	shown.clear()
	if err != nil {
		return err
	}
	report.Gaps = append(report.Gaps, gaps...)
	if a.failOnRisk { // what could be a risk must not pass
		report.Gaps = append(report.Gaps, report.Possible...)
	}
	if a.output.isData() {
		err = printData(a.shared, &a.output, "Audit", []any{report}, true)
	} else {
		err = report.Table(a.shared.env.IOStreams.Out, a.output.isWide())
	}
	if err != nil {
		return err
	}
	err = a.shared.finish(report.Gaps)
	if a.failOnRisk && len(report.Risks) > 0 {
		return exitError(ExitNegative)
	}
	return err
}

// typesOf parses the arguments, each a comma-separated list of types.
func typesOf(args []string) (types []string, err error) {
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			if strings.Contains(word, "/") {
				return nil, fmt.Errorf("%s names an object, but audit accepts types only, such as deployments; "+
					"use kubectl handoff explain %s", word, word)
			}
			if word == "" {
				return nil, usagef("requires a type before and after each comma")
			}
			types = append(types, word)
		}
	}
	return types, nil
}

// progress shows the progress of an audit on standard error.
type progress struct {
	out io.Writer
	// begin and end surround each line. On a terminal, each line overwrites the last one, and erase removes it.
	begin, end, erase string
	every             time.Duration
	last              time.Time
}

// maxColumns limits the length of a line: a line that the terminal wraps cannot be overwritten.
const maxColumns = 79

func newProgress(env Environment, style string) (*progress, error) {
	const eraseLine = "\r\x1b[K"
	switch {
	case style == "auto" && env.Terminal:
		return &progress{out: env.IOStreams.ErrOut, begin: eraseLine, erase: eraseLine, every: 200 * time.Millisecond}, nil
	case style == "plain":
		return &progress{out: env.IOStreams.ErrOut, end: "\n", every: time.Second}, nil
	case style == "auto", style == "none":
		return &progress{out: io.Discard}, nil
	default:
		return nil, fmt.Errorf("invalid --progress=%s; use auto, plain or none", style)
	}
}

// update shows a line, unless one was shown recently.
func (p *progress) update(line string) {
	if time.Since(p.last) < p.every {
		return
	}
	p.last = time.Now()
	_, _ = io.WriteString(p.out, p.begin+line[:min(len(line), maxColumns)]+p.end)
}

// clear removes the line from the terminal, if there is one.
func (p *progress) clear() {
	if !p.last.IsZero() {
		_, _ = io.WriteString(p.out, p.erase)
	}
}
