package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/hack/image"
)

// gzipped returns a compressed tar archive.
func gzipped(at time.Time, members []image.Member) ([]byte, error) {
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	err := errors.Join(image.WriteTar(packed, at, members), packed.Close())
	return archive.Bytes(), err
}

// membersOf returns the files below a folder, in the order of their paths, with prefix before each name.
func membersOf(folder, prefix string) (members []image.Member, err error) {
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		members = append(members, image.Member{Name: prefix + filepath.ToSlash(below), Mode: 0o644, Content: content})
		return err
	})
	return members, err
}

// find returns the content of a file in a tar archive.
func find(archive io.Reader, name string) ([]byte, error) {
	files := tar.NewReader(archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("no %s in the archive", name)
		}
		if err != nil {
			return nil, err
		}
		if filepath.Clean(header.Name) == name {
			return io.ReadAll(files)
		}
	}
}

// findInGzip returns the content of a file in a compressed tar archive.
func findInGzip(path, name string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	content, err := find(unpacked, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}
