package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"retwis/internal/redis/store"
)

const (
	// lagging and hanging are the seconds since a replica has confirmed what it has. It
	// does so every second.
	lagging, hanging = 3, 10
	// farBehind is how many bytes of changes a replica may lack for a moment.
	farBehind = 16 << 20
)

// slowReplicas looks at what INFO says of each replica: without them a failover loses what
// they lack.
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
			continue // a backup that reads a snapshot
		}
		lag, _ := strconv.Atoi(fields["lag"])
		offset, _ := strconv.ParseInt(fields["offset"], 10, 64)
		f := finding{
			What: "replica " + fields["ip"] + ":" + fields["port"], Status: Advice,
			Why: "what it lacks is lost when it takes over", Do: "look at its log, its processor and its network",
		}
		switch {
		case fields["state"] != "online":
			f.Found = "is loading a snapshot (" + fields["state"] + ")"
			f.Do = "wait; if it begins again and again, raise the limit: CONFIG SET client-output-buffer-limit \"replica 0 0 0\", then CONFIG REWRITE"
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
