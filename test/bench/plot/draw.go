package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

const (
	width  = 8 * vg.Inch
	height = 5 * vg.Inch
)

// draw draws the lines of a diagram in different colors and dashes, with a legend at the left, to an SVG file.
func (d diagram) draw(file string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = d.Title, d.X.Label, d.Y.Label
	if err := d.check(); err != nil {
		return err
	}
	scale(&p.X, d.X.Log)
	scale(&p.Y, d.Y.Log)
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	if !d.Y.Log {
		p.Legend.Top, p.Legend.Left = false, false
	}
	for i, l := range d.Series {
		points := make(plotter.XYs, len(l.Points))
		for j, at := range l.Points {
			points[j].X, points[j].Y = at[0], at[1]
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("line %q: %w", l.Name, err)
		}
		drawn.Color, drawn.Width = plotutil.Color(i), vg.Points(1.5)
		drawn.Dashes = plotutil.Dashes(i / 7)
		p.Add(drawn)
		p.Legend.Add(l.Name, drawn)
	}
	if err := p.Save(width, height, file); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// check returns an error for lines without points, and for values that a logarithmic scale cannot show: the library would panic.
func (d diagram) check() error {
	for _, l := range d.Series {
		if len(l.Points) == 0 {
			return fmt.Errorf("line %q has no points", l.Name)
		}
		for _, at := range l.Points {
			if d.X.Log && at[0] <= 0 || d.Y.Log && at[1] <= 0 {
				return errors.New("a value on a logarithmic axis is not positive")
			}
		}
	}
	return nil
}

func scale(a *plot.Axis, logarithmic bool) {
	if logarithmic {
		a.Scale = plot.LogScale{}
		a.Tick.Marker = plot.TickerFunc(ticks)
	}
}

// ticks labels 1, 2 and 5 times the powers of ten. The library labels only the powers, of which a range can contain none.
func ticks(least, most float64) (all []plot.Tick) {
	for power := math.Pow10(int(math.Floor(math.Log10(least)))); power <= most; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: digit * power}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = strconv.FormatFloat(tick.Value, 'g', 3, 64)
			}
			if tick.Value >= least && tick.Value <= most {
				all = append(all, tick)
			}
		}
	}
	return all
}
