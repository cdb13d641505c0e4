// Command plot draws the plots in the results of the benchmark as SVG files, and writes its profile as a table. It is a module of
// its own, so that its dependencies are not those of the webhook.
//
//	plot FOLDER    reads FOLDER/*.json and FOLDER/kept.pprof, writes FOLDER/*.svg and FOLDER/profile.md
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// result is the part of the results in test/bench/table that is drawn.
type result struct {
	Plots []diagram `json:"plots"`
}

type diagram struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	X      axis   `json:"x"`
	Y      axis   `json:"y"`
	Series []line `json:"series"`
}

type axis struct {
	Label string `json:"label"`
	Log   bool   `json:"log"`
}

type line struct {
	Name   string  `json:"name"`
	Points []point `json:"points"`
}

type point [2]float64

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument, the folder of the results")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "*.json"))
	if err != nil {
		return fmt.Errorf("listing results: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no results in %s: run make bench", args[0])
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading results: %w", err)
		}
		var r result
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("decoding %s: %w", file, err)
		}
		for _, d := range r.Plots {
			if err := d.draw(filepath.Join(args[0], d.Name+".svg")); err != nil {
				return fmt.Errorf("drawing plot %s of %s: %w", d.Name, file, err)
			}
		}
	}
	return writeProfile(args[0])
}
