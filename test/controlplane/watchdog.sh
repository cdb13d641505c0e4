# Terminates the remaining processes of a control plane when the test process that started it has ended, for any reason: its
# normal end, a panic, os.Exit, a timeout, Ctrl-C or SIGKILL. Only the test process has the other end of standard input open,
# so that standard input ends exactly when the test process does.
#
# The command lines of all these processes contain the directory. The watchdog reads the directory from standard input instead
# of an argument, so that it does not find itself.

trap '' HUP INT TERM
cd /
read -r dir || exit 0
case $dir in
/*/handoff-plane-*.d) ;;
*) exit 2 ;;
esac
while read -r _; do :; done

left_behind() {
	if [ -d /proc/self ]; then
		printf "%s\n" "$dir" | grep -lsF -f - /proc/[0-9]*/cmdline | tr -cd '0-9\n'
	else
		pgrep -f "$dir"
	fi
}

# Kubernetes servers exit immediately on the second signal.
for signal in TERM TERM KILL KILL KILL KILL KILL KILL; do
	pids=$(left_behind)
	[ -n "$pids" ] || break
	kill -"$signal" $pids
	sleep 1
done
rm -rf "$dir" && [ -z "$(left_behind)" ]
