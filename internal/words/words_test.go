// Package words_test tests that the project's texts use its terms: words.txt lists the words that are always wrong here.
package words_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

const root = "../.."

// word is a line of words.txt.
type word struct {
	scope, text, replacement string
	pattern                  *regexp.Regexp
}

func words(t *testing.T) []word {
	t.Helper()
	var list []word
	for _, line := range strings.Split(golden.Read(t, "words.txt"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		scope, rest, _ := strings.Cut(line, " ")
		text, replacement, ok := strings.Cut(rest, " -> ")
		if !ok || scope != "prose" && scope != "docs" {
			t.Fatalf("words.txt: %q is not SCOPE WORD -> REPLACEMENT", line)
		}
		// A phrase can continue on the next line, also in a comment or a list.
		pattern := `(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(text), " ", `[\s#]+`) + `\b`
		list = append(list, word{scope, text, replacement, regexp.MustCompile(pattern)})
	}
	if len(list) == 0 {
		t.Fatal("words.txt lists no words")
	}
	return list
}

// findings returns a line for each wrong word in a text, with the number of its line, counted from first.
func findings(list []word, text string, first int) []string {
	var found []string
	for _, w := range list {
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			line := first + strings.Count(text[:at[0]], "\n")
			found = append(found, fmt.Sprintf("%d: write %q instead of %q", line, w.replacement, w.text))
		}
	}
	return found
}

func TestDocumentsUseTheProjectsTerms(t *testing.T) {
	list := words(t)
	for _, pattern := range []string{"*.md", "docs/*.md", ".github/*.md"} {
		for _, file := range glob(t, pattern) {
			for _, finding := range findings(list, proseOf(golden.Read(t, file)), 1) {
				t.Errorf("%s:%s", file, finding)
			}
		}
	}
}

func TestManifestsAndScriptsUseTheProjectsTerms(t *testing.T) {
	list, files := words(t), slices.Concat(glob(t, "Makefile"), glob(t, ".ci/run"), golden.Files(t, root, ".sh"))
	for _, file := range append(files, golden.Files(t, filepath.Join(root, "manifests"), ".yaml", ".txt", ".tpl", ".json")...) {
		for _, finding := range findings(list, golden.Read(t, file), 1) {
			t.Errorf("%s:%s", file, finding)
		}
	}
}

// TestGoFilesUseTheProjectsTerms checks comments, the identifiers that are declared and, in the packages that print help, strings.
func TestGoFilesUseTheProjectsTerms(t *testing.T) {
	all := words(t)
	list := slices.DeleteFunc(slices.Clone(all), func(w word) bool { return w.scope == "docs" })
	printsHelp := regexp.MustCompile(`/(cmd/[^/]+|plugin/cli)/[^/]+\.go$`)
	files := golden.Files(t, root, ".go")
	if len(files) < 400 {
		t.Fatalf("only %d Go files were found", len(files))
	}
	withHelp := 0
	for _, file := range files {
		if strings.Contains(filepath.ToSlash(file), "internal/words/") {
			continue // which quotes them
		}
		var help []word
		if printsHelp.MatchString(filepath.ToSlash(file)) && !strings.HasSuffix(file, "_test.go") {
			help, withHelp = all, withHelp+1
		}
		for _, finding := range inGo(t, list, help, file, golden.Read(t, file)) {
			t.Errorf("%s:%s", file, finding)
		}
	}
	if withHelp < 15 {
		t.Errorf("only %d files that print help were found", withHelp)
	}
}

// inGo returns the findings of a list in the comments and the declared identifiers of a Go file, and those of another in its strings.
func inGo(t *testing.T, list, inStrings []word, file, text string) (found []string) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, text, parser.ParseComments)
	expect.NoError(t, err)
	mayContain := func(text string) bool { // most comments and identifiers contain none of the words, and patterns are slow
		text = strings.ToLower(text)
		return slices.ContainsFunc(list, func(w word) bool { return strings.Contains(text, strings.Fields(w.text)[0]) })
	}
	for _, comment := range parsed.Comments {
		if !mayContain(comment.Text()) {
			continue
		}
		prose := regexp.MustCompile("`[^`]*`|\"[^\"\n]*\"").ReplaceAllString(comment.Text(), "|") // what others have named
		found = append(found, findings(list, prose, positions.Position(comment.Pos()).Line)...)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			found = append(found, findings(inStrings, literal.Value, positions.Position(literal.Pos()).Line)...)
		}
		for _, name := range declaredBy(n) {
			if !mayContain(name.Name) {
				continue
			}
			found = append(found, findings(list, wordsOf(name.Name), positions.Position(name.Pos()).Line)...)
		}
		return true
	})
	return found
}

// declaredBy returns the identifiers that a node declares.
func declaredBy(n ast.Node) (names []*ast.Ident) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
				names = append(names, name)
			}
		}
	}
	return names
}

// wordsOf returns the words of an identifier in camel case, separated by dots, so that they are no phrase.
func wordsOf(identifier string) string {
	var b strings.Builder
	for i, c := range identifier {
		next := i + 1
		startsWord := unicode.IsUpper(c) && (next == len(identifier) || !unicode.IsUpper(rune(identifier[next])))
		if i > 0 && (startsWord || unicode.IsUpper(c) && !unicode.IsUpper(rune(identifier[i-1]))) {
			b.WriteByte('.')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func TestWordsAreFoundInGoFiles(t *testing.T) {
	text := "package p\n\n// It is \"told\", and told.\nfunc tellsAll() {\n\tisTold := 1\n\t_ = isTold\n}\n"
	text += "const help = `tells`\n"
	want := []string{`3: write "reported" instead of "told"`, `4: write "reports, shows" instead of "tells"`, `5: write "reported" instead of "told"`, `8: write "reports, shows" instead of "tells"`}
	expect.Equal(t, "findings", want, inGo(t, words(t), words(t), "p.go", text))
}

// TestEveryWordIsFound verifies that the checks find each word: at the start of a sentence, over a line break and in a list.
func TestEveryWordIsFound(t *testing.T) {
	for _, w := range words(t) {
		for text, want := range map[string]int{
			"It is " + w.text + " it.":                                    1,
			strings.ToUpper(w.text[:1]) + w.text[1:] + " it.":             1,
			"It is " + strings.ReplaceAll(w.text, " ", "\n  # ") + " it.": 1,
			"It is x" + w.text + "x.":                                     0, // a longer word
			"It is `" + w.text + "`.":                                     0,
			"It is\n```sh\n" + w.text + "\n```\n":                         0,
			"It is [here](" + strings.ReplaceAll(w.text, " ", "-") + ").": 0,
		} {
			expect.Equal(t, fmt.Sprintf("findings of %q in %q", w.text, text), want, len(findings([]word{w}, proseOf(text), 1)))
		}
	}
}

// proseOf returns a document without code and link targets, which quote what others have named. Its lines keep their numbers.
func proseOf(markdown string) string {
	for _, quoted := range []string{"(?ms)^ *```.*?^ *```", "``[^`].*?``", "`[^`]*`", `\]\([^)\s]*\)`} {
		markdown = regexp.MustCompile(quoted).ReplaceAllStringFunc(markdown, func(s string) string {
			return "|" + strings.Repeat("\n", strings.Count(s, "\n"))
		})
	}
	return markdown
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return files
}
