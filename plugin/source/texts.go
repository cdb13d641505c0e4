package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
)

// Text is the text of a file.
type Text struct {
	// Name is the name or URL of the file.
	Name    string
	Content []byte
}

// ReadTexts reads files, the files in directories with an extension that kubectl reads, URLs and, for "-", in. The error is one
// line that includes a remedy.
func ReadTexts(ctx context.Context, in io.Reader, names []string) ([]Text, error) {
	var texts []Text
	for _, name := range names {
		read, err := readText(ctx, in, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, read...)
	}
	return texts, nil
}

func readText(ctx context.Context, in io.Reader, name string) ([]Text, error) {
	switch {
	case name == "-":
		content, err := io.ReadAll(in)
		return []Text{{stdin, content}}, err
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		content, err := download(ctx, name)
		return []Text{{name, content}}, err
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the path %q does not exist; check the path, or use - for standard input", name)
	case err != nil:
		return nil, err
	case info.IsDir():
		return readDir(name)
	}
	content, err := os.ReadFile(name) //nolint:gosec // the user names the file
	return []Text{{name, content}}, err
}

func readDir(name string) ([]Text, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var texts []Text
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		if entry.IsDir() || !slices.Contains(resource.FileExtensions, filepath.Ext(path)) {
			continue
		}
		content, err := os.ReadFile(path) //nolint:gosec // in a directory that the user names
		if err != nil {
			return nil, err
		}
		texts = append(texts, Text{path, content})
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
