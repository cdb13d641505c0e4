package main

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestInvalidFlagsAreErrors(t *testing.T) {
	t.Setenv(namespaceVariable, "")
	for args, want := range map[string]string{ //nolint:gosec // flags, not credentials
		"--webhook-port=0": "--webhook-port=0: must be a port from 1 to 65535", "--webhook-port=-1": "--webhook-port=-1", "--webhook-port=65536": "--webhook-port=65536",
		"--webhook-cert-dir=":       "--webhook-cert-dir: must not be empty",
		"--service=":                `--service="": not a valid name`,
		"--service=a.b":             `--service="a.b"`,
		"--namespace=A B":           `--namespace="A B"`,
		"--namespace=a.b":           `--namespace="a.b"`,
		"--self-signed-secret=":     `--self-signed-secret=""`,
		"--self-signed-secret=A":    `--self-signed-secret="A"`,
		"--webhook-configuration=":  `--webhook-configuration=""`,
		"--webhook-configuration=/": `--webhook-configuration="/"`,
		"--max-in-flight=-1":        "--max-in-flight=-1: must not be negative",
		"--shutdown-delay=-1s":      "--shutdown-delay=-1s: must not be negative",
		"--drain-timeout=-1s":       "--drain-timeout=-1s",
		"--client-name=apiserver":   "--client-name=apiserver",
		"--no-such-flag":            "unknown flag: --no-such-flag",
		"serve":                     `unexpected argument "serve"`,
		"--self-signed":             "POD_NAMESPACE",
	} {
		_, err := parse([]string{args})
		expect.Error(t, args, want, err)
	}
	_, err := parse(nil)
	expect.NoError(t, err)
}
