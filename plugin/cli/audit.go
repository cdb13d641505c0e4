package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ownership-handoff/handoff/plugin/audit"
	"github.com/ownership-handoff/handoff/plugin/source"
)

type auditOptions struct {
	*shared
	subjectFlags
	outputFlags
	progress   string
	failOnRisk bool
}

func (s *shared) newAudit() *cobra.Command {
	a := &auditOptions{shared: s}
	c := &cobra.Command{
		Use:   "audit [TYPE...] [-A | -f FILE]",
		Short: "Find what would go wrong at the next apply",
		Long: `Finds the time bombs of a cluster: what works now, and will not when somebody applies a manifest that did not change.

Why did the replicas come back? A manifest says replicas: 3, and an autoscaler has made them 10. Whoever applies that
manifest again, for whatever reason, sets 3: the manifest still has a say in the field. And who takes replicas out of
the manifest, as the documentation advises, gets 1, for kubectl apply deletes what was in the manifest that was
applied last. Both are the risk "replicas" here, before they happen; "kubectl handoff explain deployment/web
.spec.replicas" tells the story of one object.

Risks:
  replicas          an autoscaler sizes the object, and its manifest still sets the size: by the last-applied
                    annotation, as a server-side applier's claim, or as a claim of a client that records no
                    manifest, as Helm 3. It is one even where both agree now
  contested         two fight over fields: a manifest says one thing and a controller has written another, or two
                    manifests set the same. What a person has changed is no fight: see kubectl diff
  no-target         a HorizontalPodAutoscaler scales nothing: its target is not there, or cannot be scaled
  two-autoscalers   several HorizontalPodAutoscalers target one object

NEXT APPLY is what an apply of the same manifest does, and HANDOFF what handoff does about that in the mode that the
namespace, or the object, is in: "keeps 10", "off: would keep 10", "lets it through". It works where the webhook is
installed. Status fields are left out, and what a Secret holds is not shown.

Without a TYPE, all kinds with a scale subresource are looked at; of ReplicaSets those that an autoscaler targets.
With -f, files are audited, which kubectl get deployments,hpa,namespaces -o yaml --show-managed-fields writes.

Risks do not change the exit code: it is 0, or 3 where something is not known. With --fail-on-risk it is 1 where there
is a risk, be it one that handoff keeps off as long as it runs.`,
		Example: `  # the time bombs of a namespace, and of all
  kubectl handoff audit -n shop
  kubectl handoff audit -A

  # who is involved, since when, and what to do about each
  kubectl handoff audit -n shop -o wide

  # also what others fight over
  kubectl handoff audit deployments,configmaps,services -n shop

  # in a pipeline
  kubectl handoff audit -n shop --fail-on-risk

  # without a cluster
  kubectl get deployments,hpa -n shop -o yaml --show-managed-fields > shop.yaml
  kubectl get namespace shop -o yaml > namespace.yaml
  kubectl handoff audit -f shop.yaml -f namespace.yaml`,
		RunE:              func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
		ValidArgsFunction: a.complete,
	}
	a.subjectFlags.add(c)
	c.Flags().BoolVar(&a.failOnRisk, "fail-on-risk", false, "End with exit code 1 where there is a risk.")
	styles := []string{"auto", "plain", "none"}
	c.Flags().StringVar(&a.progress, "progress", "auto",
		`One of "auto", "plain" or "none": auto shows on a terminal how far it is, plain writes lines, both on standard error.`)
	must(c.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(styles, noFiles)))
	must(a.outputFlags.add(c))
	return c
}

func (a *auditOptions) run(ctx context.Context, args []string) error {
	if err := a.check(); err != nil {
		return err
	}
	types, err := typesOf(args)
	if err != nil {
		return err
	}
	shown, err := newProgress(a.Environment, a.progress)
	if err != nil {
		return err
	}
	reader, err := a.reader(&a.subjectFlags)
	if err != nil {
		return err
	}
	survey, err := reader.Survey(ctx, source.Query{
		Files: a.filenames(), Objects: types, Selector: a.selector, AllNamespaces: a.allNamespaces,
	})
	if err != nil {
		return err
	}
	report, err := audit.Run(ctx, survey, shown.tell)
	shown.end()
	if err != nil {
		return err
	}
	if err := a.write(report); err != nil {
		return err
	}
	err = finish(a.ErrOut, report.Gaps)
	if a.failOnRisk && len(report.Risks) > 0 {
		return answer(ExitNo)
	}
	return err
}

func (a *auditOptions) write(report *audit.Report) error {
	if a.isData() {
		return a.print(a.shared, "Audit", []any{report.Data()}, true)
	}
	return report.Table(a.Out, a.isWide())
}

// typesOf reads the arguments, each of which is types with commas between them.
func typesOf(args []string) (types []string, err error) {
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			if strings.Contains(word, "/") {
				return nil, fmt.Errorf("%s names an object, and audit takes types, such as deployments; "+
					"see kubectl handoff explain %s", word, word)
			}
			if word == "" {
				return nil, errors.New("requires a type before and after each comma")
			}
			types = append(types, word)
		}
	}
	return types, nil
}
