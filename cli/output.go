package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// wide is the output format that has more to read.
const wide = "wide"

// outputFlags are -o for what is no object of Kubernetes: for people, wide, and the formats of kubectl for data.
type outputFlags struct {
	format string
	data   *genericclioptions.JSONYamlPrintFlags
	path   *genericclioptions.KubeTemplatePrintFlags
}

func (o *outputFlags) add(c *cobra.Command) error {
	o.data, o.path = genericclioptions.NewJSONYamlPrintFlags(), genericclioptions.NewKubeTemplatePrintFlags()
	c.Flags().StringVarP(&o.format, "output", "o", "", "Output format. One of: ("+strings.Join(o.formats(), ", ")+").")
	return c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats(), noFiles))
}

func (o *outputFlags) formats() []string {
	return slices.Concat([]string{wide}, o.data.AllowedFormats(), o.path.AllowedFormats())
}

// isData says whether the output is for programs.
func (o *outputFlags) isData() bool { return o.format != "" && !o.isWide() }

func (o *outputFlags) isWide() bool { return o.format == wide }

// check refuses a format that is not known, before anything is read.
func (o *outputFlags) check() error {
	if o.isData() && !slices.Contains(o.formats(), strings.SplitN(o.format, "=", 2)[0]) {
		return o.unknownFormat()
	}
	return nil
}

func (o *outputFlags) unknownFormat() error {
	return fmt.Errorf("output format %q is not known; write one of %s", o.format, strings.Join(o.formats(), ", "))
}

// print writes data: an item as it is, several as a list of them.
func (o *outputFlags) print(s *shared, kind string, items []any, alone bool) error {
	printer, err := o.data.ToPrinter(o.format)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		printer, err = o.path.ToPrinter(o.format)
	}
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return o.unknownFormat()
	}
	if err != nil {
		return err
	}
	var object runtime.Object
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	object = list
	for _, item := range items {
		o, err := unstructuredOf(item)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *o)
	}
	if alone && len(list.Items) == 1 {
		object = &list.Items[0]
	}
	return printer.PrintObj(object, s.Out)
}

func unstructuredOf(item any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return o, nil
}
