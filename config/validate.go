package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	registration "k8s.io/api/admissionregistration/v1"
)

// maxManagerLen is the maximum length of a field manager's name (k8s.io/apimachinery/pkg/apis/meta/v1/validation).
const maxManagerLen = 128

func (c HandoffConfiguration) validate(managers []listed[string]) error {
	if c.APIVersion != APIVersion {
		return inField("apiVersion", fmt.Errorf("%q is not supported; write %s", c.APIVersion, APIVersion))
	}
	if c.Kind != Kind {
		return inField("kind", fmt.Errorf("%q is not supported; write %s", c.Kind, Kind))
	}
	if err := validateLists(managers); err != nil {
		return err
	}
	return c.validateRules(managers)
}

// validateLists returns an error for a name that is not valid for a field manager, and for a name in two lists, of which only the
// first would apply.
func validateLists(managers []listed[string]) error {
	all := map[string]listed[string]{} // the first of each name
	for _, l := range managers {
		if err := validateManager(l.value); err != nil {
			return inField(l.at, fmt.Errorf("%q %w", l.value, err))
		}
		first, twice := all[l.value]
		if all[l.value] = l; !twice {
			continue
		}
		if l.at == "" {
			l, first = first, l // name the one in the file
		}
		return inField(l.at, fmt.Errorf("%q is also in %s; remove it from one of them%s", l.value, first.field, first.removeDefault()))
	}
	return nil
}

// removeDefault returns how to remove a manager from the defaults, for an error; empty if it is not one of them.
func (l listed[T]) removeDefault() string {
	if l.at != "" {
		return ""
	}
	return fmt.Sprintf(" (from the defaults with %s: {remove: [%v]})", l.field, l.value)
}

func validateManager(manager string) error {
	_, err := path.Match(manager, "")
	switch trimmed := strings.TrimSpace(manager); {
	case err != nil || manager == "":
		return errors.New("is neither a field manager's name nor a pattern; correct or remove it")
	case trimmed != manager:
		return fmt.Errorf("has leading or trailing spaces; write %q", trimmed)
	case len(manager) > maxManagerLen || strings.ContainsFunc(manager, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("is not a field manager's name; use at most %d printable characters", maxManagerLen)
	default:
		return nil
	}
}

var (
	version   = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)
	groupName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	kindName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

func validateKind(group, kind string) error {
	name, after, versioned := strings.Cut(group, "/")
	switch {
	case versioned:
		return inField("group", fmt.Errorf("%q includes the version %s; write %s", group, after, name))
	case version.MatchString(group):
		return inField("group", fmt.Errorf("%q is a version; write core for the core group", group))
	case group == registration.GroupName, kind == "MutatingWebhookConfiguration", kind == "ValidatingWebhookConfiguration":
		return inField("group", fmt.Errorf("the API server calls no webhook for objects of %s; delete it, and remove the field from manifests "+
			"with kubectl handoff strip", registration.GroupName))
	case group != "" && group != "*" && !groupName.MatchString(group):
		return inField("group", fmt.Errorf("%q is not an API group; write it as in apiVersion, without the version, such as apps", group))
	case kind != "" && kind != "*" && !kindName.MatchString(kind):
		return inField("kind", fmt.Errorf("%q is not a kind; write it as in a manifest, such as Deployment", kind))
	default:
		return nil
	}
}
