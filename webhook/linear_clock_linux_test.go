package webhook_test

import (
	"syscall"
	"time"
	"unsafe"
)

// workTime returns the processor time that this process has used: what else runs on the machine does not count.
func workTime() time.Duration {
	const processTime = 2 // CLOCK_PROCESS_CPUTIME_ID
	var now syscall.Timespec
	at := uintptr(unsafe.Pointer(&now)) //nolint:gosec // a system call takes no other
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processTime, at, 0); failed != 0 {
		return 0
	}
	return time.Duration(now.Nano())
}
