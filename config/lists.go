package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"
)

// file is a HandoffConfiguration as the file has it.
type file struct {
	APIVersion  string          `json:"apiVersion"`
	Kind        string          `json:"kind"`
	Appliers    json.RawMessage `json:"appliers"`
	Imperative  json.RawMessage `json:"imperative"`
	Autoscalers json.RawMessage `json:"autoscalers"`
	Scalers     json.RawMessage `json:"scalers"`
	Packs       []string        `json:"packs"`
	Rules       []Rule          `json:"rules"`
}

// listed is an element of the list of a field. At is its path in the file, empty for a default.
type listed[T any] struct {
	field, at string
	value     T
}

// resolve applies the file to the defaults. The error names the field.
func (f file) resolve() (c HandoffConfiguration, managers []listed[string], err error) {
	c = Default()
	c.APIVersion, c.Kind, c.Packs, c.Rules = f.APIVersion, f.Kind, f.Packs, f.Rules
	for _, l := range []struct {
		field string
		text  json.RawMessage
		into  *[]string
	}{
		{"appliers", f.Appliers, &c.Appliers}, {"imperative", f.Imperative, &c.Imperative},
		{"autoscalers", f.Autoscalers, &c.Autoscalers},
	} {
		resolved, err := after(l.field, l.text, *l.into, func(a, b string) bool { return a == b })
		if err != nil {
			return c, nil, err
		}
		*l.into = valuesOf(resolved)
		managers = append(managers, resolved...)
	}
	scalers, err := after("scalers", f.Scalers, c.Scalers, func(a, b Scaler) bool { return a.String() == b.String() })
	if err != nil {
		return c, nil, err
	}
	c.Scalers = valuesOf(scalers)
	for _, s := range scalers {
		if _, err := s.value.parse(); err != nil {
			return c, nil, inField(s.at, err)
		}
	}
	err = c.addPacks()
	return c, managers, err
}

func valuesOf[T any](all []listed[T]) []T {
	values := make([]T, len(all))
	for i := range all {
		values[i] = all[i].value
	}
	return values
}

// after returns a list of defaults after what the file says about its field: a list, which replaces it, or an object, which adds to it
// and removes from it. The error is about a change that never has an effect.
func after[T comparable](field string, text json.RawMessage, defaults []T, same func(a, b T) bool) (list []listed[T], err error) {
	var change struct {
		Add    []T `json:"add"`
		Remove []T `json:"remove"`
	}
	added := field + ".add"
	switch {
	case len(text) == 0, string(text) == "null": // a key without a value, as when all its elements are commented out
	case text[0] == '{':
		err = decode(field, text, &change)
	default:
		err, defaults, added = decode(field, text, &change.Add), nil, field
	}
	if err != nil {
		return nil, err
	}
	has := func(list []T, is T) bool {
		return slices.ContainsFunc(list, func(other T) bool { return same(other, is) })
	}
	for i, value := range change.Remove {
		switch {
		case has(change.Remove[:i], value):
			err = errTwice
		case !has(defaults, value):
			err = fmt.Errorf("is not a default of %s; correct or delete it", field)
		}
		if err != nil {
			return nil, inField(fmt.Sprintf("%s.remove[%d]", field, i), fmt.Errorf("%q %w", fmt.Sprint(value), err))
		}
	}
	for _, value := range defaults {
		if !has(change.Remove, value) {
			list = append(list, listed[T]{field: field, value: value})
		}
	}
	for i, value := range change.Add {
		at := fmt.Sprintf("%s[%d]", added, i)
		switch {
		case has(change.Add[:i], value):
			err = errTwice
		case slices.Contains(defaults, value) && has(change.Remove, value):
			err = fmt.Errorf("is also in %s.remove; delete one of them", field)
		case slices.Contains(defaults, value):
			continue // a later version can make it a default
		case has(defaults, value) && !has(change.Remove, value):
			err = fmt.Errorf("is a default of %s with another value; list it in %[1]s.remove, too", field)
		}
		if err != nil {
			return nil, inField(at, fmt.Errorf("%q %w", fmt.Sprint(value), err))
		}
		list = append(list, listed[T]{field, at, value})
	}
	return list, nil
}

var errTwice = errors.New("is listed twice; delete one of them")

// decode decodes JSON, in which no field may be unknown. The error is about the field; field is that of the text in the file.
func decode(field string, text []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(text, into)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		kinds := map[reflect.Kind]string{reflect.String: "a string", reflect.Int: "a number", reflect.Slice: "a list"}
		want := cmp.Or(kinds[wrong.Type.Kind()], "an object")
		return inField(pathAt(field, text, wrong.Offset), fmt.Errorf("is of type %s; write %s", wrong.Value, want))
	}
	if err != nil || len(strict) == 0 {
		return err
	}
	var unknown kjson.FieldError
	if !errors.As(strict[0], &unknown) {
		return strict[0]
	}
	return inField(strings.TrimPrefix(field+"."+unknown.FieldPath(), "."), errors.New("unknown field; correct or delete it"))
}

// pathAt returns the path of the value at or before an offset in the text of a field.
func pathAt(field string, text []byte, offset int64) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for decoder.InputOffset() < offset {
		if _, err := decoder.ReadToken(); err != nil {
			break
		}
	}
	path := arrayIndex.ReplaceAllString(field+string(decoder.StackPointer()), "[$1]")
	return cmp.Or(strings.TrimPrefix(strings.ReplaceAll(path, "/", "."), "."), "the document")
}

// arrayIndex matches an index in a JSON pointer.
var arrayIndex = regexp.MustCompile(`/(\d+)\b`)
