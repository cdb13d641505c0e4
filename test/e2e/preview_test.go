package e2e_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/preview"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// previewed contains the results of kubectl handoff preview for an apply.
type previewed struct {
	*namespace
	previews []preview.Preview
	err      error
}

// preview previews an apply of a manifest from standard input. It returns nil for any other command.
func (n *namespace) preview(stdin string, args []string) *previewed {
	n.Helper()
	if args[0] != "apply" || stdin == "" || !slices.Contains(args, "-f") || n.silent {
		return nil
	}
	configuration := config.Default()
	rules, err := configuration.Rules()
	if err != nil {
		n.Fatal(err)
	}
	options := preview.Options{Managers: configuration.Managers(), Rules: rules, Validate: "Strict"}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--server-side":
			options.ServerSide = true
		case "--force-conflicts":
			options.ForceConflicts = true
		case "--field-manager":
			options.FieldManager = value
		case "--validate":
			options.Validate = map[string]string{"false": "Ignore"}[value]
		}
	}
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig, *flags.Namespace = cluster.Plane.Kubeconfig, n.name
	*flags.CacheDir = filepath.Join(cluster.Plane.Dir, "cache") // another control plane may have used the same port before
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst, c.WarningHandler = -1, 0, rest.NoWarnings{}
		return c
	}
	reader := source.Reader{Cluster: flags, In: strings.NewReader(stdin), Configuration: configuration}
	f := &previewed{namespace: n}
	applications, gaps, err := reader.ReadApplications(n.Context(), source.Query{Files: resource.FilenameOptions{Filenames: []string{"-"}}}, resource.FilenameOptions{})
	if err != nil || len(gaps) > 0 {
		n.Fatal(err, gaps)
	}
	for _, a := range applications {
		p, err := preview.Of(n.Context(), a, options)
		if err != nil {
			f.err = err
		}
		f.previews = append(f.previews, p)
	}
	return f
}

// check compares the preview with the result of the apply.
func (f *previewed) check(r result, args []string) {
	f.Helper()
	cluster.previewed.Add(1)
	refuses := func(p preview.Preview) bool { return p.Without == nil && p.Mode != ownership.ModeEnforce }
	refused := f.err != nil || slices.ContainsFunc(f.previews, refuses)
	if refused || r.err != nil {
		if refused != (r.err != nil) {
			f.Errorf("preview: rejected %v, %v; apply: %v", refused, f.err, r.err)
		}
		return
	}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--dry-run") }) {
		return
	}
	for i := range f.previews {
		p := &f.previews[i]
		want := p.Without
		if p.Mode == ownership.ModeEnforce {
			want = p.With
		}
		if want == nil {
			f.Errorf("%s: preview: %s; the apply succeeded", p.Subject, p.Refused)
			continue
		}
		got := f.run("", "get", p.Subject.Kind.Kind+"."+p.Subject.Kind.Version+"."+p.Subject.Kind.Group, p.Subject.Name, "-o", "json", "--show-managed-fields")
		if got.err != nil {
			f.Errorf("%s: %v", p.Subject, got.stderr)
			continue
		}
		done, said := f.applied(p, []byte(got.stdout)), f.applied(p, want)
		if f.scaledSince(p, []byte(got.stdout)) {
			unstructured.RemoveNestedField(done, "spec", "replicas")
			unstructured.RemoveNestedField(said, "spec", "replicas")
		}
		if diff := cmp.Diff(done, said); diff != "" {
			f.Errorf("%s, keeps %v, tried %v, acts %v (-applied +previewed):\n%s", p.Subject, p.Keeps(), p.Tried, p.Acts, diff)
		}
	}
}

// TestPreviewDetectsWhetherTheWebhookActs verifies that a preview reports whether the webhook keeps fields.
func TestPreviewDetectsWhetherTheWebhookActs(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	apply := []string{"apply", "-f", "-"}
	for mode, want := range map[string]struct{ tried, acts bool }{"enforce": {true, true}, "warn": {}, "off": {}} {
		n.kubectl("label", "--overwrite", "deployment", "web", ownership.ModeLabel+"="+mode)
		f := n.preview(deployment("3", "app:2"), apply)
		if f.err != nil {
			t.Fatal(f.err)
		}
		if p := f.previews[0]; !p.Keeps() || string(p.Mode) != mode || p.Tried != want.tried || p.Acts != want.acts {
			t.Errorf("%s: keeps %v, mode %s, tried %v, acts %v", mode, p.Keeps(), p.Mode, p.Tried, p.Acts)
		}
	}
}
