package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// noDryRun is the value of --dry-run that writes.
const noDryRun = "none"

// writeFlags are the flags of a command that writes objects: --dry-run and, for the objects as they are then, -o.
type writeFlags struct {
	dryRun   string
	printing *genericclioptions.PrintFlags
}

// add adds the flags to a command; operation is what it does, in the past tense as kubectl prints it.
func (w *writeFlags) add(c *cobra.Command, operation string) {
	modes := []string{noDryRun, "server", "client"}
	c.Flags().StringVar(&w.dryRun, "dry-run", noDryRun,
		`One of "none", "server" or "client": client only prints what would be sent, server sends it and has it not stored.`)
	must(c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(modes, noFiles)))
	w.printing = genericclioptions.NewPrintFlags(operation)
	w.printing.AddFlags(c)
}

// done is what an object is said to be after an operation. The error is that of a --dry-run that is not known.
func (w *writeFlags) done(operation string) (string, error) {
	suffix, known := map[string]string{noDryRun: "", "server": " (server dry run)", "client": " (dry run)"}[w.dryRun]
	if !known {
		return "", fmt.Errorf("--dry-run=%s is not known; write none, server or client", w.dryRun)
	}
	return operation + suffix, nil
}

func (w *writeFlags) isClientDryRun() bool { return w.dryRun == "client" }

func (w *writeFlags) isServerDryRun() bool { return w.dryRun == "server" }

// isForPeople says that no format for programs is asked for.
func (w *writeFlags) isForPeople() bool { return *w.printing.OutputFormat == "" }

func (w *writeFlags) patchOptions(manager string) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: manager}
	if w.isServerDryRun() {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return options
}

// say prints an object in the format that is asked for, without what a Secret holds.
func (w *writeFlags) say(out io.Writer, o runtime.Object, operation string) error {
	w.printing.NamePrintFlags.Operation = operation
	printer, err := w.printing.ToPrinter()
	if err != nil {
		return err
	}
	if object, ok := o.(*unstructured.Unstructured); ok {
		o = source.Masked(object)
	}
	asJSON, err := w.printing.JSONYamlPrintFlags.ToPrinter("json")
	if err != nil {
		return err
	}
	return printQuoted(out, *w.printing.OutputFormat, printer, asJSON, o)
}
