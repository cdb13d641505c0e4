package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// ReadTexts reads files, the files in directories with an extension that kubectl reads, URLs and, for "-", in. If recursive is
// set, it also reads the directories in directories. The error is one line that includes a remedy.
func ReadTexts(ctx context.Context, in io.Reader, names []string, recursive bool) ([]Text, error) {
	var texts []Text
	for _, name := range names {
		read, err := readText(ctx, in, name, recursive)
		if err != nil {
			return nil, err
		}
		texts = append(texts, read...)
	}
	return texts, nil
}

func readText(ctx context.Context, in io.Reader, name string, recursive bool) ([]Text, error) {
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
		return readDir(name, recursive)
	}
	content, err := os.ReadFile(name) //nolint:gosec // the user names the file
	return []Text{{name, content}}, err
}

func readDir(name string, recursive bool) (texts []Text, err error) {
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !recursive:
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(resource.FileExtensions, filepath.Ext(path)):
			return nil
		}
		content, err := os.ReadFile(path) //nolint:gosec // in a directory that the user names
		texts = append(texts, Text{path, content})
		return err
	})
	return texts, err
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
