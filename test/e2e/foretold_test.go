package e2e_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/preview"
	"github.com/ownership-handoff/handoff/source"
)

// foretold is what kubectl handoff preview says of an apply before it is made.
type foretold struct {
	*namespace
	previews []preview.Preview
	err      error
}

// foretell foretells an apply of a manifest from the standard input; nil for any other command.
func (n *namespace) foretell(stdin string, args []string) *foretold {
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
	*flags.CacheDir = filepath.Join(cluster.Plane.Dir, "cache") // of this plane: another one may have had its port
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst, c.WarningHandler = -1, 0, rest.NoWarnings{}
		return c
	}
	reader := source.Reader{Cluster: flags, In: strings.NewReader(stdin), Configuration: configuration}
	f := &foretold{namespace: n}
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

// check compares what was foretold with what an apply has done.
func (f *foretold) check(r result, args []string) {
	f.Helper()
	cluster.foretold.Add(1)
	refuses := func(p preview.Preview) bool { return p.Without == nil && p.Mode != ownership.ModeEnforce }
	refused := f.err != nil || slices.ContainsFunc(f.previews, refuses)
	if refused || r.err != nil {
		if refused != (r.err != nil) {
			f.Errorf("foretold: refused %v, %v; the apply: %v", refused, f.err, r.err)
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
			f.Errorf("%s: foretold: %s; the apply has succeeded", p, p.Refused)
			continue
		}
		got := f.run("", "get", p.Kind.Kind+"."+p.Kind.Version+"."+p.Kind.Group, p.Name, "-o", "json", "--show-managed-fields")
		if got.err != nil {
			f.Errorf("%s: %v", p, got.stderr)
			continue
		}
		done, said := f.applied(p, []byte(got.stdout)), f.applied(p, want)
		if diff := cmp.Diff(done, said); diff != "" {
			f.Errorf("%s, keeps %v, tried %v, acts %v (-applied +foretold):\n%s", p, p.Keeps(), p.Tried, p.Acts, diff)
		}
	}
}

// applied is an object without what the API server and its controllers write on their own.
func (f *foretold) applied(p *preview.Preview, text []byte) map[string]any {
	f.Helper()
	var o map[string]any
	if uid := regexp.MustCompile(`"uid": ?"([^"]+)"`).FindSubmatch(text); uid != nil {
		text = bytes.ReplaceAll(text, uid[1], []byte("UID")) // a Job has it in its labels
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		f.Fatal(err, string(text))
	}
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(o, "metadata", name)
	}
	if p.Context.Autoscaler != "" && p.Mode != ownership.ModeEnforce {
		unstructured.RemoveNestedField(o, "spec", "replicas") // the autoscaler may have been quick to set it again
	}
	if len(p.Gaps) > 0 { // kubectl moves the claims of client-side applies, the one on last-applied with them
		unstructured.RemoveNestedField(o, "metadata", "annotations", ownership.LastAppliedAnnotation)
	}
	unstructured.RemoveNestedField(o, "metadata", "annotations", "deployment.kubernetes.io/revision")
	if annotations, _, err := unstructured.NestedMap(o, "metadata", "annotations"); err == nil && len(annotations) == 0 {
		unstructured.RemoveNestedField(o, "metadata", "annotations")
	}
	delete(o, "status")
	switch o["kind"] {
	case "Service":
		withoutAllocated(o)
	case "MutatingWebhookConfiguration": // the webhook under test puts its authority in
		hooks, _, _ := unstructured.NestedSlice(o, "webhooks")
		for _, hook := range hooks {
			if hook, ok := hook.(map[string]any); ok {
				unstructured.RemoveNestedField(hook, "clientConfig", "caBundle")
			}
		}
		_ = unstructured.SetNestedSlice(o, hooks, "webhooks")
	}
	return o
}

// withoutAllocated takes out what the API server draws by lot.
func withoutAllocated(service map[string]any) {
	for _, name := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if ip, _, _ := unstructured.NestedString(service, "spec", name); ip != "None" && ip != "" || name != "clusterIP" {
			unstructured.RemoveNestedField(service, "spec", name)
		}
	}
	ports, _, _ := unstructured.NestedSlice(service, "spec", "ports")
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	_ = unstructured.SetNestedSlice(service, ports, "spec", "ports")
}
