package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// embeddable are the types that structs of code outside of tests embed, each to implement an interface with it.
func embeddable() []string {
	return []string{
		"toolscache.SharedIndexInformer",
		"http.ResponseWriter", "http.RoundTripper", "net.Conn", "net.Listener",
		"metav1.ObjectMeta", "metav1.TypeMeta", // metav1.Object and runtime.Object
		"installation.Answer", // its JSON is a part of the status of a namespace
	}
}

// A field with a name shows at each use where a method or a value comes from.
func TestStructsEmbedOnlyToImplementAnInterface(t *testing.T) {
	allowed, used := embeddable(), map[string]bool{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.ToSlash(file), root+"/test/") {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			structure, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range structure.Fields.List {
				if len(field.Names) > 0 {
					continue
				}
				embedded := types.ExprString(field.Type)
				if used[embedded] = true; !slices.Contains(allowed, embedded) {
					t.Errorf("%s embeds %s: give the field a name or, if it implements an interface with it, add the type to this test",
						positions.Position(field.Pos()), embedded)
				}
			}
			return true
		})
	}
	for _, name := range allowed {
		if !used[name] {
			t.Errorf("no struct embeds %s any more: remove it from this test", name)
		}
	}
}

// goFiles returns the Go files of this module and of those in its folders.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 400 {
		t.Fatalf("%d Go files: %v", len(files), err)
	}
	return files
}
