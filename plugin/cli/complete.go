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
		raw, _ := s.cluster.ToRawKubeConfigLoader().RawConfig() // without one, there are no contexts
		return withPrefix(slices.Collect(maps.Keys(raw.Contexts)), prefix), noFiles
	}
	must(root.RegisterFlagCompletionFunc("context", contexts))
}

// completeNamespaces suggests namespaces that the arguments do not contain yet.
func (s *shared) completeNamespaces(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	isGiven := func(name string) bool { return slices.Contains(args, name) }
	return withPrefix(slices.DeleteFunc(s.names("namespaces"), isGiven), prefix), noFiles
}

// completeObjects suggests types, then names, then fields.
func (s *shared) completeObjects(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(prefix, "/")
	switch {
	case len(args) == 1 && !strings.Contains(args[0], "/") && !strings.HasPrefix(prefix, ".") && !s.hasFiles():
		return withPrefix(s.names(args[0]), prefix), noFiles
	case len(args) > 0 || s.hasFiles():
		return withPrefix(s.fieldPaths(c.Context(), args), prefix), noFiles
	case named:
		names := s.names(kind)
		for i, name := range names {
			names[i] = kind + "/" + name
		}
		return withPrefix(names, prefix), noFiles
	default:
		return withPrefix(s.types("/"), prefix), noFiles | cobra.ShellCompDirectiveNoSpace
	}
}

// completeFields is completeObjects, with any number of fields.
func (s *shared) completeFields(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	object := 1
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		object = 2
	}
	return s.completeObjects(c, args[:min(object, len(args))], prefix)
}

// completeTypes suggests types, for the word after the last comma.
func (s *shared) completeTypes(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if s.hasFiles() {
		return nil, noFiles
	}
	before := prefix[:strings.LastIndex(prefix, ",")+1]
	types := s.types("")
	for i, word := range types {
		types[i] = before + word
	}
	return withPrefix(types, prefix), noFiles | cobra.ShellCompDirectiveNoSpace
}

// types returns the types that have the get verb, each with a suffix.
func (s *shared) types(suffix string) (types []string) {
	client, err := s.cluster.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	lists, _ := discovery.ServerPreferredResources(client) // an unavailable API service only leaves out its own types
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"get"}}, lists) {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // of the API server
		for i := range list.APIResources {
			types = append(types, gv.WithResource(list.APIResources[i].Name).GroupResource().String()+suffix)
		}
	}
	return types
}

// names returns the names of the objects of a type.
func (s *shared) names(kind string) (names []string) {
	namespace, _ := s.namespace() // without a configuration, the list fails
	_ = resource.NewBuilder(s.cluster).Unstructured().NamespaceParam(namespace).DefaultNamespace().
		AllNamespaces(s.allNamespaces).ResourceTypeOrNameArgs(true, kind).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			names = append(names, info.Name)
			return err
		})
	return names
}

// fieldPaths returns the paths of all fields of the objects and of their ancestors.
func (s *shared) fieldPaths(ctx context.Context, args []string) (paths []string) {
	reader, _, err := s.objects(ctx)
	if err != nil {
		return nil
	}
	subjects, _, _ := reader.Read(ctx, args...) // without any, there are no fields
	for _, subject := range subjects {
		if explained, err := explain.Of(subject); err == nil {
			paths = append(paths, explained.Paths()...)
		}
	}
	return paths
}

// withPrefix returns the words with a prefix, sorted and without duplicates.
func withPrefix(words []string, prefix string) []cobra.Completion {
	matching := slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, prefix) })
	slices.Sort(matching)
	return slices.Compact(matching)
}
