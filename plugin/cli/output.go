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

// output is the value of -o: wide for people, and kubectl's formats for programs.
type output struct {
	format   string
	printing *genericclioptions.PrintFlags
}

// reportUsage describes -o of a command without further columns for people.
const reportUsage = "Print a report in this format instead."

func (o *output) isWide() bool { return o.format == wide }

// isData reports whether the output is machine-readable.
func (o *output) isData() bool { return o.format != "" && !o.isWide() }

// dataFlag adds -o for data that is not a Kubernetes object. Others are the formats for people.
func (s *shared) dataFlag(c *cobra.Command, usage string, others ...string) {
	printing := genericclioptions.NewPrintFlags("")
	printing.NamePrintFlags, printing.OutputFormat = nil, &s.output.format
	formats := slices.Concat(others, printing.AllowedFormats())
	c.Flags().StringVarP(&s.output.format, "output", "o", "", usage+" One of: ("+strings.Join(formats, ", ")+").")
	must(c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, noFiles)))
	s.checkOutput(c, printing, formats)
}

// writeFlags adds the flags of a command that writes objects: --dry-run, and -o to print the resulting objects. Operation is the verb
// that kubectl prints, in the past tense.
func (s *shared) writeFlags(c *cobra.Command, operation string) {
	choiceFlag(c, &s.dryRun, "dry-run",
		`One of "none", "server" or "client": client only prints the result, server submits the request without storing it.`,
		noDryRun, "server", "client")
	printing := genericclioptions.NewPrintFlags(operation)
	printing.OutputFormat = &s.output.format
	printing.AddFlags(c)
	s.checkOutput(c, printing, printing.AllowedFormats())
}

// checkOutput makes a command fail for an invalid output format, or one that lacks its template, before it reads anything.
func (s *shared) checkOutput(c *cobra.Command, printing *genericclioptions.PrintFlags, formats []string) {
	c.PreRunE = func(*cobra.Command, []string) error {
		s.output.printing = printing
		format := s.output.format
		if format == "" || s.output.isWide() && slices.Contains(formats, wide) {
			return nil
		}
		if !slices.Contains(formats, strings.SplitN(format, "=", 2)[0]) {
			return fmt.Errorf("invalid output format %q; use one of %s", format, strings.Join(formats, ", "))
		}
		_, err := printing.ToPrinter()
		return err
	}
}

// show writes items: for people, or as a list, or the only one itself if the user has named one object, as kubectl get does.
func show[T any](s *shared, kind string, items []T, named bool, forPeople func() error) error {
	if !s.output.isData() {
		return forPeople()
	}
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
		return s.printQuoted(&list.Items[0])
	}
	return s.printQuoted(list)
}

// printObject prints an object in the requested format, without the contents of a Secret.
func (s *shared) printObject(o *unstructured.Unstructured, operation string) error {
	s.output.printing.NamePrintFlags.Operation = operation
	return s.printQuoted(source.Masked(o))
}

// printQuoted prints an object with unprintable characters escaped by the rules of the format, so that programs read the same
// values. In the output of templates, line breaks and tabs are kept, because the user's template contains them.
func (s *shared) printQuoted(object runtime.Object) error {
	printer, err := s.output.printing.ToPrinter()
	if err != nil {
		return err
	}
	asJSON, err := s.output.printing.JSONYamlPrintFlags.ToPrinter("json")
	if err != nil {
		return err
	}
	var printed, encoded bytes.Buffer
	err = printer.PrintObj(object, &printed)
	text := printed.String()
	switch format := s.output.format; {
	case format == "yaml" || format == "kyaml":
		if err := asJSON.PrintObj(object, &encoded); err != nil {
			return err
		}
		if err != nil || !printable.Is(text) || !printable.Is(encoded.String()) {
			text, err = printable.YAML(encoded.String()) // kubectl's printer fails on this text, or changes it
		}
	case format == "json" || strings.HasPrefix(format, "jsonpath-as-json"):
		text = printable.JSON(text)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.env.IOStreams.Out, text)
	return err
}

// noDryRun is the value of --dry-run that writes.
const noDryRun = "none"

// done returns the operation of a command that writes as printed, with the kind of dry run. It fails if --dry-run is invalid.
func (s *shared) done(operation string) (string, error) {
	suffix, known := map[string]string{noDryRun: "", "server": " (server dry run)", "client": " (dry run)"}[s.dryRun]
	if !known {
		return "", fmt.Errorf("invalid --dry-run=%s; use none, server or client", s.dryRun)
	}
	return operation + suffix, nil
}

func (s *shared) isClientDryRun() bool { return s.dryRun == "client" }

func (s *shared) patchOptions(manager string) metav1.PatchOptions {
	options := metav1.PatchOptions{FieldManager: manager}
	if s.dryRun == "server" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return options
}
