package source

import (
	"regexp"
	"strings"
)

// ParserText returns a parser's error as one line, without the parts that it quotes from the file. The file can contain a Secret,
// and YAML parses a password that begins with an asterisk as the name of an alias.
func ParserText(err error) string {
	line := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	// kyaml appends the node that it could not use.
	for _, before := range []string{": value: {", "node contents:", ": node:"} {
		line, _, _ = strings.Cut(line, before)
	}
	for _, quoted := range []string{
		"`[^`]*`",             // cannot unmarshal !!str `hunter2` into …
		`'[^']*'`,             // unknown anchor 'hunter2' referenced
		`![^ ]*[^ !,:;]`,      // a tag
		`invalid map key: .*`, // … map[interface {}]interface {}{"hunter2":…}
		`strconv\.[A-Za-z]+: parsing "(\\.|[^"])*"`, // … parsing "hunter2"
		`parsing time .*`,             // … as "2006-01-02T15:04:05Z07:00"
		`number [^ ]*[0-9][^ ]* into`, // cannot unmarshal number 1234 into …
	} {
		line = regexp.MustCompile(quoted).ReplaceAllStringFunc(line, func(found string) string {
			if len(found) == 3 && found[0] == '\'' && strings.ContainsAny(found[1:2], ",-:?[]{}") {
				return found // the parser's own: did not find expected ',' or ']'
			}
			if first, _, more := strings.Cut(found, " "); more && found[0] != '\'' && found[0] != '`' {
				return first + " " + hiddenText
			}
			return hiddenText
		})
	}
	return line
}
