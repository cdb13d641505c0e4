package preview

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// refusal is the API server's word that the object an apply would make is invalid.
type refusal struct{ err error }

const refuses = "the API server refuses it: "

// Error implements error.
func (r *refusal) Error() string { return refuses + r.err.Error() }

// Unwrap implements error.
func (r *refusal) Unwrap() error { return r.err }

func causesOf(status apierrors.APIStatus) []metav1.StatusCause {
	if details := status.Status().Details; details != nil {
		return details.Causes
	}
	return nil
}

// answered tells what the API server refuses from what keeps it from answering.
func (t *trial) answered(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return source.Advise(err, t.Namespace)
	}
	switch {
	case apierrors.IsConflict(err):
		return conflict(status)
	case t.IsSecret() && !source.IsPermission(err):
		return aboutSecret(err)
	}
	if _, unknown, strict := strings.Cut(err.Error(), strictly); strict {
		return errors.New(refuses + unknown + "; correct it, or write --validate=warn")
	}
	// The API server reports what is wrong with a patch together with the whole object.
	if causes := causesOf(status); apierrors.IsInvalid(err) && len(causes) == 1 && causes[0].Field == "patch" {
		quoted := `": `
		at := strings.LastIndex(causes[0].Message, quoted)
		if at < 0 {
			return errors.New(refuses + "a field has a value of another type than it is declared to have")
		}
		return errors.New(refuses + strings.Join(strings.Fields(causes[0].Message[at+len(quoted):]), " "))
	}
	switch {
	case apierrors.IsInvalid(err):
		return &refusal{errors.New(strings.Join(strings.Fields(err.Error()), " "))}
	case apierrors.IsBadRequest(err):
		return errors.New(refuses + strings.Join(strings.Fields(err.Error()), " "))
	default:
		return source.Advise(err, t.Namespace)
	}
}

// strictly begins what the API server says of fields that it does not know.
const strictly = "strict decoding error: "

// conflict names the fields that other managers own. Without any, the object has another version than the manifest asks for.
func conflict(status apierrors.APIStatus) error {
	causes := causesOf(status)
	fields := make([]string, 0, len(causes))
	for _, cause := range causes {
		fields = append(fields, fmt.Sprintf("%s (%s)", cause.Field, strings.ReplaceAll(cause.Message, "\n", " ")))
	}
	if len(fields) == 0 {
		return errors.New(refuses + "the object has been modified since; " + withoutVersion)
	}
	return fmt.Errorf(refuses+"others claim %s; take that out of the manifest, or write --force-conflicts",
		strings.Join(fields, ", "))
}

const withoutVersion = "delete metadata.resourceVersion and metadata.uid from the manifest"

// stale refuses a manifest that asks for another version of the object than the one that is there, as the API server does: a
// dry run does not show it, for it asks about the object as it was read.
func (t *trial) stale() error {
	version := t.Manifest.GetResourceVersion()
	var live string
	if text := t.Object.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion")); text != nil {
		live, _ = rawjson.Unquote(text)
	}
	switch {
	case version == "" || version == live || t.Object.Present() && live == "":
		return nil
	case !t.Object.Present():
		return errors.New(refuses + "metadata.resourceVersion must not be set on objects to be created; delete it from the manifest")
	default:
		return fmt.Errorf(refuses+"the manifest sets resourceVersion %s, and the object has been modified since; "+withoutVersion,
			version)
	}
}

// aboutSecret says what the API server has against a Secret.
func aboutSecret(err error) error {
	if _, strict, ok := strings.Cut(err.Error(), strictly); ok {
		fields := regexp.MustCompile(`(unknown|duplicate) field "[^"]*"`).FindAllString(strict, -1)
		return errors.New(refuses + strings.Join(fields, ", ") + "; correct it, or write --validate=warn")
	}
	text := source.WithoutMessage(err)
	if apierrors.IsInvalid(err) {
		return &refusal{text}
	}
	return errors.New(refuses + text.Error())
}
