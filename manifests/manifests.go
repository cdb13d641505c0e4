// Package manifests contains the manifests that kubectl handoff doctor compares an installation with.
package manifests

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed base/*.yaml overlays/self-signed/*.yaml guard/*.yaml
var files embed.FS

// The folders that are embedded.
const (
	Base       = "base"
	SelfSigned = "overlays/self-signed"
	Guard      = "guard"
)

// Objects returns the objects of a kind in the files of a folder.
func Objects[T any](folder, kind string) (objects []T, err error) {
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("finding the embedded manifests: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded manifests: %w", err)
		}
		if objects, err = appendObjects(objects, text, kind); err != nil {
			return nil, fmt.Errorf("reading the embedded manifest %s: %w", name, err)
		}
	}
	return objects, nil
}

func appendObjects[T any](objects []T, text []byte, kind string) ([]T, error) {
	for decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text)); ; {
		var document json.RawMessage
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(document, &meta); err != nil {
			return nil, err
		}
		if meta.Kind != kind {
			continue
		}
		var object T
		if err := json.Unmarshal(document, &object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}
