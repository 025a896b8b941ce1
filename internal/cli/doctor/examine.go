package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/store"
	"retwis/internal/social/import2009"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

// keepACL are the commands that make an ACL change survive a restart of the server.
const keepACL = "\nACL SAVE, or without an ACL file CONFIG REWRITE"

// checkSite checks the database as a whole.
func checkSite(ctx context.Context, client rueidis.Client) []finding {
	found := []finding{{Status: OK, What: "reads and writes", Found: "allowed"}}
	if err := store.ProbeRead(ctx, client); err != nil {
		found[0] = finding{Problem, "", "reads", shell.OneLine(err), "no pages can be served", ""}
	} else if err := store.ProbeWrite(ctx, client); err != nil {
		found[0] = finding{Problem, "", "writes", shell.OneLine(err), "pages can only be read", ""}
	}
	scripts := finding{Status: OK, What: "scripts", Found: "allowed"}
	if err := store.ProbeScript(ctx, client); err != nil {
		scripts = finding{Problem, "", "scripts", shell.OneLine(err), "posting needs EVAL", "ACL SETUSER retwis +@scripting" + keepACL}
	}
	found = append(found, scripts)
	version, err := client.Do(ctx, client.B().Get().Key(storage.LayoutVersion).Build()).ToString()
	f := finding{Status: OK, What: "layout of the keys", Found: version}
	switch {
	case rueidis.IsRedisNil(err):
		f.Found = "no site yet"
	case err != nil:
		f.Status, f.Found = Hidden, shell.OneLine(err)
	case version != storage.Version && version != storage.ClusterVersion:
		f.Status, f.Why = Problem, "this version of retwis reads layout "+storage.Version+" only: install the version that wrote the database"
	}
	restoring, err := reply.TextOrEmpty(client.Do(ctx, client.B().Get().Key(storage.Restoring).Build()))
	switch source := import2009.Unfinished(restoring); {
	case err != nil || restoring == "":
	case source != "":
		f = finding{Problem, "", "import", "interrupted", "the database holds only part of the imported data", "retwis import-2009 --from " + source}
	default:
		f = finding{Problem, "", "restore", "interrupted", "the database holds only part of a backup", "retwis restore FILE"}
	}
	found = append(found, f)
	if n, err := work.Letters(ctx, client); err == nil && n > 0 {
		found = append(found, finding{
			Problem, "", "jobs given up", strconv.FormatInt(n, 10),
			"posts or deletions have not reached everyone; \"retwis jobs show\" reports why", "retwis jobs retry",
		})
	}
	return found
}

// checkServer checks one server. embedded reports whether retwis has started it.
func checkServer(ctx context.Context, node rueidis.Client, embedded bool) ([]finding, error) {
	info, err := node.Do(ctx, node.B().Info().Build()).ToString()
	var refused *rueidis.RedisError
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	var found []finding
	if err != nil {
		found = append(found, finding{Hidden, "", "INFO", shell.OneLine(err), "", "ACL SETUSER retwis +info" + keepACL})
	} else {
		found = append(found, memory(info)...)
		found = append(found, persistence(info)...)
		found = append(found, replication(info), server(info))
		found = append(found, slowReplicas(info)...)
	}
	more, err := settings(ctx, node, info)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	more, err = clockAndLatency(ctx, node)
	return makeLasting(append(found, more...), info, embedded), err
}

func server(info string) finding {
	name, version := "redis", store.InfoField(info, "redis_version")
	if v := store.InfoField(info, "valkey_version"); v != "" {
		name, version = "valkey", v
	}
	f := finding{Status: OK, What: "version", Found: name + " " + version}
	if strings.HasPrefix(version, "6.") {
		f.Status, f.Why = Advice, "version 6.2 no longer gets fixes: install a newer version; \"retwis backup\" and \"restore\" move the data"
	}
	return f
}

func memory(info string) []finding {
	used, limit := store.InfoNumber(info, "used_memory"), store.InfoNumber(info, "maxmemory")
	use := finding{Status: OK, What: "memory", Found: fmt.Sprintf("%d MB of %d MB", used>>20, limit>>20)}
	share := store.MemoryUse{Used: used, Max: limit}.Share()
	switch {
	case limit == 0:
		use = finding{Advice, "", "memory", fmt.Sprintf("%d MB, without a limit", used>>20), "without a limit the system kills the server when memory runs out; with a limit the server refuses writes", "CONFIG SET maxmemory 2gb"}
	case share >= 0.9:
		use.Status, use.Why, use.Do = Problem, "when its memory is full, the server refuses writes", larger(limit)
	case share >= 0.8:
		use.Status, use.Why, use.Do = Advice, "when its memory is full, the server refuses writes", larger(limit)
	}
	found := []finding{use}
	policy := store.InfoField(info, "maxmemory_policy")
	f := finding{Status: OK, What: "maxmemory-policy", Found: policy}
	if policy != "noeviction" {
		f.Status, f.Why, f.Do = Problem, "the server deletes keys when its memory is full, such as posts or the rate limits of attackers", "CONFIG SET maxmemory-policy noeviction"
	}
	found = append(found, f)
	ratio, _ := strconv.ParseFloat(store.InfoField(info, "mem_fragmentation_ratio"), 64)
	if f = (finding{Status: OK, What: "fragmentation", Found: fmt.Sprintf("%.2f", ratio)}); ratio > 1.5 && used > 100<<20 {
		f.Status, f.Why, f.Do = Advice, "a third of the memory or more is lost to fragmentation", "CONFIG SET activedefrag yes"
	}
	return append(found, f)
}

