package webhook

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	errNoReview  = errors.New("the body is not an admission.k8s.io/v1 AdmissionReview")
	errNoRequest = errors.New("the review has no request")
)

// review contains the fields of an AdmissionReview's request that are read (k8s.io/api/admission/v1). The objects are not parsed
// into values.
type review struct {
	apiVersion, kindOfReview string
	hasRequest               bool

	uid, operation, subResource, namespace, name string
	kind                                         schema.GroupVersionKind
	fieldManager                                 string
	dryRun                                       bool
	incoming, live                               ownership.Object

	meter ownership.Meter
}

// decode reads a body in one pass. If it returns an error, r contains what was read before, in particular the uid, which the
// response needs.
func (r *review) decode(w *rawjson.Walker) error {
	isObject, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			r.apiVersion, err = stringOf(w)
		case "kind":
			r.kindOfReview, err = stringOf(w)
		case "request":
			r.hasRequest, err = w.Object(func(name []byte) error { return r.readRequest(w, name) })
		default:
			_, err = w.Value()
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("reading the review: %w", err)
	case !isObject || r.apiVersion != "admission.k8s.io/v1" || r.kindOfReview != "AdmissionReview":
		return errNoReview
	case !r.hasRequest || r.uid == "":
		return errNoRequest
	}
	return w.End()
}

func (r *review) readRequest(w *rawjson.Walker, name []byte) (err error) {
	switch string(name) {
	case "uid":
		r.uid, err = stringOf(w)
	case "operation":
		r.operation, err = stringOf(w)
	case "subResource":
		r.subResource, err = stringOf(w)
	case "namespace":
		r.namespace, err = stringOf(w)
	case "name":
		r.name, err = stringOf(w)
	case "dryRun":
		_, err = w.Value()
		r.dryRun = string(w.Last().Of(w.Text())) == "true"
	case "kind":
		_, err = w.Object(func(name []byte) error { return r.readKind(w, name) })
	case "options":
		_, err = w.Object(func(name []byte) error { return r.readOption(w, name) })
	case "object":
		if r.incoming, err = ownership.ReadObject(w); err != nil {
			err = fmt.Errorf("object: %w", err)
		}
	case "oldObject":
		if r.live, err = ownership.ReadObject(w); err != nil {
			err = fmt.Errorf("oldObject: %w", err)
		}
	default:
		_, err = w.Value()
	}
	return err
}

func (r *review) readKind(w *rawjson.Walker, name []byte) (err error) {
	switch string(name) {
	case "group":
		r.kind.Group, err = stringOf(w)
	case "version":
		r.kind.Version, err = stringOf(w)
	case "kind":
		r.kind.Kind, err = stringOf(w)
	default:
		_, err = w.Value()
	}
	return err
}

func (r *review) readOption(w *rawjson.Walker, name []byte) (err error) {
	if string(name) == "fieldManager" {
		r.fieldManager, err = stringOf(w)
		return err
	}
	_, err = w.Value()
	return err
}

// stringOf reads one value and returns it if it is a string, "" otherwise.
func stringOf(w *rawjson.Walker) (string, error) {
	s, _, err := w.String()
	return s, err
}
