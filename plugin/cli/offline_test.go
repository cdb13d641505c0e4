package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ownership-handoff/handoff/plugin/cli"
	"github.com/ownership-handoff/handoff/test/golden"
)

// transcript runs command lines without a cluster, and returns them with their output.
func transcript(t *testing.T, lines ...[]string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", "/no/such/file")
	var seen strings.Builder
	for _, args := range lines {
		code, output := run(t, nil, args...)
		fmt.Fprintf(&seen, "$ kubectl handoff %s\n%s", strings.Join(args, " "), output)
		fmt.Fprintf(&seen, "[exit code %d]\n\n", code)
	}
	return seen.String()
}

func run(t *testing.T, change func(*cli.Environment), args ...string) (code int, output string) {
	t.Helper()
	input, err := os.Open("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	var both bytes.Buffer
	env := cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: input, Out: &both, ErrOut: &both},
		Version:   "v1.2.3",
		Now:       func() time.Time { return time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC) },
	}
	if change != nil {
		change(&env)
	}
	code = cli.Run(t.Context(), env, args)
	return code, both.String()
}

func words(line string) []string { return strings.Split(line, " ") }

func TestExplainFiles(t *testing.T) {
	const shop = "explain -f testdata/shop.yaml deployment/web"
	golden.Check(t, "explain", transcript(t,
		words(shop),
		words(shop+" .spec.replicas"),
		words(shop+" {.spec.template.spec.containers[0].image}"),
		words(shop+" spec.paused"),
		words(shop+" .spec.progressDeadlineSeconds"),
		words(shop+" metadata.annotations.deployment.kubernetes.io/revision"),
		words(shop+" .spec.template"),
		words(shop+" .spec"),
		words(shop+" --owner imperative,controller"),
		words(shop+" --owner autoscaler -o json"),
		words(shop+" .spec.replicas -o yaml"),
		words(shop+" -o jsonpath={.fields[0].path}"),
		words("explain -f - .spec.replicas"),
		words("explain -f testdata/shop.yaml --owner autoscaler"),
	))
}

func TestAuditFiles(t *testing.T) {
	golden.Check(t, "audit", transcript(t,
		words("audit -f testdata/shop.yaml -f testdata/namespace.yaml"),
		words("audit -f testdata/shop.yaml -f testdata/namespace.yaml --fail-on-risk"),
		words("audit -f testdata/shop.yaml -f testdata/namespace.yaml -o jsonpath={.risks[*].nextApply}"),
		words("audit -f -"),
		words("audit -f testdata/namespace.yaml --fail-on-risk"),
		words("audit -f testdata/stripped.yaml --fail-on-risk"),
		words("audit -f testdata/helm.yaml"),
		words("audit -f testdata/manifest.yaml"),
		words("audit -f testdata/shop.yaml -f testdata/namespace.yaml -l no=such"),
	))
}

func TestGapsAreReported(t *testing.T) {
	golden.Check(t, "partial", transcript(t,
		words("explain -f testdata/stripped.yaml"),
		words("explain -f testdata/stripped.yaml .spec.replicas"),
		words("explain -f testdata/helm.yaml"),
		words("explain -f testdata/helm.yaml .data.token"),
		words("explain -f testdata/helm.yaml -o json secret/token"),
		words("explain -f testdata/helm.yaml gadget/web .spec.pool.size"),
		words("explain -f testdata/helm.yaml gadgets.shop.example.com/web spec.zone"),
	))
}

func TestErrorsAreOneLineWithRemedy(t *testing.T) {
	seen := transcript(t,
		words("explain"),
		words("explain -f testdata/manifest.yaml"),
		words("explain -f testdata/malformed.yaml"),
		words("explain -f testdata/nokind.yaml"),
		words("explain -f testdata/unreadable.yaml"),
		words("explain -f testdata/nosuch.yaml"),
		words("explain -f testdata/shop.yaml deployment/api"),
		words("explain -f testdata/shop.yaml deployment/web .spec.replica"),
		words("explain -f testdata/shop.yaml deployment/web .spec.[x"),
		words("explain -f testdata/shop.yaml --owner me"),
		words("explain -f testdata/shop.yaml -o nice"),
		words("explain -f testdata/shop.yaml --config testdata/nosuch.yaml"),
		words("audit -f testdata/malformed.yaml"),
		words("audit -f testdata/nokind.yaml"),
		words("audit -f testdata/shop.yaml deployments,hpa"),
		words("audit -f testdata/shop.yaml deployment/web"),
		words("audit -f testdata/shop.yaml -l a=b=c"),
		words("audit -f testdata/shop.yaml -o nice"),
		words("audit -f testdata/shop.yaml --config testdata/nosuch.yaml"),
		words("explain --nosuch"),
		words("explian"),
		words("enable"),
		words("enable shop --dry-run=maybe"),
		words("enable shop -o nice"),
		words("status shop -l a=b"),
		words("status -l a,=b"),
		words("preview -f testdata/preview/web.yaml -l a=b=c"),
		words("preview"),
		words("preview -f testdata/malformed.yaml"),
		words("preview -f testdata/preview/web.yaml --force-conflicts"),
		words("preview -f testdata/preview/web.yaml --validate=perhaps"),
		words("preview -f testdata/preview/web.yaml -o nice"),
		words("preview -f testdata/preview/web.yaml"),
		words("preview -f testdata/preview/web.yaml --live testdata/shop.yaml"),
		words("strip -f testdata/malformed.yaml --live testdata/strip/live.yaml"),
		words("strip -f testdata/nosuch.yaml"),
		words("strip -f - --live -"),
		words("strip testdata/strip/web.yaml"),
		words("strip -f testdata/strip/anchor.yaml --live testdata/strip/live.yaml"),
		words("strip -f testdata/strip/web.yaml --live testdata/preview/new.yaml"),
		words("strip -f testdata/strip/web.yaml"),
	)
	golden.Check(t, "errors", seen)
	if strings.Contains(seen, "not to be told") {
		t.Error("an error shows a file's contents")
	}
	for block := range strings.SplitSeq(strings.TrimSpace(seen), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "error: ") || lines[2] != "[exit code 2]" {
			t.Errorf("want one line and exit code 2, got:\n%s", block)
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	for _, command := range []string{"", "explain", "preview", "audit", "release", "strip", "enable", "disable", "status"} {
		code, output := run(t, nil, strings.Fields(command+" --help")...)
		if code != cli.ExitOK || !strings.Contains(output, "Examples:\n") || !strings.Contains(output, "kubectl handoff "+command) {
			t.Errorf("%s: exit code %d\n%s", command, code, output)
		}
	}
}

func TestVersion(t *testing.T) {
	if code, output := run(t, nil, "--version"); code != cli.ExitOK || output != "kubectl handoff version v1.2.3\n" {
		t.Errorf("exit code %d, %q", code, output)
	}
}
