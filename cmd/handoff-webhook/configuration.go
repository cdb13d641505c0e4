package main

import (
	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/internal/mounted"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/webhook"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

// inForce is a configuration in the forms that the parts use.
type inForce struct {
	settings webhook.Settings
	scalers  []scale.Kind
}

// configuration follows the file of --config. Until the file has been valid, the defaults apply.
type configuration struct {
	file     *mounted.Files[inForce]
	defaults inForce
}

// newConfiguration reads a file. An error in it is logged, and reported by the readiness check.
func newConfiguration(file string, log logr.Logger) (c *configuration, err error) {
	c = &configuration{}
	if c.defaults, err = inForceOf(config.Default()); err != nil {
		return c, err
	}
	c.file = &mounted.Files[inForce]{
		Subject: "configuration", Kept: "using the last valid configuration", Rejected: "; using the defaults", Log: log,
		Read: func() (read mounted.Content[inForce], err error) {
			parsed, err := config.Read(file)
			if err != nil {
				return read, err
			}
			hash := parsed.Hash()
			read.Encoded, read.Details = []byte(hash), []any{"file", file, "hash", hash}
			read.Value, err = inForceOf(parsed)
			return read, err
		},
	}
	c.file.Reload()
	return c, nil
}

func inForceOf(parsed config.HandoffConfiguration) (c inForce, err error) {
	c.settings = webhook.Settings{Managers: parsed.Managers(), Version: version + ", configuration " + parsed.Hash()}
	if c.settings.Rules, err = parsed.ParsedRules(); err != nil {
		return c, err
	}
	c.scalers, err = parsed.ScalerKinds()
	return c, err
}

// current returns the configuration that is in force.
func (c *configuration) current() *inForce {
	if used := c.file.Used(); used != nil {
		return &used.Value
	}
	return &c.defaults
}

// check reports an error in the file. It never fails: writes are reviewed, by the last valid configuration or the defaults.
func (c *configuration) check() serving.Check {
	return serving.Check{Name: "configuration", Ready: func() error { return nil }, Warning: c.file.Problem}
}
