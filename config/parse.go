package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// parseYAML returns the document of a file as JSON, and its nodes, which have the lines.
func parseYAML(text []byte) (document []byte, nodes *yaml.Node, err error) {
	var parsed yaml.Node
	document, err = sigsyaml.YAMLToJSONStrict(text)
	if err == nil {
		err = yaml.Unmarshal(text, &parsed)
	}
	if err != nil || len(parsed.Content) == 0 {
		return document, &parsed, err
	}
	return document, parsed.Content[0], nil
}

// hasSecond reports whether a text has more than one document, which need not be valid.
func hasSecond(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	return decoder.Decode(new(yaml.Node)) == nil && !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF)
}

var (
	repeatedKey = regexp.MustCompile(`line \d+: key .* already set in map`)
	startOfYAML = regexp.MustCompile(`^(yaml|json): (line \d+: )?`)
)

// notYAML returns an error of parseYAML with the line. The parser names the line of a parent, or none.
func notYAML(text []byte, err error) error {
	if repeated := repeatedKey.FindString(err.Error()); repeated != "" {
		return errors.New(repeated + "; delete one of them")
	}
	line := lineOf(text, func(start []byte) bool {
		_, _, other := parseYAML(start)
		return other != nil && other.Error() == err.Error()
	})
	return fmt.Errorf("line %d: %s; correct the YAML", line, startOfYAML.ReplaceAllString(err.Error(), ""))
}

// lineOf returns the last line of the shortest start of a text that has a problem, if the text has it.
func lineOf(text []byte, has func(start []byte) bool) int {
	lines := bytes.SplitAfter(bytes.TrimRight(text, "\n"), []byte("\n"))
	return 1 + sort.Search(len(lines)-1, func(i int) bool { return has(bytes.Join(lines[:i+1], nil)) })
}
