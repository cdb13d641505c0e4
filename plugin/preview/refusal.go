package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/plugin/source"
)

const rejects = "the API server rejects it: "

// errInvalid is the API server's error for an object that is invalid after an apply, but not that of a policy, which names no fields.
var errInvalid = errors.New(strings.TrimSuffix(rejects, ": "))

// classify separates rejections by the API server from failed requests. The API server's message can quote a Secret.
func (t *trial) classify(err error) error {
	var causes []metav1.StatusCause
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		causes = status.Status().Details.Causes
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	_, unknown, isStrict := strings.Cut(text, "strict decoding error: ")
	switch {
	case apierrors.IsConflict(err) && len(causes) > 0: // which names fields, but quotes no values
		return errors.New(rejects + text + "; remove these fields from the manifest, or use --force-conflicts")
	case apierrors.IsConflict(err):
		return errors.New(rejects + text + "; remove metadata.resourceVersion and metadata.uid from the manifest")
	case isStrict: // likewise
		return errors.New(rejects + unknown + "; fix it, or use --validate=warn")
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		return t.application.Subject.Advise(err)
	case t.application.Subject.IsSecret():
		text = source.WithoutMessage(err).Error()
	case apierrors.IsInvalid(err) && len(causes) == 1 && causes[0].Field == "patch": // the message quotes the object
		return errors.New(rejects + strings.TrimPrefix(text[strings.LastIndex(text, `": `)+1:], ": "))
	}
	isNameless := func(cause metav1.StatusCause) bool { return cause.Field == "" }
	if apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, isNameless) {
		return fmt.Errorf("%w: %s", errInvalid, text)
	}
	return errors.New(rejects + text)
}
