package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/audit"
)

func (s *shared) newAudit() *cobra.Command {
	var style string
	var failOnRisk bool
	c := &cobra.Command{
		Use:   "audit [TYPE...] [-A | -f FILE]",
		Short: "Find objects that the next apply would break",
		Long: `Finds objects that work now and that the next apply of an unchanged manifest would break.

For the history of one object, see "kubectl handoff explain deployment/web .spec.replicas".

Risks:
  replicas          an autoscaler scales the object, and its manifest still sets the replicas: according to the
                    last-applied annotation, or to managedFields of a server-side apply or of a client that does not
                    record its manifest, such as Helm 3. It is a risk even if both values are equal now
  no-target         a HorizontalPodAutoscaler or another scaler, such as a ScaledObject, scales nothing: its target does not
                    exist or cannot be scaled, or its reference is invalid
  two-autoscalers   several HorizontalPodAutoscalers target one object

NEXT APPLY shows what an apply of the same manifest does. HANDOFF shows how handoff responds: "keeps 10", or why not, as "off:
would keep 10" or "excluded: would keep 10". Lines below the table list values that other managers have written in fields of the
manifest, which are no risk: the next apply overwrites them. The contents of Secrets are not shown.

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

  # Audit other types for values that the next apply overwrites
  kubectl handoff audit deployments,configmaps,services -n shop

  # Fail a pipeline if there is a risk
  kubectl handoff audit -n shop --fail-on-risk

  # Audit files, without a cluster
  kubectl get deployments,hpa -n shop -o yaml --show-managed-fields > shop.yaml
  kubectl get namespace shop -o yaml > namespace.yaml
  kubectl handoff audit -f shop.yaml -f namespace.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			return s.audit(c.Context(), args, style, failOnRisk)
		},
		ValidArgsFunction: s.completeTypes,
	}
	s.objectFlags(c)
	c.Flags().BoolVar(&failOnRisk, "fail-on-risk", false, "Exit with code 1 if there is a risk.")
	choiceFlag(c, &style, "progress",
		`Progress on standard error. One of "auto", "plain" or "none": auto updates one line on a terminal, plain writes lines.`,
		"auto", "plain", "none")
	s.dataFlag(c, "Output format.", wide)
	return c
}

func (s *shared) audit(ctx context.Context, args []string, style string, failOnRisk bool) error {
	types, err := typesOf(args)
	if err != nil {
		return err
	}
	update, erase, err := s.progress(style)
	if err != nil {
		return err
	}
	reader, gaps, err := s.objects(ctx)
	if err != nil {
		return err
	}
	in, err := s.installation(ctx, reader.Offline())
	if err != nil {
		return err
	}
	namespace := ""
	if !reader.Offline() && !s.allNamespaces {
		if namespace, err = s.namespace(); err != nil {
			return err
		}
	}
	survey, err := reader.Survey(ctx, types...)
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, survey, in, namespace, update)
	erase()
	if err != nil {
		return err
	}
	report.Gaps = append(report.Gaps, gaps...)
	if failOnRisk { // what could be a risk must not pass
		report.Gaps = append(report.Gaps, report.Possible...)
	}
	table := func() error { return report.Table(s.env.IOStreams.Out, s.output.isWide()) }
	if err := show(s, "Audit", []any{report}, true, table); err != nil {
		return err
	}
	err = s.finish(report.Gaps)
	if failOnRisk && len(report.Risks) > 0 {
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

// maxColumns limits the length of a line: a line that the terminal wraps cannot be overwritten.
const maxColumns = 79

// progress returns functions that show a line on standard error, unless one was shown recently, and that erase it. On a terminal, each
// line overwrites the last one.
func (s *shared) progress(style string) (update func(line string), erase func(), err error) {
	begin, end, every := "", "\n", time.Second
	switch {
	case style == "auto" && s.env.Terminal:
		begin, end, every = "\r\x1b[K", "", 200*time.Millisecond
	case style == "auto", style == "none":
		return func(string) {}, func() {}, nil
	case style != "plain":
		return nil, nil, fmt.Errorf("invalid --progress=%s; use auto, plain or none", style)
	}
	out, last := s.env.IOStreams.ErrOut, time.Time{}
	update = func(line string) {
		if time.Since(last) >= every {
			last = time.Now()
			_, _ = io.WriteString(out, begin+line[:min(len(line), maxColumns)]+end)
		}
	}
	erase = func() {
		if !last.IsZero() {
			_, _ = io.WriteString(out, begin)
		}
	}
	return update, erase, nil
}
