package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/plugin/explain"
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

func (o *outputFlags) add(c *cobra.Command) error {
	o.printing = genericclioptions.NewPrintFlags("")
	o.printing.NamePrintFlags, o.printing.OutputFormat = nil, &o.format
	usage := "Output format."
	if o.withoutWide {
		usage = "Print a report in this format instead."
	}
	c.Flags().StringVarP(&o.format, "output", "o", "", usage+" One of: ("+strings.Join(o.formats(), ", ")+").")
	return c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats(), noFiles))
}

func (o *outputFlags) formats() []string {
	if o.withoutWide {
		return o.printing.AllowedFormats()
	}
	return slices.Insert(o.printing.AllowedFormats(), 0, wide)
}

// isData reports whether the output is machine-readable.
func (o *outputFlags) isData() bool { return o.format != "" && !o.isWide() }

func (o *outputFlags) isWide() bool { return o.format == wide && !o.withoutWide }

// check returns an error for an invalid format, before anything is read.
func (o *outputFlags) check() error {
	if o.isData() && !slices.Contains(o.formats(), strings.SplitN(o.format, "=", 2)[0]) {
		return fmt.Errorf("invalid output format %q; use one of %s", o.format, strings.Join(o.formats(), ", "))
	}
	return nil
}

// print writes the items as a list, or the only one itself if the user has named one object, as kubectl get does.
func (o *outputFlags) print(s *shared, kind string, items []any, named bool) error {
	printer, err := o.printing.ToPrinter()
	if err != nil {
		return err
	}
	asJSON, err := o.printing.JSONYamlPrintFlags.ToPrinter("json")
	if err != nil {
		return err
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
	var object runtime.Object = list
	if named && len(list.Items) == 1 {
		object = &list.Items[0]
	}
	return printQuoted(s.env.IOStreams.Out, o.format, printer, asJSON, object)
}

// printQuoted prints an object with unprintable characters escaped by the rules of the format, so that programs read the same
// values. In the output of templates, line breaks and tabs are kept, because the user's template contains them.
func printQuoted(out io.Writer, format string, printer, asJSON printers.ResourcePrinter, object runtime.Object) error {
	isYAML := format == "yaml" || format == "kyaml"
	isJSON := format == "json" || strings.HasPrefix(format, "jsonpath-as-json")
	var printed, encoded bytes.Buffer
	err := printer.PrintObj(object, &printed)
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
