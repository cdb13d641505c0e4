package main

import (
	"strings"
	"testing"
)

func TestAFlagThatCanNeverWorkIsRefusedByItsName(t *testing.T) {
	for args, says := range map[string]string{ //nolint:gosec // no credentials, but flags
		"--webhook-port=0": "--webhook-port=0: write a port from 1 to 65535", "--webhook-port=-1": "--webhook-port=-1", "--webhook-port=65536": "--webhook-port=65536",
		"--webhook-cert-dir=":       "--webhook-cert-dir: it is empty",
		"--service=":                `--service="": it is not a name`,
		"--service=a.b":             `--service="a.b"`,
		"--namespace=A B":           `--namespace="A B"`,
		"--namespace=a.b":           `--namespace="a.b"`,
		"--self-signed-secret=":     `--self-signed-secret=""`,
		"--self-signed-secret=A":    `--self-signed-secret="A"`,
		"--webhook-configuration=":  `--webhook-configuration=""`,
		"--webhook-configuration=/": `--webhook-configuration="/"`,
	} {
		if _, err := parse([]string{args}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want an error that says %q, got %v", args, says, err)
		}
	}
	t.Setenv(namespaceVariable, "")
	if _, err := parse(nil); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
