// Package upstream reads test tables of other modules from the module cache, so that tests can run them against this module
// without a copy.
package upstream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Dir returns the directory of a module in the module cache. The module is a dependency of this module, or has the form
// path@version. If it is not in the cache, Dir skips the test with a message that contains the remedy.
func Dir(t *testing.T, module string) string {
	t.Helper()
	//nolint:gosec // the module is a constant of a test
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("%s is not in the module cache (%v); run go mod download %s", module, err, module)
	}
	return dir
}

// Row is a row of a table: its fields by name, including those of embedded structs. The value of a string or []byte field is its
// content; the value of any other field is its source text.
type Row map[string]string

// Table returns the rows of a variable that is a slice of structs.
func Table(t *testing.T, file, variable string) []Row {
	t.Helper()
	list, ok := value(t, file, variable).(*ast.CompositeLit)
	if !ok {
		t.Fatalf("%s: %s is not a slice of structs", file, variable)
	}
	rows := make([]Row, len(list.Elts))
	for i, element := range list.Elts {
		rows[i] = Row{}
		fill(rows[i], element)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: %s is empty", file, variable)
	}
	return rows
}

func fill(row Row, element ast.Expr) {
	literal, ok := element.(*ast.CompositeLit)
	if !ok {
		return
	}
	for _, field := range literal.Elts {
		pair, ok := field.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name := written(pair.Key)
		if text, ok := Text(pair.Value); ok {
			row[name] = text
		} else if _, nested := pair.Value.(*ast.CompositeLit); nested {
			fill(row, pair.Value)
		} else {
			row[name] = written(pair.Value)
		}
	}
}

// String returns the value of a variable that is a string or a []byte.
func String(t *testing.T, file, variable string) string {
	t.Helper()
	text, ok := Text(value(t, file, variable))
	if !ok {
		t.Fatalf("%s: %s is not a string or []byte", file, variable)
	}
	return text
}

// Text returns the value of an expression that is a string, or a conversion of a string to []byte.
func Text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.CallExpr:
		if _, conversion := e.Fun.(*ast.ArrayType); conversion && len(e.Args) == 1 {
			return Text(e.Args[0])
		}
	case *ast.BinaryExpr:
		left, ok := Text(e.X)
		right, okRight := Text(e.Y)
		return left + right, ok && okRight && e.Op == token.ADD
	}
	return "", false
}

// Texts returns the string literals in each function of the test files in a directory, by file and function.
func Texts(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no test files: %v", folder, err)
	}
	texts := map[string][]string{}
	for _, file := range files {
		for _, declaration := range parse(t, file).Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := filepath.Base(file) + "/" + function.Name.Name
			ast.Inspect(function, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok {
					if text, isText := Text(literal); isText {
						texts[name] = append(texts[name], text)
					}
				}
				return true
			})
		}
	}
	return texts
}

func value(t *testing.T, file, variable string) ast.Expr {
	t.Helper()
	var found ast.Expr
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Names[0].Name == variable {
			found = spec.Values[0]
		}
		return found == nil
	})
	if found == nil {
		t.Fatalf("%s has no variable %s", file, variable)
	}
	return found
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// written returns the last name in an expression: ManifestFirst of pkg.ManifestFirst.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.BasicLit:
		return e.Value
	default:
		return ""
	}
}
