package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
)

// program is a binary in a file of the release.
type program struct {
	// file contains the program, for platform.
	file, platform string
	name           string
	// digest is that of the image, in the form sha256:…; empty for the plugin.
	digest string
	build  *debug.BuildInfo
}

// programs reads the programs from the files of a release, because an SBOM describes what is there, not what should be.
func programs(path func(string) string, version string, imagePlatforms, platforms []string) ([]program, error) {
	found := make([]program, 0, len(imagePlatforms)+len(platforms))
	for _, platform := range imagePlatforms {
		p := program{file: imageArchive(version, platform), platform: platform, name: webhook}
		digest, binary, err := readImage(path(p.file))
		if err != nil {
			return nil, err
		}
		p.digest = digest.String()
		if p.build, err = buildinfo.Read(bytes.NewReader(binary)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		found = append(found, p)
	}
	for _, platform := range platforms {
		p := program{file: pluginArchive(platform), platform: platform, name: "kubectl-handoff"}
		binary, err := findInGzip(path(p.file), pluginProgram(platform))
		if err != nil {
			return nil, err
		}
		if p.build, err = buildinfo.Read(bytes.NewReader(binary)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		found = append(found, p)
	}
	return found, nil
}

// modules returns the modules that a program contains, without the main module.
func (p program) modules() []*debug.Module {
	used := make([]*debug.Module, 0, len(p.build.Deps))
	for _, module := range p.build.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		used = append(used, module)
	}
	return used
}

// sbom is the name of the file that lists the modules of a program.
func (p program) sbom() string { return p.file + ".cdx.json" }
