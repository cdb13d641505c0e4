package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// locate returns an error of files with its position in the file. The parser counts lines from the start of a YAML document, and
// its error for a document without a kind quotes the whole document.
func locate(err error, input []byte) error {
	line := strings.Join(strings.Fields(err.Error()), " ")
	if before, _, found := strings.Cut(line, " is missing in "); found {
		return fmt.Errorf("%s is missing; the files must contain objects, as written by kubectl get -o yaml",
			strings.TrimPrefix(before, "error: "))
	}
	line = ParserText(err)
	found := regexp.MustCompile(`^(?:error: )?error parsing (.+?): `).FindStringSubmatch(line)
	if strings.HasSuffix(line, "does not exist") {
		return errors.New(line + "; check the path, or use - for standard input")
	}
	if found == nil {
		return errors.New(strings.TrimPrefix(line, "error: "))
	}
	text := input
	if found[1] != stdin {
		var unread error
		if text, unread = os.ReadFile(found[1]); unread != nil { // a URL
			return errors.New(line)
		}
	}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		switch err := documents.Decode(new(yaml.Node)); {
		case errors.Is(err, io.EOF):
			return errors.New(line)
		case err != nil:
			return fmt.Errorf("%s: %s; fix the file", found[1], ParserText(err))
		}
	}
}
