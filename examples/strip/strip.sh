#!/bin/sh
exec kubectl-handoff strip
