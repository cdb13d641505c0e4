package plugin_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deleteListed deletes the parts of a manifest that the output of release lists: from the snippet to the end of the last line or,
// in a flow collection, to the end of the value.
func deleteListed(t *testing.T, output, file, text string) string {
	t.Helper()
	listed := regexp.MustCompile(regexp.QuoteMeta(file)+`:(\d+)(?:-(\d+))?: delete ("(?:\\.|[^"\\])*")`).FindAllStringSubmatch(output, -1)
	lines := strings.SplitAfter(text, "\n")
	for _, one := range slices.Backward(listed) {
		first, _ := strconv.Atoi(one[1])
		last := first
		if one[2] != "" {
			last, _ = strconv.Atoi(one[2])
		}
		snippet, err := strconv.Unquote(one[3])
		if err != nil {
			t.Fatal(err)
		}
		rest := deleteSnippet(t, strings.Join(lines[first-1:last], ""), snippet)
		lines = slices.Replace(lines, first-1, last, append([]string{rest}, slices.Repeat([]string{""}, last-first)...)...)
	}
	return strings.Join(lines, "")
}

// isInBrackets reports whether lines are part of a flow collection.
func isInBrackets(lines string) bool {
	bare := regexp.MustCompile(`"(\\.|[^"\\])*"|'[^']*'|#.*`).ReplaceAllString(lines, "")
	opened := strings.Count(bare, "{") + strings.Count(bare, "[")
	return opened != strings.Count(bare, "}")+strings.Count(bare, "]") || strings.HasSuffix(strings.TrimSpace(bare), ",")
}

// beginsElement reports whether lines begin with the dash of an element whose first member has that name, or whose members
// follow on the next lines. Otherwise, the dash is that of an element around the brackets.
func beginsElement(lines, name string) bool {
	if !strings.HasPrefix(lines, "-") {
		return false
	}
	first := regexp.MustCompile(`^-[ \t]*["']?([\w./-]+)["']?:`).FindStringSubmatch(lines)
	return len(first) == 0 || first[1] == strings.Trim(name, `"'`)
}

// findMembers returns where the members in a flow collection begin, and where their names end: those with the name and, if the
// snippet has one, the value.
func findMembers(lines, name, value string) (found [][]int) {
	plain := strings.NewReplacer(`"`, "", `'`, "")
	value = strings.TrimSpace(strings.TrimSuffix(plain.Replace(strings.TrimPrefix(value, ":")), "..."))
	all := regexp.MustCompile(`(?:^\s*|[{,]\s*)"?`+regexp.QuoteMeta(name)+`"?:`).FindAllStringIndex(lines, -1)
	for _, at := range all {
		if strings.HasPrefix(strings.TrimSpace(plain.Replace(lines[at[1]:])), value) {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return all // the snippet shows the value in another style
	}
	return found
}

// deleteSnippet deletes a snippet from its lines.
func deleteSnippet(t *testing.T, lines, snippet string) string {
	t.Helper()
	key, _, _ := strings.Cut(snippet, ":")
	begin := strings.TrimLeft(lines, " ")
	switch indent := lines[:len(lines)-len(begin)]; {
	case strings.HasPrefix(snippet, "-") && beginsElement(begin, strings.TrimPrefix(key, "- ")),
		strings.HasPrefix(begin, key+":") && !isInBrackets(lines):
		return ""
	case strings.HasPrefix(strings.TrimLeft(begin, "- "), key+":") && strings.HasPrefix(begin, "- "):
		return indent + "-\n"
	}
	// In a flow collection.
	members := findMembers(lines, strings.TrimPrefix(key, "- "), snippet[len(key):])
	switch {
	case strings.HasPrefix(snippet, "-"), strings.HasPrefix(snippet, "{"):
		t.Logf("the test does not support elements of flow sequences: %s of %s", snippet, lines)
		return "UNSTRUCK"
	case len(members) > 1:
		t.Logf("%s is on these lines more than once: %s", snippet, lines)
		return "UNSTRUCK"
	case len(members) == 0:
		t.Fatalf("%q is not on the lines that are named:\n%s", snippet, lines)
	}
	at := members[0]
	from, depth, quoted := at[0], 0, false
	if strings.ContainsRune("{,", rune(lines[from])) {
		from++
	}
	for i := at[1]; i < len(lines); i++ {
		switch c := lines[i]; {
		case c == '"' && lines[i-1] != '\\':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case c == ',' && depth == 0:
			return lines[:from] + lines[i+1:]
		case (c == '}' || c == ']') && depth == 0:
			return strings.TrimSuffix(lines[:from], ",") + lines[i:]
		}
	}
	t.Fatalf("%q has no end:\n%s", snippet, lines)
	return ""
}
