package procs

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time of a process with the resolution of the scheduler, in contrast to the 10 ms of /proc.
// See clock_getcpuclockid(3) for the number of the clock.
func CPU(pid int) (time.Duration, error) {
	const scheduler = 2
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &now); err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
}

// LimitMemory limits the data of a process, which can be less than it has: from then on, it gets no more.
func LimitMemory(pid int, limit uint64) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		return fmt.Errorf("limiting the memory of process %d: %w", pid, err)
	}
	return nil
}
