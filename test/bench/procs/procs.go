// Package procs measures other processes: CPU time and memory.
package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a running program.
type Process struct {
	PID int
	// Command is the program's path and its arguments.
	Command []string
}

// All returns the processes of the program in a control plane's directory, whose command lines contain the directory.
func All(program, dir string) (found []Process, err error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		command := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if filepath.Base(command[0]) != program || !strings.Contains(strings.Join(command[1:], " "), dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, fmt.Errorf("listing processes: %w", err)
		}
		found = append(found, Process{PID: pid, Command: command})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("found no process of %s for %s; processes are read from /proc, on Linux only", program, dir)
	}
	return found, nil
}

// Find returns the process ID of the program in a control plane's directory, whose command line contains the directory.
func Find(program, dir string) (pid int, err error) {
	found, err := All(program, dir)
	if err != nil {
		return 0, err
	}
	return found[0].PID, nil
}

// PeakMemory returns the peak of a process's resident memory in bytes.
func PeakMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "VmHWM" {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the memory of a process: %w", err)
		}
		return kilobytes << 10, nil
	}
	return 0, fmt.Errorf("reading the memory of process %d: /proc has no VmHWM", pid)
}

// ResetPeak makes the current memory of a process its peak (see clear_refs in proc(5)).
func ResetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		return fmt.Errorf("resetting the peak memory of a process: %w", err)
	}
	return nil
}
