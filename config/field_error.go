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
	path string // as rules[0].fields[1]; empty for the document
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

// withLine returns the error with the line of the field that it is about, or of the parent that lacks it.
func withLine(document *yaml.Node, err error) error {
	var in *fieldError
	if !errors.As(err, &in) {
		return err
	}
	node, line := document, max(document.Line, 1) // 0 for an empty file
	for _, name := range strings.FieldsFunc(in.path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if node, line = childOf(node, name, line); node == nil {
			break
		}
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// childOf returns the value of a member of a map or the element of a list with an index, and its line. Without one, or behind an alias,
// which has its own line, it returns nil and the line of the parent.
func childOf(node *yaml.Node, name string, line int) (*yaml.Node, int) {
	for i, child := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode && strconv.Itoa(i) == name:
			return child, child.Line
		case node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == name:
			return child, node.Content[i-1].Line
		}
	}
	return nil, line
}
