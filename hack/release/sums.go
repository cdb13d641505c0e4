package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// sumsFile is the name of the file with the digests of all others, as sha256sum --check reads it.
const sumsFile = "SHA256SUMS"

// writeSums writes the digests of all files that are there.
func writeSums(_ context.Context, r *release) error {
	text, err := sumsOf(r.folder)
	if err != nil {
		return err
	}
	return r.write(sumsFile, text)
}

// sumsOf returns the digests of the files of a folder, but for that of the checksums.
func sumsOf(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, entry := range entries {
		if entry.Name() == sumsFile {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%x  %s\n", sum(content), entry.Name())
	}
	return text.Bytes(), nil
}

func sum(content []byte) []byte {
	digest := sha256.Sum256(content)
	return digest[:]
}

// canonical returns a message as JSON, always with the same white space.
func canonical(message proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}
