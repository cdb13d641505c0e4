package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// locate returns an error of files with its position in the file. The parser counts lines from the start of a YAML document, and
// its error for a document without a kind quotes the whole document.
func locate(err error, texts []Text) error {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if before, _, found := strings.Cut(line, " is missing in "); found {
		return fmt.Errorf("%s is missing; the files must contain objects, as written by kubectl get -o yaml",
			strings.TrimPrefix(before, "error: "))
	}
	line = ParserText(err)
	found := regexp.MustCompile(`^(?:error: )?error parsing (.+?): `).FindStringSubmatch(line)
	isIn := func(text Text) bool { return found != nil && text.Name == found[1] }
	at := slices.IndexFunc(texts, isIn)
	if at < 0 {
		return errors.New(strings.TrimPrefix(line, "error: "))
	}
	for documents := yaml.NewDecoder(bytes.NewReader(texts[at].Content)); ; {
		switch err := documents.Decode(new(yaml.Node)); {
		case errors.Is(err, io.EOF):
			return errors.New(line)
		case err != nil:
			return fmt.Errorf("%s: %s; fix the file", found[1], ParserText(err))
		}
	}
}

// ParserText returns a parser's error as one line, without the parts that it quotes from the file. The file can contain a Secret,
// and YAML parses a password that begins with an asterisk as the name of an alias.
func ParserText(err error) string {
	line := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	// kyaml appends the node that it could not use.
	for _, before := range []string{": value: {", "node contents:", ": node:"} {
		line, _, _ = strings.Cut(line, before)
	}
	for _, quoted := range []string{
		"`[^`]*`",             // cannot unmarshal !!str `hunter2` into …
		`'[^']*'`,             // unknown anchor 'hunter2' referenced
		`![^ ]*[^ !,:;]`,      // a tag
		`invalid map key: .*`, // … map[interface {}]interface {}{"hunter2":…}
		`strconv\.[A-Za-z]+: parsing "(\\.|[^"])*"`, // … parsing "hunter2"
		`parsing time .*`,             // … as "2006-01-02T15:04:05Z07:00"
		`number [^ ]*[0-9][^ ]* into`, // cannot unmarshal number 1234 into …
	} {
		line = regexp.MustCompile(quoted).ReplaceAllStringFunc(line, func(found string) string {
			if len(found) == 3 && found[0] == '\'' && strings.ContainsAny(found[1:2], ",-:?[]{}") {
				return found // the parser's own: did not find expected ',' or ']'
			}
			if first, _, more := strings.Cut(found, " "); more && found[0] != '\'' && found[0] != '`' {
				return first + " " + hiddenText
			}
			return hiddenText
		})
	}
	return line
}
