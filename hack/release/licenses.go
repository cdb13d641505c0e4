package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licenseclassifier/v2/assets"
)

// licenseList is the name of the file that lists the modules of all programs with their licenses.
const licenseList = "licenses.csv"

// accepted are the licenses that a module may have: those that the CNCF accepts for dependencies
// (https://github.com/cncf/foundation/blob/main/policies-guidance/allowed-third-party-license-policy.md).
var accepted = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"}

// listLicenses writes the license of each module that a program contains, and fails if one is missing or not accepted.
func (r *release) listLicenses(ctx context.Context) error {
	found, err := r.programs()
	if err != nil {
		return err
	}
	versions := map[string]string{}
	r.licenses = map[string]string{}
	for _, p := range found {
		for _, module := range p.modules {
			versions[module.Path] = module.Version
		}
	}
	identify, err := identifier()
	if err != nil {
		return err
	}
	rows := [][]string{{"module", "version", "license"}}
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		dir, err := r.from.output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", path)
		if err != nil {
			return err
		}
		license, err := identify(dir)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", path, versions[path], err))
		}
		r.licenses[path] = license
		rows = append(rows, []string{path, versions[path], license})
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return r.write(licenseList, text.Bytes())
}

// identifier returns a function that returns the licenses of the module in a folder, as an SPDX expression.
func identifier() (func(dir string) (string, error), error) {
	classifier, err := assets.DefaultClassifier()
	if err != nil {
		return nil, fmt.Errorf("the texts of known licenses: %w", err)
	}
	named := regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-.].*)?$`)
	return func(dir string) (string, error) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		names := map[string]bool{}
		for _, entry := range entries {
			if entry.IsDir() || !named.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return "", err
			}
			for _, match := range classifier.Match(text).Matches {
				if match.MatchType == "License" {
					names[match.Name] = true
				}
			}
		}
		return judge(slices.Sorted(maps.Keys(names)))
	}, nil
}

// judge returns the licenses of a module as one expression, or an error that names those that are not accepted.
func judge(names []string) (string, error) {
	if len(names) == 0 {
		return "", errors.New("no license was recognized; read it, and replace the module if it has none")
	}
	for _, name := range names {
		if !slices.Contains(accepted, name) {
			return "", fmt.Errorf("the license %s is not one of %s", name, strings.Join(accepted, ", "))
		}
	}
	return strings.Join(names, " AND "), nil
}
