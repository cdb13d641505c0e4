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
// into values, and refer to the text of the review.
type review struct {
	isReview, hasRequest bool

	uid, operation, subResource, namespace, name string
	kind                                         schema.GroupVersionKind
	fieldManager                                 string
	dryRun                                       bool
	incoming, live                               ownership.Object

	meter ownership.Meter
}

// reader reads reviews, and reuses its memory from one to the next.
type reader struct {
	walker rawjson.Walker
	object ownership.Reader
}

// release releases the text of the last review.
func (in *reader) release() {
	in.walker.Reset(nil, 0)
	in.object.Release()
}

// reviewStrings are the strings of a review, as parts of its text if they have no escapes.
type reviewStrings struct {
	apiVersion, kindOfReview, uid, operation, subResource, namespace, name, group, version, kind, fieldManager []byte
}

// decode reads a body in one pass. If it returns an error, r contains what was read before, in particular the uid, which the
// response needs.
func (r *review) decode(in *reader, body []byte) error {
	in.walker.Reset(body, 0)
	var s reviewStrings
	err := r.read(in, &s)
	r.copyStrings(s)
	switch {
	case err != nil:
		return fmt.Errorf("reading the review: %w", err)
	case !r.isReview:
		return errNoReview
	case !r.hasRequest || r.uid == "":
		return errNoRequest
	}
	return in.walker.End()
}

// copyStrings copies the strings out of the text of the review, all at once. They are in logs and Events after the text is gone.
func (r *review) copyStrings(s reviewStrings) {
	r.isReview = string(s.apiVersion) == "admission.k8s.io/v1" && string(s.kindOfReview) == "AdmissionReview"
	parts := [...]struct {
		from []byte
		to   *string
	}{
		{s.uid, &r.uid}, {s.operation, &r.operation}, {s.subResource, &r.subResource}, {s.namespace, &r.namespace},
		{s.name, &r.name}, {s.group, &r.kind.Group}, {s.version, &r.kind.Version}, {s.kind, &r.kind.Kind},
		{s.fieldManager, &r.fieldManager},
	}
	all := make([]byte, 0, 512)
	for _, part := range parts {
		all = append(all, part.from...)
	}
	if len(all) > maxShared {
		for _, part := range parts {
			*part.to = string(part.from)
		}
		return
	}
	copied := string(all)
	for _, part := range parts {
		*part.to, copied = copied[:len(part.from)], copied[len(part.from):]
	}
}

// maxShared is the length up to which the strings of a review are copied all at once. Longer ones are copied one by one, because
// a string retains all of the text that it was copied with.
const maxShared = 1 << 10

func (r *review) read(in *reader, s *reviewStrings) error {
	w := &in.walker
	_, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			s.apiVersion, err = stringOf(w)
		case "kind":
			s.kindOfReview, err = stringOf(w)
		case "request":
			r.hasRequest, err = w.Object(func(name []byte) error { return r.readField(in, s, name) })
		default:
			_, err = w.Value()
		}
		return err
	})
	return err
}

func (r *review) readField(in *reader, s *reviewStrings, name []byte) (err error) {
	w := &in.walker
	switch string(name) {
	case "uid":
		uid, problem := stringOf(w)
		if s.uid == nil { // a repeated name is an error only at the end of the object
			s.uid = uid
		}
		return problem
	case "operation":
		s.operation, err = stringOf(w)
	case "subResource":
		s.subResource, err = stringOf(w)
	case "namespace":
		s.namespace, err = stringOf(w)
	case "name":
		s.name, err = stringOf(w)
	case "dryRun":
		_, err = w.Value()
		r.dryRun = string(w.Last().Of(w.Text())) == "true"
	case "kind":
		err = s.readKind(w)
	case "options":
		err = s.readOptions(w)
	case "object":
		if r.incoming, err = in.readObject(); err != nil {
			err = fmt.Errorf("object: %w", err)
		}
	case "oldObject":
		if r.live, err = in.readObject(); err != nil {
			err = fmt.Errorf("oldObject: %w", err)
		}
	default:
		_, err = w.Value()
	}
	return err
}

// readObject reads the next value, which must be an object or null.
func (in *reader) readObject() (ownership.Object, error) {
	o, length, err := in.object.Read(in.walker.Rest(), in.walker.Depth())
	if err == nil {
		in.walker.Skip(length)
	}
	return o, err
}

func (s *reviewStrings) readKind(w *rawjson.Walker) error {
	_, err := w.Object(func(name []byte) (err error) {
		switch string(name) {
		case "group":
			s.group, err = stringOf(w)
		case "version":
			s.version, err = stringOf(w)
		case "kind":
			s.kind, err = stringOf(w)
		default:
			_, err = w.Value()
		}
		return err
	})
	return err
}

func (s *reviewStrings) readOptions(w *rawjson.Walker) error {
	_, err := w.Object(func(name []byte) (err error) {
		if string(name) == "fieldManager" {
			s.fieldManager, err = stringOf(w)
			return err
		}
		_, err = w.Value()
		return err
	})
	return err
}

// stringOf reads one value and returns it if it is a string, nil otherwise.
func stringOf(w *rawjson.Walker) ([]byte, error) {
	span, err := w.Value()
	if err != nil {
		return nil, err
	}
	s, _ := rawjson.UnquoteBytes(span.Of(w.Text()))
	return s, nil
}
