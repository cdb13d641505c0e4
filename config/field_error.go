package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fieldError is an error about a field of the file.
type fieldError struct {
	path string // as rules[0].fields[1]
	err  error
}

// Error returns the error with the path.
func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

// Unwrap returns the error without the path.
func (e *fieldError) Unwrap() error { return e.err }

// inField returns an error about a field, or about a field in it.
func inField(path string, err error) error {
	var nested *fieldError
	if errors.As(err, &nested) {
		return &fieldError{path + "." + nested.path, nested.err}
	}
	return &fieldError{path, err}
}

// withLine returns the error with the line of the field that it is about, if that is known.
func withLine(text []byte, err error) error {
	var in *fieldError
	var document yaml.Node
	if !errors.As(err, &in) || yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return err
	}
	node, found := document.Content[0], false
	for _, name := range strings.FieldsFunc(in.path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := childOf(node, name)
		if next == nil {
			break // the field is missing
		}
		node, found = next, true
	}
	if !found {
		return err
	}
	return fmt.Errorf("line %d: %w", node.Line, err)
}

// childOf returns the value of a member of a map or the element of a list with an index, nil if there is none.
func childOf(node *yaml.Node, name string) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i, child := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode && strconv.Itoa(i) == name:
			return child
		case node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == name:
			return child
		}
	}
	return nil
}
