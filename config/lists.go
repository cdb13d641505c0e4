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

// listed is a manager in the list of a field. At is its path in the file, empty for a default.
type listed struct{ field, at, manager string }

// resolve applies the file to the defaults. The error names the field.
func (f file) resolve() (c HandoffConfiguration, managers []listed, err error) {
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
		change, err := changeOf[string](l.field, l.text)
		if err != nil {
			return c, nil, err
		}
		if change.replaces {
			*l.into = change.list
		}
		resolved, err := managersAfter(change, l.field, *l.into)
		if err != nil {
			return c, nil, err
		}
		if !change.replaces {
			*l.into = nil
			for _, listed := range resolved {
				*l.into = append(*l.into, listed.manager)
			}
		}
		managers = append(managers, resolved...)
	}
	scalers, err := changeOf[Scaler]("scalers", f.Scalers)
	if err == nil {
		c.Scalers, err = scalersAfter(scalers, c.Scalers)
	}
	if err == nil {
		err = c.addPacks()
	}
	return c, managers, err
}

// change is what the file says about a list: a list, which replaces the default, or an object, which adds to it and removes from it.
type change[T any] struct {
	replaces bool
	list     []T
	Add      []T `json:"add"`
	Remove   []T `json:"remove"`
}

func changeOf[T any](field string, text json.RawMessage) (c change[T], err error) {
	if len(text) == 0 {
		return c, nil
	}
	if text[0] == '{' {
		err = decode(field, text, &c)
		return c, err
	}
	c.replaces = true
	err = decode(field, text, &c.list)
	return c, err
}

// decode decodes JSON, in which no field may be unknown. The error is about the field; field is that of the text in the file.
func decode(field string, text []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(text, into)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		kinds := map[reflect.Kind]string{reflect.String: "a string", reflect.Int: "a number", reflect.Slice: "a list"}
		return inField(pathAt(field, text, wrong.Offset), fmt.Errorf("is of type %s; write %s", wrong.Value, cmp.Or(kinds[wrong.Type.Kind()], "an object")))
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

// managersAfter returns a list of managers after the change. The error is about a change that has no effect.
func managersAfter(c change[string], field string, managers []string) (resolved []listed, err error) {
	for i, manager := range c.Remove {
		at := fmt.Sprintf("%s.remove[%d]", field, i)
		switch {
		case slices.Contains(c.Remove[:i], manager):
			err = errors.New("is listed twice; delete one of them")
		case !slices.Contains(managers, manager):
			err = fmt.Errorf("is not a default of %s; correct or delete it", field)
		}
		if err != nil {
			return nil, inField(at, fmt.Errorf("%q %w", manager, err))
		}
	}
	for i, manager := range managers {
		at := ""
		if c.replaces {
			at = fmt.Sprintf("%s[%d]", field, i)
		}
		if !slices.Contains(c.Remove, manager) {
			resolved = append(resolved, listed{field, at, manager})
		}
	}
	for i, manager := range c.Add {
		at := fmt.Sprintf("%s.add[%d]", field, i)
		switch {
		case slices.Contains(c.Add[:i], manager):
			err = errors.New("is listed twice; delete one of them")
		case slices.Contains(c.Remove, manager):
			err = fmt.Errorf("is also in %s.remove; delete one of them", field)
		case slices.Contains(managers, manager):
			err = fmt.Errorf("is a default of %s; delete it", field)
		}
		if err != nil {
			return nil, inField(at, fmt.Errorf("%q %w", manager, err))
		}
		resolved = append(resolved, listed{field, at, manager})
	}
	return resolved, nil
}

// scalersAfter returns the scalers after the change. The error is about the field.
func scalersAfter(c change[Scaler], scalers Scalers) (Scalers, error) {
	at, added := "scalers", c.list
	if !c.replaces {
		at, added = "scalers.add", c.Add
	}
	for i, removed := range c.Remove {
		at := slices.IndexFunc(scalers, removed.sameKind)
		if at < 0 {
			return nil, inField(fmt.Sprintf("scalers.remove[%d]", i), fmt.Errorf("%s is not a default scaler; delete the element", removed))
		}
		scalers = slices.Delete(scalers, at, at+1)
	}
	if c.replaces {
		scalers = nil
	}
	for i, s := range added {
		_, err := s.parse()
		if err == nil && slices.ContainsFunc(scalers, s.sameKind) {
			err = fmt.Errorf("%s is listed twice; delete one of them", s)
		}
		if err != nil {
			return nil, inField(fmt.Sprintf("%s[%d]", at, i), err)
		}
		scalers = append(scalers, s)
	}
	return scalers, nil
}
