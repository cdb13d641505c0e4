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

// kindsRetry is the pause between two discovery requests.
const kindsRetry = 30 * time.Second

// logUnknownKinds returns a part that logs the kinds in the configuration's rules that the API server does not serve.
func logUnknownKinds(c *rest.Config, configuration config.HandoffConfiguration, log logr.Logger) (part, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("creating the discovery client: %w", err)
	}
	return func(ctx context.Context) error {
		for {
			unknown, err := configuration.UnknownKinds(client)
			for _, reason := range unknown {
				log.Info("controller rule is never used", "reason", reason)
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
