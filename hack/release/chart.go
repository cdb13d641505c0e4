package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
)

// chartArchive is the name of the chart's file. A chart's version has no v, because Helm requires a semantic version.
func chartArchive(version string) string {
	return "handoff-" + strings.TrimPrefix(version, "v") + ".tgz"
}

// packChart packs the chart as helm package does, but with the commit's time instead of the current one.
func packChart(_ context.Context, r *release) error {
	members, err := membersOf(filepath.Join(r.from.Root, "manifests", "chart"), "handoff/")
	if err != nil {
		return err
	}
	for i, m := range members {
		if m.Name == "handoff/Chart.yaml" {
			members[i].Content = setVersion(m.Content, r.from.Version)
		}
	}
	archive, err := gzipped(r.from.Time, members)
	if err != nil {
		return err
	}
	return r.write(chartArchive(r.from.Version), archive)
}

// setVersion sets the versions of the chart and of the image in a Chart.yaml.
func setVersion(chart []byte, version string) []byte {
	line := regexp.MustCompile(`(?m)^version: .*$`)
	chart = line.ReplaceAll(chart, []byte("version: "+strings.TrimPrefix(version, "v")))
	line = regexp.MustCompile(`(?m)^appVersion: .*$`)
	chart = line.ReplaceAll(chart, []byte("appVersion: "+version))
	// In the annotation that lists the images for Artifact Hub.
	line = regexp.MustCompile(`(?m)^(\s+image: \S+:)\S+$`)
	return line.ReplaceAll(chart, []byte("${1}"+version))
}
