package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// mostManager is how long the name of a field manager may be (k8s.io/apimachinery/pkg/apis/meta/v1/validation).
const mostManager = 128

func (c HandoffConfiguration) validate() error {
	if c.APIVersion != APIVersion {
		return fmt.Errorf("apiVersion: %q is not known; write %s", c.APIVersion, APIVersion)
	}
	if c.Kind != Kind {
		return fmt.Errorf("kind: %q is not known; write %s", c.Kind, Kind)
	}
	if err := c.validateManagers(); err != nil {
		return err
	}
	if _, err := c.Rules(); err != nil {
		return err
	}
	for i, rule := range c.Controllers {
		if err := validateRule(rule); err != nil {
			return fmt.Errorf("controllers[%d].%w", i, err)
		}
	}
	return nil
}

// validateManagers refuses names that no field manager can have, and one in two lists, of which only the first would count.
func (c HandoffConfiguration) validateManagers() error {
	listed := map[string]string{}
	for _, list := range []struct {
		field    string
		managers []string
	}{{"appliers", c.Appliers}, {"imperative", c.Imperative}, {"autoscalers", c.Autoscalers}} {
		for i, manager := range list.managers {
			at := fmt.Sprintf("%s[%d]", list.field, i)
			if err := validateManager(manager); err != nil {
				return fmt.Errorf("%s: %q %w", at, manager, err)
			}
			if before, twice := listed[manager]; twice && before != list.field {
				return fmt.Errorf("%s: %q is in %s as well; take it out of one of them (a list that the file leaves out has its defaults)",
					at, manager, before)
			}
			listed[manager] = list.field
		}
	}
	return nil
}

func validateManager(manager string) error {
	_, err := path.Match(manager, "")
	switch trimmed := strings.TrimSpace(manager); {
	case err != nil || manager == "":
		return errors.New("is neither the name of a field manager nor a pattern")
	case trimmed != manager:
		return fmt.Errorf("has spaces around it; write %q", trimmed)
	case len(manager) > mostManager || strings.ContainsFunc(manager, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("is not the name of a field manager, which has at most %d printable characters; correct it", mostManager)
	default:
		return nil
	}
}

func validateRule(rule ControllerRule) error {
	group, version, versioned := strings.Cut(rule.Group, "/")
	switch {
	case versioned:
		return fmt.Errorf("group: %q is a group with the version %s; write %s", rule.Group, version, group)
	case regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`).MatchString(rule.Group):
		return fmt.Errorf("group: %q is a version; write core for the group without a name", rule.Group)
	case rule.Group != "" && rule.Group != "*" && !regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`).MatchString(rule.Group):
		return fmt.Errorf("group: %q is not the name of an API group; write it as in an apiVersion, without the version, such as apps",
			rule.Group)
	case rule.Kind != "" && rule.Kind != "*" && !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(rule.Kind):
		return fmt.Errorf("kind: %q is not the name of a kind; write it as manifests do, such as Deployment", rule.Kind)
	}
	for i, field := range rule.Fields {
		pattern, err := ownership.ParsePattern(field)
		if err == nil {
			err = validateField(field, pattern)
		}
		if err != nil {
			return fmt.Errorf("fields[%d]: %w", i, err)
		}
	}
	return nil
}

// validateField refuses paths that can never be contested, and those that name what records ownership or makes an object the
// one it is.
func validateField(text string, pattern ownership.Pattern) error {
	switch first := pattern[0]; {
	case !first.Wildcard && first.FieldName == nil:
		return fmt.Errorf("%s begins with an element of a list, and an object is none; begin with a field, such as .spec", text)
	case !first.Wildcard && *first.FieldName == "status":
		return fmt.Errorf("%s is status, which no manifest sets; delete the path", text)
	}
	for _, identity := range identities() {
		if pattern.Covers(identity) {
			return fmt.Errorf("%s names %s, which no manifest can give away; name other fields", text, identity)
		}
	}
	if pattern.Covers(ownership.LastAppliedPath()) {
		return fmt.Errorf("%s names the last-applied annotation, which records what was applied; name other annotations, "+
			`each by itself, such as .metadata.annotations["example.com/team"]`, text)
	}
	return nil
}

// identities are the fields that make an object the one it is, or that the API server keeps.
func identities() []fieldpath.Path {
	names := []string{
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink",
	}
	paths := make([]fieldpath.Path, 0, len(names)+2)
	paths = append(paths, fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"))
	for _, name := range names {
		paths = append(paths, fieldpath.MakePathOrDie("metadata", name))
	}
	return paths
}

// KindOf is a kind that a rule names; At says where. An empty Group stands for the group without a name.
type KindOf struct{ At, Group, Kind string }

// Kinds returns the kinds that rules name together with their group. Whether a cluster has them, only its API server knows.
func (c HandoffConfiguration) Kinds() []KindOf {
	var kinds []KindOf
	for i, rule := range c.Controllers {
		if rule.Kind == "" || rule.Kind == "*" {
			continue
		}
		group := rule.Group
		switch group {
		case "core":
			group = ""
		case "":
			group = "*"
		}
		kinds = append(kinds, KindOf{"controllers[" + strconv.Itoa(i) + "].kind", group, rule.Kind})
	}
	return kinds
}
