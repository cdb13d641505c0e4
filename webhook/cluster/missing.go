package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// missing returns the resources that have not been listed yet.
func (f *State) missing() []string {
	var resources []string
	for resource, informer := range f.informers {
		if !informer.HasSynced() {
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	return resources
}

// Check is a readiness check. It returns an error with the resources that have not been listed yet or are stale, and the reason.
// If the API server denied a request, the reason is its message, which contains the verb, the resource and the user.
func (f *State) Check() error {
	if f.Ready() {
		if texts := f.staleResources(); texts != nil {
			return staleError(texts)
		}
		return nil
	}
	var texts []string
	for _, resource := range f.missing() {
		text := resource + " are not listed yet"
		if freshness := f.freshness[resource]; freshness != nil {
			if _, lastErr := freshness.read(); lastErr != nil {
				text = fmt.Sprintf("%s: %v", text, lastErr)
			}
		}
		texts = append(texts, text)
	}
	for _, resource := range f.scalers.missing() {
		texts = append(texts, resource+" are not listed yet")
	}
	if texts == nil {
		return errors.New("the informers have just synced")
	}
	return fmt.Errorf("%s (requires list and watch permission)", strings.Join(texts, "; "))
}
