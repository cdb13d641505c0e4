package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		return withPrefix(slices.Collect(maps.Keys(raw.Contexts)), prefix), noFiles
	}
	must(root.RegisterFlagCompletionFunc("context", contexts))
}

// completeNamespaces suggests namespaces that the arguments do not contain yet.
func (s *shared) completeNamespaces(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	isGiven := func(name string) bool { return slices.Contains(args, name) }
	return withPrefix(slices.DeleteFunc(s.names("namespaces", false), isGiven), prefix), noFiles
}

// complete suggests types, then names, then fields.
func (e *explainOptions) complete(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(prefix, "/")
	offline := e.subjects.offline()
	switch {
	case len(args) == 1 && !strings.Contains(args[0], "/") && !strings.HasPrefix(prefix, ".") && !offline:
		return withPrefix(e.shared.names(args[0], e.subjects.allNamespaces), prefix), noFiles
	case len(args) > 0 || offline:
		return withPrefix(e.fieldPaths(c.Context(), args), prefix), noFiles
	case named:
		names := e.shared.names(kind, e.subjects.allNamespaces)
		for i, name := range names {
			names[i] = kind + "/" + name
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
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // of the API server
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if slices.Contains(r.Verbs, "get") && !strings.Contains(r.Name, "/") {
				types = append(types, gv.WithResource(r.Name).GroupResource().String()+"/")
			}
		}
	}
	return types
}

// names returns the names of the objects of a type.
func (s *shared) names(kind string, allNamespaces bool) []string {
	namespace, _, _ := s.cluster.ToRawKubeConfigLoader().Namespace() // without a configuration, the list fails
	infos, err := resource.NewBuilder(s.cluster).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		AllNamespaces(allNamespaces).ResourceTypeOrNameArgs(true, kind).Flatten().Do().Infos()
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
		if explained, err := explain.Of(s); err == nil {
			paths = append(paths, explained.Paths()...)
		}
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
