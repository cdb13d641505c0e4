package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ownership-handoff/handoff/config"
)

// fakeDiscovery returns the resources of two groups, and an error.
type fakeDiscovery struct {
	discovery.ServerResourcesInterface
	err error
}

func (s fakeDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "services", Kind: "Service"}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"}}},
	}, s.err
}

func TestUnknownKindsReportsKindsNotServed(t *testing.T) {
	down := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "shop.example.com", Version: "v1"}: errors.New("down")}}
	for sentence, c := range map[string]struct {
		rule config.RuleKind
		err  error
		want []string
	}{
		"a kind of a group":       {rule: config.RuleKind{Group: "apps", Kind: "Deployment"}},
		"a kind of core":          {rule: config.RuleKind{Group: "core", Kind: "Service"}},
		"a kind of any group":     {rule: config.RuleKind{Kind: "Service"}},
		"any kind":                {rule: config.RuleKind{Group: "nosuch", Kind: "*"}},
		"a plural resource name":  {rule: config.RuleKind{Group: "apps", Kind: "Deployments"}, want: []string{`rule a: kinds[0].kind: the API server does not serve kind Deployments in group "apps"; write Deployment`}},
		"a kind of another group": {rule: config.RuleKind{Group: "batch", Kind: "Deployment"}, want: []string{`rule a: kinds[0].kind: the API server does not serve kind Deployment in group "batch"; correct the rule, or install the kind`}},
		"a kind that is not in core": {
			rule: config.RuleKind{Group: "core", Kind: "Deployment"}, want: []string{`rule a: kinds[0].kind: the API server does not serve kind Deployment in group ""; correct the rule, or install the kind`},
		},
		"a group that is unavailable": {rule: config.RuleKind{Group: "shop.example.com", Kind: "Gadget"}, err: down},
	} {
		t.Run(sentence, func(t *testing.T) {
			configuration := config.HandoffConfiguration{Rules: []config.Rule{{Name: "a", Kinds: []config.RuleKind{c.rule}}}}
			got, err := unknownKinds(configuration, fakeDiscovery{err: c.err})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	gadgets := config.HandoffConfiguration{Rules: []config.Rule{{Name: "a", Kinds: []config.RuleKind{{Kind: "Gadget"}}}}}
	if _, err := unknownKinds(gadgets, fakeDiscovery{err: errors.New("no answer")}); err == nil {
		t.Error("want an error if discovery fails")
	}
}
