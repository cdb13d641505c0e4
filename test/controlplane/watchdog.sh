# Ends whatever is left of a control plane once the test that started it is gone, however that came about: its end, a
# panic, os.Exit, a timeout, Ctrl-C or SIGKILL. Only the test holds the other end of standard input, so that standard
# input ends exactly when the test does.
#
# The directory comes on standard input and not as an argument: the watchdog must not find itself among those it ends.
# Their command lines all mention the directory.

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

# Kubernetes' servers end at once when they are asked twice.
for signal in TERM TERM KILL KILL KILL KILL KILL KILL; do
	pids=$(left_behind)
	[ -n "$pids" ] || break
	kill -"$signal" $pids
	sleep 1
done
rm -rf "$dir" && [ -z "$(left_behind)" ]
