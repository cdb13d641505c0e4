package preview

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/plugin/source"
)

const rejects = "the API server rejects it: "

// refusal is the API server's error for an invalid object after an apply. ofFields reports whether validation returned it: the
// error of a policy names no fields.
type refusal struct {
	err      error
	ofFields bool
}

// Error implements error.
func (r *refusal) Error() string { return rejects + r.err.Error() }

// Unwrap implements error.
func (r *refusal) Unwrap() error { return r.err }

// classify separates rejections by the API server from failed requests. The API server's message can quote a Secret.
func (t *trial) classify(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return source.Advise(err, t.preview.Subject.Namespace)
	}
	var causes []metav1.StatusCause
	if details := status.Status().Details; details != nil {
		causes = details.Causes
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	isSecret := t.preview.Subject.IsSecret() && !source.IsPermission(err)
	_, unknown, isStrict := strings.Cut(text, "strict decoding error: ")
	switch {
	case apierrors.IsConflict(err):
		return conflict(causes)
	case isStrict && isSecret:
		fields := regexp.MustCompile(`(unknown|duplicate) field "[^"]*"`).FindAllString(unknown, -1)
		unknown = strings.Join(fields, ", ")
		fallthrough
	case isStrict:
		return errors.New(rejects + unknown + "; fix it, or use --validate=warn")
	case isSecret:
		text = source.WithoutMessage(err).Error()
	case apierrors.IsInvalid(err) && len(causes) == 1 && causes[0].Field == "patch":
		return invalidPatch(causes[0].Message)
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return source.Advise(err, t.preview.Subject.Namespace)
	}
	if !apierrors.IsInvalid(err) {
		return errors.New(rejects + text)
	}
	isNameless := func(cause metav1.StatusCause) bool { return cause.Field == "" }
	return &refusal{errors.New(text), len(causes) > 0 && !slices.ContainsFunc(causes, isNameless)}
}

// invalidPatch returns the API server's error for an invalid patch without the object, which the message quotes.
func invalidPatch(message string) error {
	const quoted = `": `
	at := strings.LastIndex(message, quoted)
	if at < 0 {
		return errors.New(rejects + "a field's value does not match its declared type")
	}
	reason := strings.Join(strings.Fields(message[at+len(quoted):]), " ")
	if declared, ok := strings.CutPrefix(reason, "unrecognized type: "); ok {
		reason = "a field of type " + declared + " has a value of another type"
	}
	return errors.New(rejects + reason)
}

// conflict returns an error that lists the fields of other managers. Without any, the object's resourceVersion differs from the
// one in the manifest.
func conflict(causes []metav1.StatusCause) error {
	if len(causes) == 0 {
		return errors.New(rejects + "the object has been modified since; " +
			"remove metadata.resourceVersion and metadata.uid from the manifest")
	}
	fields := make([]string, len(causes))
	for i, cause := range causes {
		fields[i] = fmt.Sprintf("%s (%s)", cause.Field, strings.ReplaceAll(cause.Message, "\n", " "))
	}
	slices.Sort(fields) // the API server returns them in any order
	return fmt.Errorf(rejects+"other managers own %s; remove that from the manifest, or use --force-conflicts",
		strings.Join(fields, ", "))
}
