// Package procs measures other processes: CPU time and memory.
package procs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Find returns the process ID of the program in a control plane's directory, whose command line contains the directory.
func Find(program, dir string) (pid int, err error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, fmt.Errorf("listing processes: %w", err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		path, args, _ := bytes.Cut(text, []byte{0})
		if filepath.Base(string(path)) == program && bytes.Contains(args, []byte(dir)) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("found no process of %s for %s; processes are read from /proc, on Linux only", program, dir)
}

// Memory returns a process's resident memory in bytes, now and at its peak.
func Memory(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) != 2 || fields[1] != "kB" {
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("reading the memory of a process: %w", err)
		}
		switch name {
		case "VmRSS":
			now = kilobytes << 10
		case "VmHWM":
			peak = kilobytes << 10
		}
	}
	return now, peak, nil
}

// ResetPeak makes the current memory of a process its peak (see clear_refs in proc(5)).
func ResetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		return fmt.Errorf("resetting the peak memory of a process: %w", err)
	}
	return nil
}
