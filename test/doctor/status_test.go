package doctor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/plugin/cli"
)

// TestStatusShowsLabelsThatDoNotFollow writes the label and the annotation of a namespace while no pod answers.
func TestStatusShowsLabelsThatDoNotFollow(t *testing.T) {
	waitHealthy(t)
	const (
		mode   = "ownership-handoff.io/mode"
		repair = "kubectl handoff doctor shows how to repair them"
	)
	limited := user(t, "limited-status", "clusterrole namespace-reader --verb=get --resource=namespaces",
		"clusterrolebinding namespace-reader --clusterrole=namespace-reader --user=USER")
	check := func(sentence, kubeconfig, mode string, stale bool, wantCode int) {
		t.Helper()
		code, output, errors := run(t, kubeconfig, "status", "shop")
		if want := "shop        " + mode + "\n"; !strings.HasSuffix(output, want) || code != wantCode || strings.Contains(errors, repair) != stale {
			t.Errorf("%s: want exit code %d and %s, got %d:\n%s%s", sentence, wantCode, want, code, output, errors)
		}
		_, output, _ = run(t, kubeconfig, "status", "shop", "-o", "json")
		var data struct{ StaleLabel bool }
		if err := json.Unmarshal([]byte(output), &data); err != nil || data.StaleLabel != stale {
			t.Errorf("%s: want staleLabel %t: %v\n%s", sentence, stale, err, output)
		}
	}
	check("the label follows", cluster.Kubeconfig, "enforce", false, cli.ExitOK)
	must(t, stopWebhook)
	for _, step := range []struct {
		sentence string
		do       func() error
		mode     string
		code     int
	}{
		{"no label", runs("label", "namespace", "shop", mode+"-"), "enforce (label missing)", cli.ExitNegative},
		{"another label", runs("label", "namespace", "shop", mode+"=warn", "--overwrite"), "enforce (stale label, no answer)", cli.ExitNegative},
		{"an empty label", runs("label", "namespace", "shop", mode+"=", "--overwrite"), "enforce (stale label, no answer)", cli.ExitNegative},
		{"a mode off", runs("annotate", "namespace", "shop", mode+"=off", "--overwrite"), "off (stale label)", cli.ExitNegative},
		{
			"an unknown mode", runs("annotate", "namespace", "shop", mode+"=enfroce", "--overwrite"),
			`warn ("enfroce" is unknown, stale label, no answer)`, cli.ExitNegative,
		},
	} {
		must(t, step.do)
		check(step.sentence, cluster.Kubeconfig, step.mode, true, step.code)
	}
	check("without permission to read the configuration", limited, `warn ("enfroce" is unknown, stale label)`, true, cli.ExitPartial)
	must(t, patches("kubectl-client-side-apply", configuration, `[{"op": "remove", "path": "/webhooks/2"},
		{"op": "remove", "path": "/webhooks/1"}, {"op": "remove", "path": "/webhooks/0/namespaceSelector/matchExpressions/2"}]`))
	check("the API server sends the writes of all namespaces", cluster.Kubeconfig, `warn ("enfroce" is unknown, no answer)`, false, cli.ExitNegative)
	must(t, reinstall, restartWebhook, runs("annotate", "namespace", "shop", mode+"=enforce", "--overwrite"))
	waitHealthy(t)
}
