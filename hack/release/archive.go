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
)

// member is a file of a tar archive.
type member struct {
	name    string
	mode    int64
	content []byte
}

// writeTar writes an archive of files with one time, all owned by root, by number and without a name: the same members give the
// same archive.
func writeTar(w io.Writer, at time.Time, members []member) error {
	archive := tar.NewWriter(w)
	for _, m := range members {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: m.name, Mode: m.mode, Size: int64(len(m.content)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(m.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// gzipped returns a compressed tar archive.
func gzipped(at time.Time, members []member) ([]byte, error) {
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	err := errors.Join(writeTar(packed, at, members), packed.Close())
	return archive.Bytes(), err
}

// membersOf returns the files below a folder, in the order of their paths, with prefix before each name.
func membersOf(folder, prefix string) (members []member, err error) {
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		members = append(members, member{name: prefix + filepath.ToSlash(below), mode: 0o644, content: content})
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
	packed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	content, err := find(unpacked, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}
