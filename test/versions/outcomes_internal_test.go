package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events are lines of go test -json.
const events = `{"Action":"start","Package":"m/handoff/test/guard"}
{"Action":"output","Package":"m/handoff/test/guard","Test":"TestSkipped","Output":"    a_test.go:1: no such API\n"}
{"Action":"skip","Package":"m/handoff/test/guard","Test":"TestSkipped"}
{"Action":"pass","Package":"m/handoff/test/guard"}
{"Action":"pass","Package":"m/handoff/test/e2e","Test":"TestCases/group/one"}
{"Action":"output","Package":"m/handoff/test/e2e","Test":"TestCases/group/two","Output":"        b_test.go:2: another reason\n"}
{"Action":"skip","Package":"m/handoff/test/e2e","Test":"TestCases/group/two"}
{"Action":"pass","Package":"m/handoff/test/e2e","Test":"TestCases/group"}
{"Action":"pass","Package":"m/handoff/test/e2e","Test":"TestCases"}
{"Action":"fail","Package":"m/handoff/test/e2e","Test":"TestFails"}
{"Action":"fail","Package":"m/handoff/test/e2e"}
{"Action":"output","Package":"m/handoff/test/apply","Output":"starting the control plane: no\n"}
{"Action":"fail","Package":"m/handoff/test/apply"}
`

func TestOutcomes(t *testing.T) {
	t.Parallel()
	c := collected{outputs: map[string]string{}, actions: map[string]string{}}
	var log strings.Builder
	if err := c.read(strings.NewReader(events), &log); err != nil {
		t.Fatal(err)
	}
	want := map[string]outcome{
		"test/guard TestSkipped":   {Action: skipped, Reasons: []string{"no such API"}},
		"test/e2e TestCases":       {Action: passed, Reasons: []string{"another reason"}, Skipped: 1, Subtests: 2},
		"test/e2e TestFails":       {Action: failed},
		"test/apply (the package)": {Action: failed},
	}
	if diff := cmp.Diff(want, c.outcomes()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(log.String(), "starting the control plane: no\n") {
		t.Errorf("the log lacks output:\n%s", log.String())
	}
}

func TestOutputThatIsNotOfGoTestIsAnError(t *testing.T) {
	t.Parallel()
	if err := new(collected).read(strings.NewReader("go: no such package\n"), io.Discard); err == nil {
		t.Error("want an error")
	}
}

func TestTheSummaryExplainsDifferences(t *testing.T) {
	t.Parallel()
	good := outcome{Action: passed}
	got := summary([]results{
		{Server: "1.30.14", Kubectl: "1.30.14", Tests: map[string]outcome{
			"test/guard TestA": {Action: skipped, Reasons: []string{"no such API"}}, "test/e2e TestB": good, "test/e2e TestC": good,
		}},
		{Server: "1.36.3", Kubectl: "1.34.4", Tests: map[string]outcome{
			"test/guard TestA": good, "test/e2e TestB": {Action: failed}, "test/e2e TestC": good,
		}},
	})
	for _, line := range []string{
		"| tests | 1.30.14 | 1.36.3, kubectl 1.34.4 |\n",
		"| `test/e2e` | 2 passed | 1 passed, 1 **failed** |\n",
		"| `test/guard` | 1 skipped | 1 passed |\n",
		"| tests that did not pass, or not with all cases | 1.30.14 | 1.36.3, kubectl 1.34.4 | reason |\n",
		"| `test/guard TestA` | skipped | passed | no such API |\n",
		"| `test/e2e TestB` | passed | **failed** |  |\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "TestC") {
		t.Errorf("TestC passed on both versions:\n%s", got)
	}
}

func TestTheSummaryOfOneVersionExplainsItsSkippedTests(t *testing.T) {
	t.Parallel()
	got := summary([]results{{Server: "1.30.14", Kubectl: "1.30.14", Tests: map[string]outcome{
		"test/guard TestA": {Action: skipped, Reasons: []string{"no such API"}},
		"test/e2e TestB":   {Action: passed, Reasons: []string{"no such field"}, Skipped: 1, Subtests: 5},
	}}})
	for _, line := range []string{
		"| `test/guard TestA` | skipped | no such API |\n", "| `test/e2e TestB` | passed, without 1 of 5 cases | no such field |\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
}

func TestTheSummaryHasOneRowForAPackageThatIsSkipped(t *testing.T) {
	t.Parallel()
	none := outcome{Action: skipped, Reasons: []string{"no such API"}}
	got := summary([]results{
		{Server: "1.30.14", Kubectl: "1.30.14", Tests: map[string]outcome{
			"test/guard TestA": none, "test/guard TestB": none, "test/e2e TestA": none, "test/e2e TestB": none, "test/e2e TestC": {Action: passed},
		}},
		{Server: "1.36.3", Kubectl: "1.36.3", Tests: map[string]outcome{
			"test/guard TestA": {Action: passed}, "test/guard TestB": {Action: passed}, "test/e2e TestA": none, "test/e2e TestB": none, "test/e2e TestC": {Action: passed},
		}},
	})
	for _, line := range []string{
		"| `test/guard`, all tests | skipped | passed | no such API |\n",
		"| `test/e2e TestA` | skipped | skipped | no such API |\n", "| `test/e2e TestB` | skipped | skipped | no such API |\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
}

func TestFailedTestsAreRepeated(t *testing.T) {
	t.Parallel()
	before := results{Name: "1.30", Tests: map[string]outcome{
		"test/e2e TestA": {Action: failed}, "test/e2e TestB": {Action: failed}, "test/e2e TestC": {Action: passed},
		"test/guard TestA": {Action: failed}, "test/apply TestD": {Action: skipped},
	}}
	want := selection{packages: []string{"./test/e2e", "./test/guard"}, pattern: "^(TestA|TestB)$"}
	if diff := cmp.Diff(want, before.failures(), cmp.AllowUnexported(selection{})); diff != "" {
		t.Errorf("which tests (-want +got):\n%s", diff)
	}
	after := results{Name: "1.30", Server: "1.30.14", Tests: map[string]outcome{
		"test/e2e TestA": {Action: passed}, "test/e2e TestB": {Action: failed}, "test/guard TestA": {Action: passed},
	}}
	merged := results{Name: "1.30", Server: "1.30.14", Tests: map[string]outcome{
		"test/e2e TestA": {Action: passed}, "test/e2e TestB": {Action: failed}, "test/e2e TestC": {Action: passed},
		"test/guard TestA": {Action: passed}, "test/apply TestD": {Action: skipped},
	}}
	if diff := cmp.Diff(merged, before.replacedBy(after)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}

func TestAPackageThatFailedIsRepeated(t *testing.T) {
	t.Parallel()
	before := results{Tests: map[string]outcome{"test/apply " + wholePackage: {Action: failed}}}
	want := selection{packages: []string{"./test/apply"}, pattern: "^(.*)$"}
	if diff := cmp.Diff(want, before.failures(), cmp.AllowUnexported(selection{})); diff != "" {
		t.Errorf("which tests (-want +got):\n%s", diff)
	}
	after := results{Tests: map[string]outcome{"test/apply TestD": {Action: passed}}}
	if diff := cmp.Diff(after, before.replacedBy(after)); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
}
