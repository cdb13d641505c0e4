package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/config"
)

// kindsRetry is the pause between two discovery requests, and after a change of the configuration.
const kindsRetry = 30 * time.Second

// logUnknownKinds returns a part that logs the kinds in the configuration's rules that the API server does not serve, and again
// when the configuration changes.
func logUnknownKinds(c *rest.Config, current func() *inForce, log logr.Logger) (part, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("creating the discovery client: %w", err)
	}
	return func(ctx context.Context) error {
		var checked *inForce
		wait.UntilWithContext(ctx, func(context.Context) {
			configured := current()
			if configured == checked {
				return
			}
			unknown, err := unknownKinds(configured.configuration, client)
			for _, reason := range unknown {
				log.Info("kind of a rule is not served", "reason", reason)
			}
			if err == nil {
				checked = configured
			}
		}, kindsRetry)
		return nil
	}, nil
}

// unknownKinds returns a message for each kind that a rule names and the API server does not serve: such a rule is never used.
// It is not an error, because the kind can be installed later. Kinds of an aggregated API whose server is unavailable are
// not reported.
func unknownKinds(c config.HandoffConfiguration, client discovery.ServerResourcesInterface) ([]string, error) {
	isNamed := func(kind config.RuleKind) bool { return kind.Kind != "" && kind.Kind != "*" }
	if !slices.ContainsFunc(c.Rules, func(rule config.Rule) bool { return slices.ContainsFunc(rule.Kinds, isNamed) }) {
		return nil, nil
	}
	_, lists, err := client.ServerGroupsAndResources()
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return nil, fmt.Errorf("discovering the kinds that the API server serves: %w", err)
	}
	served, byName := kindsIn(lists)
	unavailable := sets.New[string]() // groups
	for gv := range failed {
		unavailable.Insert(gv.Group, "*")
	}
	var unknown []string
	for _, rule := range c.Rules {
		for i, kind := range rule.Kinds {
			group := kind.Group
			switch group {
			case "core":
				group = ""
			case "":
				group = "*"
			}
			if !isNamed(kind) || served[schema.GroupKind{Group: group, Kind: kind.Kind}] || unavailable.Has(group) {
				continue
			}
			remedy := "correct the rule, or install the kind"
			if meant, ok := byName[strings.ToLower(kind.Kind)]; ok {
				remedy = "write " + meant.Kind
			}
			unknown = append(unknown, fmt.Sprintf("rule %s: kinds[%d].kind: the API server does not serve kind %s in group %q; %s",
				rule.Name, i, kind.Kind, group, remedy))
		}
	}
	return unknown, nil
}

// kindsIn returns the kinds that the API server serves, each also in group "*", and by plural resource name.
func kindsIn(lists []*metav1.APIResourceList) (served map[schema.GroupKind]bool, byName map[string]schema.GroupKind) {
	served, byName = map[schema.GroupKind]bool{}, map[string]schema.GroupKind{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			kind := schema.GroupKind{Group: gv.Group, Kind: resource.Kind}
			if strings.Contains(resource.Name, "/") {
				continue
			}
			served[kind], served[schema.GroupKind{Group: "*", Kind: resource.Kind}] = true, true
			byName[strings.ToLower(resource.Name)] = kind
		}
	}
	return served, byName
}
