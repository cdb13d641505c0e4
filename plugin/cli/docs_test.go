package cli_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

// TestTheExamplesOfRulesAreConfigurations parses the rules in docs/rules.md.
func TestTheExamplesOfRulesAreConfigurations(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(golden.Read(t, "../../docs/rules.md"), -1)
	if len(blocks) < 3 {
		t.Errorf("found %d blocks on the page", len(blocks))
	}
	for _, block := range blocks {
		text := block[1]
		if !strings.HasPrefix(text, "apiVersion:") {
			text = "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\n" + text
		}
		c, err := config.Parse([]byte(text))
		if err != nil || len(c.Rules) == 0 {
			t.Errorf("%v: %s", err, block[1])
		}
	}
}

// TestThePageShowsRealOutput compares the output in docs/kubectl-plugin.md with the golden files of the tests.
func TestThePageShowsRealOutput(t *testing.T) {
	var seen strings.Builder
	for _, pattern := range []string{"testdata/*.golden", "../../test/plugin/testdata/*.golden", "../../test/doctor/testdata/*.golden"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			seen.WriteString(golden.Read(t, file))
		}
	}
	shown, page := 0, golden.Read(t, "../../docs/kubectl-plugin.md")
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for command := range strings.SplitSeq(strings.TrimPrefix(block[1], "$ "), "\n$ ") {
			want := "$ " + golden.Settle(strings.TrimSuffix(command, "\n")) + "\n[exit code "
			if !strings.Contains(seen.String(), want) {
				t.Errorf("no golden file contains\n%s", want)
			}
			shown++
		}
	}
	if shown < 10 {
		t.Errorf("found %d commands on the page", shown)
	}
}

func TestKrewManifestListsAllPlatforms(t *testing.T) {
	var manifest struct {
		Spec struct {
			Platforms []struct {
				Selector struct {
					MatchLabels struct{ OS, Arch string } `json:"matchLabels"`
				}
				URI, SHA256, Bin string
			}
		}
	}
	expect.NoError(t, yaml.Unmarshal([]byte(golden.Read(t, "../../manifests/krew/handoff.yaml")), &manifest))
	platforms := make([]string, 0, len(manifest.Spec.Platforms))
	for _, p := range manifest.Spec.Platforms {
		name := p.Selector.MatchLabels.OS + "-" + p.Selector.MatchLabels.Arch
		if p.SHA256 != "SHA256-"+name || !strings.HasSuffix(p.URI, "/VERSION/kubectl-handoff-"+name+".tar.gz") {
			t.Errorf("%s: %+v", name, p)
		}
		platforms = append(platforms, strings.Replace(name, "-", "/", 1))
	}
	want := "PLUGIN_PLATFORMS ?= " + strings.Join(platforms, " ") + "\n"
	if !strings.Contains(golden.Read(t, "../../Makefile"), want) {
		t.Errorf("the Makefile has no line %s", want)
	}
}
