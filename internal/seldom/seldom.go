// Package seldom keeps what can happen very often from flooding a log.
package seldom

import (
	"sync"
	"time"
)

// Log counts what happens between two times that it is said. The zero Log is ready, and many can use it at once.
type Log struct {
	mutex sync.Mutex
	next  time.Time
	times int
}

// Say calls say with how often this happened since it was last called, and at most once in the given time.
func (l *Log) Say(atMostOnceIn time.Duration, say func(times int)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.times++
	if now := time.Now(); !now.Before(l.next) {
		say(l.times)
		l.next, l.times = now.Add(atMostOnceIn), 0
	}
}
