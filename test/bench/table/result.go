package table

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Result is what a part of the benchmark has measured.
type Result struct {
	// Part is the name of the part, Machine and Version describe where and what was measured.
	Part    string `json:"part"`
	Machine string `json:"machine"`
	Version string `json:"version"`
	Rows    []Row  `json:"rows"`
	Plots   []Plot `json:"plots,omitempty"`
}

// Plot is a diagram of lines. test/bench/plot draws it.
type Plot struct {
	// Name is the name of the file, without its extension.
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// Axis is an axis of a plot.
type Axis struct {
	Label string `json:"label"`
	// Log selects a logarithmic scale. All values must be positive.
	Log bool `json:"log,omitempty"`
}

// Series is a line of a plot.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is a pair of values, x first.
type Point [2]float64

// Save writes a result as JSON to a file of a folder, which it creates if necessary.
func (r Result) Save(folder string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encoding the result of part %s: %w", r.Part, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("saving results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, r.Part+".json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("saving results: %w", err)
	}
	return nil
}
