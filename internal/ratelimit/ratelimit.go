// Package ratelimit reports frequent occurrences once in an interval, with their count.
package ratelimit

import (
	"sync"
	"time"
)

// Log counts the occurrences since the last report. The zero Log is ready to use, and safe for concurrent use.
type Log struct {
	mutex sync.Mutex
	next  time.Time
	times int
}

// Do calls report at most once in the interval, with the number of calls of Do since the last report.
func (l *Log) Do(interval time.Duration, report func(times int)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.times++
	if now := time.Now(); !now.Before(l.next) {
		report(l.times)
		l.next, l.times = now.Add(interval), 0
	}
}
