package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
)

// stdin is the name of standard input in messages.
const stdin = "standard input"

// Text is the text of a file.
type Text struct {
	// Name is the name or URL of the file.
	Name    string
	Content []byte
}

// ReadTexts reads files, the files that a pattern matches, the files in directories with an extension that kubectl reads, URLs and,
// for "-", in. If recursive is set, it also reads the directories in directories. The error is one line that includes a remedy.
func ReadTexts(ctx context.Context, in io.Reader, names []string, recursive bool) ([]Text, error) {
	var texts []Text
	for _, name := range names {
		var err error
		switch {
		case name == "-":
			var content []byte
			content, err = io.ReadAll(in)
			texts = append(texts, Text{stdin, content})
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			var content []byte
			content, err = download(ctx, name)
			texts = append(texts, Text{name, content})
		default:
			var read []Text
			read, err = readPath(name, recursive)
			texts = append(texts, read...)
		}
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// readPath reads a file, the files in a directory, or those that a pattern matches.
func readPath(name string, recursive bool) (texts []Text, err error) {
	matches, _ := filepath.Glob(name) // a malformed pattern is the name of a file
	if _, err := os.Stat(name); err != nil && len(matches) > 0 {
		for _, match := range matches {
			read, err := readPath(match, recursive)
			if err != nil {
				return nil, err
			}
			texts = append(texts, read...)
		}
		return texts, nil
	}
	visitors, err := resource.ExpandPathsToFileVisitors(nil, name, recursive, resource.FileExtensions, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the path %q does not exist; check the path, or use - for standard input", name)
	}
	if err != nil {
		return nil, err
	}
	for _, visitor := range visitors {
		if file, ok := visitor.(*resource.FileVisitor); ok {
			content, err := os.ReadFile(file.Path)
			if err != nil {
				return nil, err
			}
			texts = append(texts, Text{file.Path, content})
		}
	}
	return texts, nil
}

func download(ctx context.Context, url string) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server responded with %s; check the URL", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
