package webhook

import (
	"bytes"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	errNoReview  = errors.New("the body is not an admission.k8s.io/v1 AdmissionReview")
	errNoRequest = errors.New("the review has no request")
)

// review contains the fields of an AdmissionReview's request that are read (k8s.io/api/admission/v1). The objects are not parsed
// into values, and refer to the text of the review.
type review struct {
	uid, operation, subResource, namespace, name string
	kind                                         schema.GroupVersionKind
	fieldManager                                 string
	dryRun                                       bool
	incoming, live                               ownership.Object
	// guardMissing reports whether no guard is installed, so that a client has written the guard's condition.
	guardMissing bool

	meter ownership.Meter
}

// decode reads a body. If it returns an error, r contains what was read before, in particular the uid, which the response needs.
func (r *review) decode(body []byte) error {
	root, err := jsontree.Parse(body)
	if err != nil {
		r.uid = uidOf(bytes.NewReader(body))
		return fmt.Errorf("reading the review: %w", err)
	}
	request := root.Member("request")
	text := func(names ...string) string {
		s, _ := request.At(names...).String()
		return s
	}
	r.uid, r.operation, r.subResource, r.namespace, r.name = text("uid"), text("operation"), text("subResource"), text("namespace"), text("name")
	r.kind = schema.GroupVersionKind{Group: text("kind", "group"), Version: text("kind", "version"), Kind: text("kind", "kind")}
	r.fieldManager, r.dryRun = text("options", "fieldManager"), request.Member("dryRun").Kind() == 't'
	apiVersion, _ := root.Member("apiVersion").String()
	kind, _ := root.Member("kind").String()
	switch {
	case apiVersion != "admission.k8s.io/v1" || kind != "AdmissionReview":
		return errNoReview
	case !request.IsObject() || r.uid == "":
		return errNoRequest
	}
	if r.incoming, err = ownership.ObjectAt(request.Member("object")); err != nil {
		return fmt.Errorf("reading the review: object: %w", err)
	}
	if r.live, err = ownership.ObjectAt(request.Member("oldObject")); err != nil {
		return fmt.Errorf("reading the review: oldObject: %w", err)
	}
	return nil
}
