package table

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Percentile returns a percentile of durations, 0 of none. p is from 0 to 100.
func Percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[int(math.Ceil(float64(len(all)-1)*p/100))]
}

// Distribution returns the line of a cumulative distribution: milliseconds, and the percentage of durations that are at most as
// long.
func Distribution(name string, all []time.Duration) Series {
	s := Series{Name: name}
	for _, p := range []float64{
		0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 98.5, 99, 99.5,
	} {
		s.Points = append(s.Points, Point{float64(Percentile(all, p)) / float64(time.Millisecond), p})
	}
	return s
}

// Slope returns the power of x as which y grows: the slope of a least-squares line through the points on logarithmic scales.
// 1 is linear, 2 quadratic. All values must be positive, and at least two x different.
func Slope(points []Point) float64 {
	var sumX, sumY, sumXX, sumXY float64
	for _, p := range points {
		x, y := math.Log(p[0]), math.Log(p[1])
		sumX, sumY, sumXX, sumXY = sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	n := float64(len(points))
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}

const (
	// linear is the upper limit of a slope that counts as linear: constant costs make it less than 1, caches of the processor,
	// garbage collection and other load on the machine make it more.
	linear = 1.15
	// fitted is the number of the largest sizes that a slope is fitted to. At small sizes, constant costs prevail.
	fitted = 3
)

// SlopeRow returns a row for how a cost grows with the size, of which there are at least three.
func SlopeRow(what string, points []Point) Row {
	points = points[len(points)-fitted:]
	first, last := points[0], points[len(points)-1]
	return Row{
		What: "growth of " + what, Handoff: fmt.Sprintf("%.3g at %.3g, to %.3g at %.3g", first[1], first[0], last[1], last[0]),
		Reference: "1, linear", Ratio: Ratio{Value: Slope(points)}, Target: Ratio{Value: linear},
	}
}
