package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
)

// Text is the text of a file.
type Text struct {
	// Name is the name of the file.
	Name    string
	Content []byte
}

// ReadTexts reads files, the files that a pattern matches, the files in directories with an extension that kubectl reads and, for "-",
// in. If recursive is set, it also reads the directories in directories. The error is one line that includes a remedy.
func ReadTexts(in io.Reader, names []string, recursive bool) (texts []Text, err error) {
	for _, name := range names {
		if name == "-" {
			content, err := io.ReadAll(in)
			if err != nil {
				return nil, err
			}
			texts = append(texts, Text{"standard input", content})
			continue
		}
		paths, _ := filepath.Glob(name) // a malformed pattern is the name of a file
		if _, err := os.Stat(name); err == nil || len(paths) == 0 {
			paths = []string{name}
		}
		for _, path := range paths {
			visitors, err := resource.ExpandPathsToFileVisitors(nil, path, recursive, resource.FileExtensions, nil)
			if errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("the path %q does not exist; check the path, or use - for standard input", name)
			}
			if err != nil {
				return nil, err
			}
			for _, visitor := range visitors {
				file := visitor.(*resource.FileVisitor) //nolint:forcetypeassert // as the name of the function says
				content, err := os.ReadFile(file.Path)
				if err != nil {
					return nil, err
				}
				texts = append(texts, Text{file.Path, content})
			}
		}
	}
	return texts, nil
}

var documentLine = regexp.MustCompile(`yaml: (line \d+):`)

// readError returns an error of files as one line. The error of a document without a kind quotes the whole document.
func readError(err error) error {
	if before, _, found := strings.Cut(err.Error(), " is missing in "); found {
		return fmt.Errorf("%s is missing; the files must contain objects, as written by kubectl get -o yaml", before)
	}
	line := documentLine.ReplaceAllString(ParserText(err), "$1 of the document:")
	return errors.New(strings.TrimPrefix(line, "error "))
}

// quoted matches what the errors of parsers quote from a file.
var quoted = regexp.MustCompile(strings.Join([]string{
	"`[^`]*`",                                  // cannot unmarshal !!str `hunter2` into …
	`'[^']*'`,                                  // unknown anchor 'hunter2' referenced
	`![^ ]*[^ !,:;]`,                           // a tag
	`invalid map key: .*`,                      // … map[interface {}]interface {}{"hunter2":…}
	`parsing "(\\.|[^"])*"`, `parsing time .*`, // strconv.ParseInt: parsing "hunter2"
	`number [^ ]*[0-9][^ ]* into`,            // cannot unmarshal number 1234 into …
	`(: value: \{|node contents:|: node:).*`, // kyaml appends the node that it could not use
}, "|"))

// ParserText returns a parser's error as one line, without the parts that it quotes from the file. The file can contain a Secret,
// and YAML parses a password that begins with an asterisk as the name of an alias.
func ParserText(err error) string {
	line := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	return quoted.ReplaceAllStringFunc(line, func(found string) string {
		if len(found) == 3 && found[0] == '\'' && strings.ContainsAny(found[1:2], ",-:?[]{}") {
			return found // the parser's own: did not find expected ',' or ']'
		}
		return hiddenText
	})
}
