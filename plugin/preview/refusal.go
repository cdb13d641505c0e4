package preview

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// refusal is the API server's error for an invalid object after an apply. ofFields reports whether validation returned it: the
// error of a policy names no fields.
type refusal struct {
	err      error
	ofFields bool
}

const rejects = "the API server rejects it: "

// Error implements error.
func (r *refusal) Error() string { return rejects + r.err.Error() }

// Unwrap implements error.
func (r *refusal) Unwrap() error { return r.err }

// ofFields reports whether all causes of an error name fields.
func ofFields(status apierrors.APIStatus) bool {
	causes := causesOf(status)
	nameless := func(cause metav1.StatusCause) bool { return cause.Field == "" }
	return len(causes) > 0 && !slices.ContainsFunc(causes, nameless)
}

func causesOf(status apierrors.APIStatus) []metav1.StatusCause {
	if details := status.Status().Details; details != nil {
		return details.Causes
	}
	return nil
}

// classify separates rejections by the API server from failed requests.
func (t *trial) classify(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return source.Advise(err, t.subject.Namespace)
	}
	switch {
	case apierrors.IsConflict(err):
		return conflict(status)
	case t.subject.IsSecret() && !source.IsPermission(err):
		return aboutSecret(err, status)
	}
	if _, unknown, strict := strings.Cut(err.Error(), strictDecoding); strict {
		return errors.New(rejects + unknown + "; fix it, or use --validate=warn")
	}
	// The API server's error for an invalid patch quotes the whole object.
	if causes := causesOf(status); apierrors.IsInvalid(err) && len(causes) == 1 && causes[0].Field == "patch" {
		quoted := `": `
		at := strings.LastIndex(causes[0].Message, quoted)
		if at < 0 {
			return errors.New(rejects + "a field's value does not match its declared type")
		}
		reason := strings.Join(strings.Fields(causes[0].Message[at+len(quoted):]), " ")
		if declared, ok := strings.CutPrefix(reason, "unrecognized type: "); ok {
			reason = "a field of type " + declared + " has a value of another type"
		}
		return errors.New(rejects + reason)
	}
	switch {
	case apierrors.IsInvalid(err):
		return &refusal{errors.New(strings.Join(strings.Fields(err.Error()), " ")), ofFields(status)}
	case apierrors.IsBadRequest(err):
		return errors.New(rejects + strings.Join(strings.Fields(err.Error()), " "))
	default:
		return source.Advise(err, t.subject.Namespace)
	}
}

// strictDecoding is the prefix of the API server's error for unknown fields.
const strictDecoding = "strict decoding error: "

// conflict returns an error that lists the fields of other managers. Without any, the object's resourceVersion differs from the
// one in the manifest.
func conflict(status apierrors.APIStatus) error {
	causes := causesOf(status)
	fields := make([]string, 0, len(causes))
	for _, cause := range causes {
		fields = append(fields, fmt.Sprintf("%s (%s)", cause.Field, strings.ReplaceAll(cause.Message, "\n", " ")))
	}
	if len(fields) == 0 {
		return errors.New(rejects + "the object has been modified since; " + withoutVersion)
	}
	return fmt.Errorf(rejects+"other managers own %s; remove that from the manifest, or use --force-conflicts",
		strings.Join(fields, ", "))
}

const withoutVersion = "remove metadata.resourceVersion and metadata.uid from the manifest"

// stale returns an error if the manifest's resourceVersion differs from the live one, as the API server does. A dry run does not
// show that, because it leaves out the resourceVersion.
func (t *trial) stale() error {
	version := t.application.Manifest.GetResourceVersion()
	var live string
	if text := t.subject.Object.Value(fieldpath.MakePathOrDie("metadata", "resourceVersion")); text != nil {
		live, _ = jsontree.Unquote(text)
	}
	switch {
	case version == "" || version == live || t.subject.Object.Present() && live == "":
		return nil
	case !t.subject.Object.Present():
		return errors.New(rejects + "metadata.resourceVersion must not be set on objects to be created; remove it from the manifest")
	default:
		return fmt.Errorf(rejects+"the manifest sets resourceVersion %s, but the object has been modified since; "+withoutVersion,
			version)
	}
}

// aboutSecret returns the API server's error for a Secret, without its message.
func aboutSecret(err error, status apierrors.APIStatus) error {
	if _, strict, ok := strings.Cut(err.Error(), strictDecoding); ok {
		fields := regexp.MustCompile(`(unknown|duplicate) field "[^"]*"`).FindAllString(strict, -1)
		return errors.New(rejects + strings.Join(fields, ", ") + "; fix it, or use --validate=warn")
	}
	text := source.WithoutMessage(err)
	if apierrors.IsInvalid(err) {
		return &refusal{text, ofFields(status)}
	}
	return errors.New(rejects + text.Error())
}
