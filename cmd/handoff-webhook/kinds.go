package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/config"
)

// kindsRetry is how soon the API server is asked again for the kinds that it serves.
const kindsRetry = 30 * time.Second

// warnOfKinds returns a part that logs which kinds of the configuration's rules the API server does not serve.
func warnOfKinds(c *rest.Config, configuration config.HandoffConfiguration, log logr.Logger) (part, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	return func(ctx context.Context) error {
		for {
			unknown, err := configuration.UnknownKinds(client)
			for _, sentence := range unknown {
				log.Info("a rule of the configuration is never used", "reason", sentence)
			}
			if err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(kindsRetry):
			}
		}
	}, nil
}
