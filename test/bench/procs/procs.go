// Package procs measures other processes: CPU time and memory.
package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
)

// Process is a running program.
type Process struct {
	PID int
	// Command is the program's path and its arguments.
	Command []string
}

// All returns the processes of the program in a control plane's directory, whose command lines contain the directory.
func All(program, dir string) (found []Process, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes, which works on Linux only: %w", err)
	}
	for _, p := range all {
		command, err := p.CmdLine()
		if err != nil || len(command) == 0 {
			continue // the process has ended, or it is one of the kernel
		}
		if filepath.Base(command[0]) == program && strings.Contains(strings.Join(command[1:], " "), dir) {
			found = append(found, Process{PID: p.PID, Command: command})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("found no process of %s for %s", program, dir)
	}
	return found, nil
}

// PeakMemory returns the peak of a process's resident memory in bytes.
func PeakMemory(pid int) (int64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	status, err := process.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	return int64(status.VmHWM), nil
}

// ResetPeak makes the current memory of a process its peak (see clear_refs in proc(5)).
func ResetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		return fmt.Errorf("resetting the peak memory of a process: %w", err)
	}
	return nil
}
