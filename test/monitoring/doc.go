// Package monitoring tests the alerts and the dashboard with Prometheus' own parser and rule evaluation, and the metrics that the
// real webhook serves. It is a module of its own, because Prometheus has many dependencies.
package monitoring
