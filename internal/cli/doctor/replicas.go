package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"retwis/internal/redis/store"
)

const (
	// lagging and hanging are limits on the seconds since a replica's last acknowledgment. A
	// replica sends an acknowledgment every second.
	lagging, hanging = 3, 10
	// farBehind is the maximum number of bytes that a replica may lack.
	farBehind = 16 << 20
)

// slowReplicas checks what INFO reports about each replica: a failover to a replica loses the
// writes that the replica lacks.
func slowReplicas(info string) []finding {
	end := store.InfoNumber(info, "master_repl_offset")
	var found []finding
	for i := range int(store.InfoNumber(info, "connected_slaves")) {
		fields := map[string]string{}
		for pair := range strings.SplitSeq(store.InfoField(info, "slave"+strconv.Itoa(i)), ",") {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = value
		}
		if port := fields["port"]; port == "" || port == "0" {
			continue // a backup reading a snapshot
		}
		lag, _ := strconv.Atoi(fields["lag"])
		offset, _ := strconv.ParseInt(fields["offset"], 10, 64)
		f := finding{
			What: "replica " + fields["ip"] + ":" + fields["port"], Status: Advice,
			Why: "the writes that it lacks are lost when it takes over", Do: "check its log, its CPU and its network",
		}
		switch {
		case fields["state"] != "online":
			f.Found = "is loading a snapshot (" + fields["state"] + ")"
			f.Do = "wait; if it starts over again and again, raise the limit: CONFIG SET client-output-buffer-limit \"replica 0 0 0\", then CONFIG REWRITE"
		case lag >= hanging:
			f.Status, f.Found = Problem, fmt.Sprintf("has not answered for %d s", lag)
		case lag >= lagging:
			f.Found = fmt.Sprintf("has not answered for %d s", lag)
		case end-offset > farBehind:
			f.Found = fmt.Sprintf("lacks %d MB of changes", (end-offset)>>20)
		default:
			continue
		}
		found = append(found, f)
	}
	return found
}