// larger returns the command that doubles the memory limit.
func larger(limit int64) string { return fmt.Sprintf("CONFIG SET maxmemory %dmb", 2*limit>>20) }

func persistence(info string) []finding {
	f := finding{Status: OK, What: "append-only file", Found: "on"}
	if store.InfoField(info, "aof_enabled") != "1" {
		f = finding{Problem, "", "append-only file", "off", "a crash loses what was written after the last snapshot, if the server makes any", "CONFIG SET appendonly yes"}
	}
	found := []finding{f}
	for _, check := range [][3]string{
		{"aof_last_write_status", "the server cannot write its append-only file and refuses writes: its log has the reason, often a full disk", "free space on the disk of its directory (CONFIG GET dir): the server tries again every second"},
		{"aof_last_bgrewrite_status", "the append-only file could not be rewritten and keeps growing: the log of the server has the reason, a full disk or too little memory to fork", "free disk space or memory, then run BGREWRITEAOF"},
		{"rdb_last_bgsave_status", "the last snapshot could not be written: the log of the server has the reason, a full disk or too little memory to fork", "free disk space or memory, then run BGSAVE"},
	} {
		if status := store.InfoField(info, check[0]); status != "" && status != "ok" {
			found = append(found, finding{Problem, "", check[0], status, check[1], check[2]})
		}
	}
	return found
}

func replication(info string) finding {
	replicas := store.InfoNumber(info, "connected_slaves")
	f := finding{Status: OK, What: "replication", Found: store.InfoField(info, "role") + ", " + shell.Plural(replicas, "replica", "replicas")}
	if store.InfoField(info, "role") != "master" {
		f.Status, f.Why = Problem, "a replica accepts no writes: use the URL of its master, or of the sentinels"
	}
	return f
}

// settings checks what INFO does not report.
func settings(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	var found []finding
	value, seen, err := config(ctx, node, "zset-max-ziplist-entries")
	f := finding{Status: OK, What: "zset-max-listpack-entries", Found: value}
	n, _ := strconv.Atoi(value)
	switch {
	case err != nil:
		return nil, err
	case !seen:
		f.Status, f.Found = Hidden, "this user may not use CONFIG GET"
	case n < 512:
		f.Status, f.Why, f.Do = Advice, "a follow takes 15 bytes in a small set and more than 100 in a large one; 512 halves the memory of most follows", "CONFIG SET zset-max-ziplist-entries 512"
	}
	found = append(found, f)
	if value, seen, err = config(ctx, node, "appendfsync"); err != nil || !seen {
		return found, err
	}
	f = finding{Status: OK, What: "appendfsync", Found: value}
	if value == "no" {
		f.Status, f.Why, f.Do = Problem, "a power failure loses up to half a minute of what was acknowledged", "CONFIG SET appendfsync everysec"
	}
	found = append(found, f)
	for _, check := range []func(context.Context, rueidis.Client, string) ([]finding, error){replicasToWrite, tracking, outputBuffers, checkMachine} {
		more, err := check(ctx, node, info)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// maxClockSkew is the clock difference above which times on pages are wrong.
const maxClockSkew = 2 * time.Second

// clockAndLatency compares the clocks of this machine and the server, and measures round trips.
func clockAndLatency(ctx context.Context, node rueidis.Client) ([]finding, error) {
	var durations []time.Duration
	for range latencyProbes {
		start := time.Now()
		if err := node.Do(ctx, node.B().Exists().Key("retwis:probe:0").Build()).Error(); err != nil {
			// On a Cluster the key may belong to another server; the reply takes the same time.
			var refused *rueidis.RedisError
			if !errors.As(err, &refused) {
				return nil, err
			}
		}
		durations = append(durations, time.Since(start))
	}
	slices.Sort(durations)
	median := durations[len(durations)/2]
	latency := finding{Status: OK, What: "latency", Found: median.Round(time.Microsecond).String()}
	if median > slow {
		latency.Status, latency.Why = Advice, "a page needs several round trips: run retwis nearer to its database"
	}
	found := []finding{latency}
	parts, err := node.Do(ctx, node.B().Time().Build()).AsStrSlice()
	var refused *rueidis.RedisError
	switch {
	case errors.As(err, &refused):
		return append(found, finding{Hidden, "", "clock", "this user may not use TIME", "", "ACL SETUSER retwis +time" + keepACL}), nil
	case err != nil || len(parts) != 2:
		return found, err
	}
	seconds, _ := strconv.ParseFloat(parts[0]+"."+fmt.Sprintf("%06s", parts[1]), 64)
	off := time.Duration(math.Abs(float64(time.Now().UnixMicro())/1e6-seconds) * float64(time.Second))
	clock := finding{Status: OK, What: "clock", Found: "differs by " + off.Round(time.Millisecond).String()}
	if off > maxClockSkew {
		host, _ := os.Hostname()
		clock.Status, clock.Why = Problem, "rate limits and session expiry use both clocks: synchronize the clocks of "+host+" and the server"
	}
	return append(found, clock), nil
}
