//go:build !linux

package procs

import (
	"errors"
	"time"
)

// CPU returns an error: only Linux has a clock for the CPU time of another process.
func CPU(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of other processes is measured on Linux only")
}

// LimitMemory returns an error: only Linux limits another process.
func LimitMemory(int, uint64) error {
	return errors.New("the memory of other processes is limited on Linux only")
}
