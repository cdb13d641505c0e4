package source_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/plugin/source"
)

func TestIsPermission(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for sentence, c := range map[string]struct {
		err  error
		want bool
	}{
		"of one object":                    {apierrors.NewForbidden(secrets, "token", errors.New(`User "me" cannot get resource "secrets"`)), true},
		"of a list, which names no object": {apierrors.NewForbidden(secrets, "", errors.New(`User "me" cannot list resource "secrets"`)), true},
		"no user":                          {apierrors.NewUnauthorized("Unauthorized"), true},
		"a policy, which can quote it":     {apierrors.NewForbidden(secrets, "token", errors.New("ValidatingAdmissionPolicy 'p' denied request: hunter2")), false},
	} {
		if got := source.IsPermission(c.err); got != c.want {
			t.Errorf("%s: want %v, got %v for %v", sentence, c.want, got, c.err)
		}
	}
}
