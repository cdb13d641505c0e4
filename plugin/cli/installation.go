package cli

import (
	"context"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// installation returns the installation in the cluster, or that of the manifests for objects in files.
func (s *shared) installation(ctx context.Context, offline bool) (*installation.Installation, error) {
	if offline {
		return installation.InFiles()
	}
	if s.installed != nil {
		return s.installed, nil
	}
	restConfig, err := s.cluster.ToRESTConfig()
	if err == nil {
		s.installed, err = installation.Of(ctx, restConfig)
	}
	if err != nil {
		return nil, source.Advise(err, "")
	}
	return s.installed, nil
}

// configuration returns the configuration of --config or, without it, that of the installation: the default for objects in files.
// The gap says if that is unknown.
func (s *shared) configuration(ctx context.Context, f *inputs) (c config.HandoffConfiguration, gaps []string, err error) {
	switch {
	case f.config != "":
		c, err = config.Read(f.config)
		return c, nil, err
	case f.offline():
		return config.Default(), nil, nil
	}
	in, err := s.installation(ctx, false)
	if err != nil { // the objects can be read from files, or not at all
		gaps = []string{"the configuration of handoff is unknown, so the default applies: " + err.Error()}
		return config.Default(), gaps, nil //nolint:nilerr // the error is a gap
	}
	namespace, _, err := s.cluster.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return config.Default(), nil, source.Advise(err, "")
	}
	c, gaps = in.Configured(ctx, namespace)
	return c, gaps, nil
}
