package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// missing names the resources that are not listed yet.
func (f *Facts) missing() []string {
	var resources []string
	for resource, informer := range f.informers {
		if !informer.HasSynced() {
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	return resources
}

// Check returns what is missing for Ready, or which facts are out of date, and why: the API server's own words where it
// has refused a request, which name the verb, the resource and the user.
func (f *Facts) Check() error {
	if f.Ready() {
		if texts := f.outdated(); texts != nil {
			return notCurrent(texts)
		}
		return nil
	}
	var texts []string
	for _, resource := range f.missing() {
		text := resource + " are not listed yet"
		if proof := f.proofs[resource]; proof != nil {
			if _, problem := proof.read(); problem != nil {
				text = fmt.Sprintf("%s: %v", text, problem)
			}
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return errors.New("the informers have just synced")
	}
	return fmt.Errorf("%s (list and watch must be permitted)", strings.Join(texts, "; "))
}
