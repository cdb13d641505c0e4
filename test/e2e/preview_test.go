package e2e_test

import (
	"os"
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
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/preview"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// previewed is what kubectl handoff preview says of an apply of one object.
type previewed struct {
	preview.Preview

	err error
}

// preview previews an apply of a manifest of one object from standard input. It returns nil for any other command.
func (n *namespace) preview(stdin string, args []string) *previewed {
	n.Helper()
	return n.previewAs(cluster.Plane.Kubeconfig, stdin, args)
}

func (n *namespace) previewAs(kubeconfig, stdin string, args []string) *previewed {
	n.Helper()
	if args[0] != "apply" || stdin == "" || n.silent {
		return nil
	}
	options := preview.Options{Managers: config.Default().Managers(), Validate: "Strict"}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--server-side":
			options.ServerSide = true
		case "--force-conflicts":
			options.ForceConflicts = true
		case "--field-manager":
			options.FieldManager = value
		}
	}
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig, *flags.Namespace = kubeconfig, n.name
	*flags.CacheDir = filepath.Join(cluster.Plane.Dir, "cache") // another control plane may have used the same port before
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst, c.WarningHandler = -1, 0, rest.NoWarnings{}
		return c
	}
	reader := source.Reader{Cluster: flags, In: strings.NewReader(stdin), Configuration: config.Default()}
	manifests, err := reader.Manifests(n.Context(), resource.FilenameOptions{Filenames: []string{"-"}})
	if err != nil {
		n.Fatal(err)
	}
	if len(manifests) != 1 {
		return nil
	}
	live, err := reader.Live(n.Context())
	if err != nil {
		n.Fatal(err)
	}
	a, err := live.Application(n.Context(), manifests[0])
	if err != nil {
		n.Fatal(err)
	}
	restConfig, err := flags.ToRESTConfig()
	if err == nil {
		options.Installation, err = installation.Of(n.Context(), restConfig)
	}
	if err != nil {
		n.Fatal(err)
	}
	p, err := preview.Of(n.Context(), a, options)
	return &previewed{p, err}
}

// compared compares an apply with its preview: the object in the response, which no controller has changed yet.
func (n *namespace) compared(p *previewed, r result) {
	n.Helper()
	cluster.previewed.Add(1)
	refused := p.err != nil || p.Refused != "" && !p.Acts
	if refused != (r.err != nil) {
		n.Errorf("preview: rejected %v, %s, %v; apply: %v", refused, p.Refused, p.err, r.err)
	}
	if refused || r.err != nil || !strings.HasPrefix(r.stdout, "{\n") { // another output
		return
	}
	want := p.Without
	if p.Acts {
		want = p.With
	}
	if diff := cmp.Diff(n.applied(p, []byte(r.stdout)), n.applied(p, want)); diff != "" {
		n.Errorf("%s, keeps %v, acts %v (-applied +previewed):\n%s", p.Subject, p.Keeps(), p.Acts, diff)
	}
}

// applied returns an object without the fields that the API server and its controllers set.
func (n *namespace) applied(p *previewed, text []byte) map[string]any {
	n.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		n.Fatal(err, string(text))
	}
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	annotations := o.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	if len(p.Subject.Gaps) > 0 { // kubectl migrates the managedFields of client-side applies, including those of last-applied
		delete(annotations, ownership.LastAppliedAnnotation)
	}
	o.SetAnnotations(annotations)
	if len(annotations) == 0 {
		o.SetAnnotations(nil)
	}
	delete(o.Object, "status")
	return o.Object
}

// TestPreviewDetectsWhetherTheWebhookActs verifies that a preview reports whether the webhook keeps fields.
func TestPreviewDetectsWhetherTheWebhookActs(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t)
	apply := []string{"apply", "-f", "-"}
	for mode, want := range map[string]bool{"enforce": true, "warn": false, "off": false} {
		n.kubectl("label", "--overwrite", "deployment", "web", ownership.ModeLabel+"="+mode)
		f := n.preview(deployment("3", "app:2"), apply)
		if f.err != nil {
			t.Fatal(f.err)
		}
		if p := f; !p.Keeps() || string(p.Mode) != mode || p.Acts != want {
			t.Errorf("%s: keeps %v, mode %s, acts %v", mode, p.Keeps(), p.Mode, p.Acts)
		}
	}
	n.kubectl("label", "deployment", "web", ownership.ModeLabel+"-")
	n.kubectl("label", "namespace", n.name, "ownership-handoff.io/system=")
	said := func() string {
		var text strings.Builder
		if f := n.preview(deployment("3", "app:2"), apply); f.err != nil {
			t.Fatal(f.err)
		} else if err := f.Write(&text, table.Style{}, false); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	const want = "handoff is enabled here, but WITHOUT HANDOFF applies: the namespaceSelector of "
	n.eventually("a preview says that the namespace is excluded", func() bool { return strings.Contains(said(), want) })
}

// policy is examples/policy/objects.yaml, bound to one namespace, in which a team may apply Deployments.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: "{name}"}
spec:
  policyName: handoff-objects
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "{name}"}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: team, namespace: "{name}"}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, create, patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: "{name}"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: team}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{name}"}]
`

// TestPreviewWhereAPolicyRefusesTheLabel verifies that a preview does not take the error about its own label for that of the apply.
func TestPreviewWhereAPolicyRefusesTheLabel(t *testing.T) {
	t.Parallel()
	localOnly(t)
	n := newAutoscaled(t)
	n.silent = true // the policy refuses the label of the previews of other tests' users too
	objects, err := os.ReadFile("../../examples/policy/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	withoutBinding := strings.Split(string(objects), "---\n")[0]
	n.apply(withoutBinding + "---" + strings.ReplaceAll(policy, "{name}", n.name))
	t.Cleanup(func() {
		n.run("", "delete", "validatingadmissionpolicy", "handoff-objects")
		n.run("", "delete", "validatingadmissionpolicybinding", n.name)
	})
	team, err := cluster.Plane.AddUser(n.name)
	if err != nil {
		t.Fatal(err)
	}
	n.eventually("the policy refuses the label", func() bool {
		r := n.run("", "--kubeconfig", team, "label", "deployment", "web", ownership.ModeLabel+"=off", "--dry-run=server")
		return strings.Contains(r.stderr, "you may not write handoff's label")
	})
	n.silent = false
	unknown := func(p *previewed) bool {
		return slices.ContainsFunc(p.Subject.Gaps, func(gap string) bool { return strings.Contains(gap, "unknown what the apply does without handoff") })
	}
	apply := []string{"apply", "-f", "-"}
	for mode, acts := range map[string]bool{"enforce": true, "off": false} {
		n.kubectl("annotate", "--overwrite", "namespace", n.name, ownership.ModeAnnotation+"="+mode)
		n.eventually("mode "+mode, func() bool {
			f := n.previewAs(team, deployment("3", "app:2"), apply)
			return f.err == nil && f.Acts == acts
		})
		f := n.previewAs(team, deployment("3", "app:2"), apply)
		if f.err != nil {
			t.Fatal(f.err)
		}
		if p := f; !p.Keeps() || p.Refused != "" || unknown(p) != acts || (p.Without == nil) != acts || acts && len(p.Warnings) == 0 {
			t.Errorf("%s: keeps %v, refused %q, gaps %v, warnings %v", mode, p.Keeps(), p.Refused, p.Subject.Gaps, p.Warnings)
		}
	}
}
