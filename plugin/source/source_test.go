package source_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/plugin/source"
)

func TestParserTextHidesWhatItQuotesFromTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"yaml: line 3: did not find expected ',' or ']'":    "line 3: did not find expected ',' or ']'",
		"yaml: line 3: did not find expected '-' indicator": "line 3: did not find expected '-' indicator",
		"yaml: unknown anchor 'hunter2' referenced":         "unknown anchor *** referenced",
		"yaml: unknown anchor 'h' referenced":               "unknown anchor *** referenced",
		"yaml: unknown anchor '!?' referenced":              "unknown anchor *** referenced",
		"invalid character 'h' looking for a value":         "invalid character *** looking for a value",
	} {
		expect.Equal(t, text, want, source.ParserText(errors.New(text)))
	}
}

func TestASelectorOfObjectsInFilesDoesNotHideTheirAutoscalers(t *testing.T) {
	objects := `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"replicas":7}},
		{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","namespace":"shop"},
			"spec":{"maxReplicas":9,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}]}`
	reader, err := source.Reader{
		Cluster: genericclioptions.NewConfigFlags(false), In: strings.NewReader(objects), Configuration: config.Default(),
		Files: resource.FilenameOptions{Filenames: []string{"-"}}, Selector: "app=web",
	}.Open()
	expect.NoError(t, err)
	subjects, _, err := reader.Read(t.Context())
	expect.NoError(t, err)
	if len(subjects) != 1 || subjects[0].Context.Scaler.Name != "HorizontalPodAutoscaler/web" {
		t.Errorf("want the Deployment with its autoscaler, got %+v", subjects)
	}
}

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
		expect.Equal(t, sentence, c.want, source.IsPermission(c.err))
	}
}
