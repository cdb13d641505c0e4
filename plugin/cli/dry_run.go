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

// writeFlags are the flags of a command that writes objects: --dry-run, and -o to print the resulting objects.
type writeFlags struct {
	dryRun   string
	printing *genericclioptions.PrintFlags
}

// add adds the flags to a command; operation is the verb that kubectl prints, in the past tense.
func (w *writeFlags) add(c *cobra.Command, operation string) {
	modes := []string{noDryRun, "server", "client"}
	c.Flags().StringVar(&w.dryRun, "dry-run", noDryRun,
		`One of "none", "server" or "client": client only prints the result, server submits the request without storing it.`)
	must(c.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(modes, noFiles)))
	w.printing = genericclioptions.NewPrintFlags(operation)
	w.printing.AddFlags(c)
}

// done returns the operation as printed, with the kind of dry run. It fails if --dry-run or -o is invalid.
func (w *writeFlags) done(operation string) (string, error) {
	if err := checkFormat(*w.printing.OutputFormat, w.printing.AllowedFormats(), w.printing); err != nil {
		return "", err
	}
	suffix, known := map[string]string{noDryRun: "", "server": " (server dry run)", "client": " (dry run)"}[w.dryRun]
	if !known {
		return "", fmt.Errorf("invalid --dry-run=%s; use none, server or client", w.dryRun)
	}
	return operation + suffix, nil
}

func (w *writeFlags) isClientDryRun() bool { return w.dryRun == "client" }

// isForPeople reports whether no machine-readable format is requested.
func (w *writeFlags) isForPeople() bool { return *w.printing.OutputFormat == "" }

func (w *writeFlags) patchOptions(manager string) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: manager}
	if w.dryRun == "server" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return options
}

// printObject prints an object in the requested format, without the contents of a Secret.
func (w *writeFlags) printObject(out io.Writer, o runtime.Object, operation string) error {
	w.printing.NamePrintFlags.Operation = operation
	if object, ok := o.(*unstructured.Unstructured); ok {
		o = source.Masked(object)
	}
	return printQuoted(out, w.printing, o)
}
