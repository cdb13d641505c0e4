package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// apiVersion is the API version of all printed data.
const apiVersion = explain.APIVersion

// wide is the output format with additional columns.
const wide = "wide"

// outputFlags implement -o for data that is not a Kubernetes object: wide for people, and kubectl's formats for programs.
type outputFlags struct {
	format string
	// withoutWide is set if the command has no output for people that could have additional columns.
	withoutWide bool
	printing    *genericclioptions.PrintFlags
}

// add adds -o to a command, which then fails for an invalid format before it reads anything.
func (o *outputFlags) add(c *cobra.Command) {
	o.printing = genericclioptions.NewPrintFlags("")
	o.printing.NamePrintFlags, o.printing.OutputFormat = nil, &o.format
	formats, usage := o.printing.AllowedFormats(), "Print a report in this format instead."
	if !o.withoutWide {
		formats, usage = slices.Insert(formats, 0, wide), "Output format."
	}
	c.Flags().StringVarP(&o.format, "output", "o", "", usage+" One of: ("+strings.Join(formats, ", ")+").")
	must(c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, noFiles)))
	c.PreRunE = func(*cobra.Command, []string) error {
		if o.isWide() {
			return nil
		}
		return checkFormat(o.format, formats, o.printing)
	}
}

// checkFormat returns an error for an output format that is not one of those allowed, or that lacks its template.
func checkFormat(format string, allowed []string, flags *genericclioptions.PrintFlags) error {
	if format == "" {
		return nil
	}
	if !slices.Contains(allowed, strings.SplitN(format, "=", 2)[0]) {
		return fmt.Errorf("invalid output format %q; use one of %s", format, strings.Join(allowed, ", "))
	}
	_, err := flags.ToPrinter()
	return err
}

// isData reports whether the output is machine-readable.
func (o *outputFlags) isData() bool { return o.format != "" && !o.isWide() }

func (o *outputFlags) isWide() bool { return o.format == wide && !o.withoutWide }

// printData writes the items as a list, or the only one itself if the user has named one object, as kubectl get does.
func printData[T any](s *shared, o *outputFlags, kind string, items []T, named bool) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	for _, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		var o unstructured.Unstructured
		if err := o.UnmarshalJSON(text); err != nil {
			return err
		}
		list.Items = append(list.Items, o)
	}
	if named && len(list.Items) == 1 {
		return printQuoted(s.env.IOStreams.Out, o.printing, &list.Items[0])
	}
	return printQuoted(s.env.IOStreams.Out, o.printing, list)
}

// printQuoted prints an object with unprintable characters escaped by the rules of the format, so that programs read the same
// values. In the output of templates, line breaks and tabs are kept, because the user's template contains them.
func printQuoted(out io.Writer, flags *genericclioptions.PrintFlags, object runtime.Object) error {
	printer, err := flags.ToPrinter()
	if err != nil {
		return err
	}
	asJSON, err := flags.JSONYamlPrintFlags.ToPrinter("json")
	if err != nil {
		return err
	}
	format := *flags.OutputFormat
	isYAML := format == "yaml" || format == "kyaml"
	isJSON := format == "json" || strings.HasPrefix(format, "jsonpath-as-json")
	var printed, encoded bytes.Buffer
	err = printer.PrintObj(object, &printed)
	text := printed.String()
	if isYAML {
		if err := asJSON.PrintObj(object, &encoded); err != nil {
			return err
		}
	}
	switch {
	case isYAML && (err != nil || !printable.Is(text) || !printable.Is(encoded.String())):
		// kubectl's printer fails on this text, or changes it.
		text, err = printable.YAML(encoded.String())
	case isJSON:
		text = printable.JSON(text)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

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
