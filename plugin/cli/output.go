package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// dataFlag adds -o to a command that prints a table or, for programs, data that is not a Kubernetes object.
func (s *shared) dataFlag(c *cobra.Command) {
	printing := genericclioptions.NewPrintFlags("")
	printing.NamePrintFlags, printing.OutputFormat = nil, &s.format
	c.Flags().StringVarP(&s.format, "output", "o", "", "Output format. One of: (wide, "+strings.Join(printing.AllowedFormats(), ", ")+").")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if s.printing = printing; s.isData() {
			_, err = printing.ToPrinter()
		}
		return err
	}
}

// writeFlags adds the flags of a command that writes objects: --dry-run, and -o to print the resulting objects.
func (s *shared) writeFlags(c *cobra.Command) {
	choiceFlag(c, &s.dryRun, "dry-run",
		`"none" (the default), "server" or "client": client only prints the result, server submits the request without storing it.`,
		"none", "server", "client")
	printing := genericclioptions.NewPrintFlags("")
	printing.OutputFormat = &s.format
	printing.AddFlags(c)
	c.PreRunE = func(*cobra.Command, []string) error {
		s.printing = printing
		_, err := printing.ToPrinter()
		return err
	}
}

// isData reports whether the output is for programs: wide is for people, with additional columns.
func (s *shared) isData() bool { return s.format != "" && s.format != "wide" }

// apiVersion is the API version of the data.
const apiVersion = "cli.ownership-handoff.io/v1alpha1"

// show writes items: for people, or as a list, or the only one itself if the user has named one object, as kubectl get does.
func show[T any](s *shared, kind string, items []T, named bool, forPeople func() error) error {
	if !s.isData() {
		return forPeople()
	}
	text, err := json.Marshal(items)
	if err != nil {
		return err
	}
	var objects []map[string]any
	if err := utiljson.Unmarshal(text, &objects); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": kind + "List"}}
	for _, o := range objects {
		o["apiVersion"], o["kind"] = apiVersion, kind
		list.Items = append(list.Items, unstructured.Unstructured{Object: o})
	}
	if named && len(list.Items) == 1 {
		return s.printQuoted(&list.Items[0])
	}
	return s.printQuoted(list)
}

// printObject prints an object in the requested format, without the contents of a Secret. Without a format, it prints what was done to
// it, as kubectl does.
func (s *shared) printObject(o *unstructured.Unstructured, done string) error {
	s.printing.NamePrintFlags.Operation = done
	return s.printQuoted(source.Masked(o))
}

// printQuoted prints an object with unprintable characters escaped by the rules of the format, so that programs read the same
// values. In the output of templates, line breaks and tabs are kept, because the user's template contains them.
func (s *shared) printQuoted(o runtime.Object) error {
	printer, err := s.printing.ToPrinter()
	if err != nil {
		return err
	}
	var printed bytes.Buffer
	err = printer.PrintObj(o, &printed)
	text := printed.String()
	switch {
	case s.format == "yaml" || s.format == "kyaml":
		encoded, encodeErr := json.Marshal(o)
		if err != nil || !printable.Is(text+string(encoded)) { // kubectl's printer fails on some characters, and changes others
			text, err = printable.YAML(string(encoded))
		}
		err = cmp.Or(encodeErr, err)
	case s.format == "json" || strings.HasPrefix(s.format, "jsonpath-as-json"):
		text = printable.JSON(text)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.env.IOStreams.Out, text)
	return err
}

// done returns an operation, in the past tense, as kubectl prints it with the kind of dry run.
func (s *shared) done(operation string) string {
	return operation + map[string]string{"server": " (server dry run)", "client": " (dry run)"}[s.dryRun]
}
