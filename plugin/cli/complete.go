package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"

	"github.com/ownership-handoff/handoff/plugin/explain"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

func (s *shared) completeClusterFlags(root *cobra.Command) {
	must(root.RegisterFlagCompletionFunc("namespace", s.completeNamespaces))
	contexts := func(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		raw, err := s.cluster.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for name := range raw.Contexts {
			names = append(names, name)
		}
		return withPrefix(names, prefix), noFiles
	}
	must(root.RegisterFlagCompletionFunc("context", contexts))
}

// completeNamespaces suggests namespaces that the arguments do not contain yet.
func (s *shared) completeNamespaces(
	c *cobra.Command, args []string, prefix string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	namespaces, err := s.namespaces()
	if err != nil {
		return nil, noFiles
	}
	list, err := namespaces.List(contextOf(c), metav1.ListOptions{})
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for i := range list.Items {
		if name := list.Items[i].GetName(); !slices.Contains(args, name) {
			names = append(names, name)
		}
	}
	return withPrefix(names, prefix), noFiles
}

// complete suggests types, then names, then fields.
func (e *explainOptions) complete(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(prefix, "/")
	switch {
	case len(args) > 0 || e.subjects.offline():
		if len(args) == 1 && !strings.Contains(args[0], "/") && !strings.HasPrefix(prefix, ".") && !e.subjects.offline() {
			return withPrefix(e.names(args[0]), prefix), noFiles
		}
		return withPrefix(e.fieldPaths(contextOf(c), args), prefix), noFiles
	case named:
		var names []string
		for _, name := range e.names(kind) {
			names = append(names, kind+"/"+name)
		}
		return withPrefix(names, prefix), noFiles
	default:
		return withPrefix(e.shared.types(), prefix), noFiles | cobra.ShellCompDirectiveNoSpace
	}
}

// complete makes the suggestions of explain, and repeats those for fields.
func (r *releaseOptions) complete(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	object := 1
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		object = 2
	}
	return (&explainOptions{shared: r.shared}).complete(c, args[:min(object, len(args))], prefix)
}

// types returns the types that have the get verb, each with a slash before the name that follows.
func (s *shared) types() []string {
	client, err := s.cluster.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	lists, _ := discovery.ServerPreferredResources(client) // an unavailable API service only leaves out its own types
	var types []string
	for _, list := range lists {
		_, version, grouped := strings.Cut(list.GroupVersion, "/")
		group := strings.TrimSuffix(list.GroupVersion, "/"+version)
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if !slices.Contains(r.Verbs, "get") || strings.Contains(r.Name, "/") {
				continue
			}
			name := r.Name
			if grouped {
				name += "." + group
			}
			types = append(types, name+"/")
		}
	}
	return types
}

func (e *explainOptions) names(kind string) []string {
	namespace, _, err := e.shared.cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil
	}
	infos, err := resource.NewBuilder(e.shared.cluster).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		AllNamespaces(e.subjects.allNamespaces).ResourceTypeOrNameArgs(true, kind).Flatten().Do().Infos()
	if err != nil {
		return nil
	}
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	return names
}

// fieldPaths returns the paths of all fields of the objects and of their ancestors.
func (e *explainOptions) fieldPaths(ctx context.Context, args []string) []string {
	reading, err := e.shared.read(ctx, &e.subjects, args)
	if err != nil {
		return nil
	}
	var paths []string
	for _, s := range reading.Subjects {
		explained, err := explain.Of(s)
		if err != nil {
			continue
		}
		paths = append(paths, explained.Paths()...)
	}
	return paths
}

// complete suggests types, for the word after the last comma.
func (a *auditOptions) complete(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if a.subjects.offline() {
		return nil, noFiles
	}
	before := prefix[:strings.LastIndex(prefix, ",")+1]
	types := a.shared.types()
	for i, word := range types {
		types[i] = before + strings.TrimSuffix(word, "/")
	}
	return withPrefix(types, prefix), noFiles | cobra.ShellCompDirectiveNoSpace
}

// withPrefix returns the words with a prefix, sorted and without duplicates.
func withPrefix(words []string, prefix string) []cobra.Completion {
	matching := slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, prefix) })
	slices.Sort(matching)
	return slices.Compact(matching)
}

// contextOf returns the command's context. Completion of a flag has none.
func contextOf(c *cobra.Command) context.Context {
	if ctx := c.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
