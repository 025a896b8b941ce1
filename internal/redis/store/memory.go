package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/redis/rueidis"
)

// NoMemoryLimit is the Options.MaxMemory of an embedded server without a limit.
const NoMemoryLimit = -1

// memoryShare is the share of the machine's or container's memory that an embedded server may
// use. The rest is for the site, for the system, and for the pages that the server changes while
// a child process writes its file.
const memoryShare = 0.6

// DefaultMaxMemory returns the default memory limit of an embedded server, or 0 if the memory of
// the machine is unknown.
func DefaultMaxMemory() int64 {
	total, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0
	}
	if system, err := memlimit.FromSystem(); err == nil {
		total = min(total, system)
	}
	return int64(memoryShare * float64(total))
}

// maxMemoryConfig returns configuration lines for an embedded server.
func (o Options) maxMemoryConfig() []string {
	limit := o.MaxMemory
	switch limit {
	case 0:
		limit = DefaultMaxMemory()
	case NoMemoryLimit:
		limit = 0
	}
	// The table of keys cached by web processes takes about 100 bytes per key: up to a tenth of
	// the limit.
	tracked := max(limit/1000, 1_000_000)
	return []string{
		"maxmemory " + strconv.FormatInt(limit, 10), "maxmemory-policy noeviction",
		"tracking-table-max-keys " + strconv.FormatInt(tracked, 10),
	}
}

// MemoryUse is the memory use of a server.
type MemoryUse struct {
	Address   string
	Used, Max int64 // bytes; Max is 0 without a limit
}

// Share returns the used share of the limit, or 0 without a limit.
func (m MemoryUse) Share() float64 {
	if m.Max <= 0 {
		return 0
	}
	return float64(m.Used) / float64(m.Max)
}

// Memory returns the memory use of each server that reports it within a second.
func Memory(ctx context.Context, client rueidis.Client) []MemoryUse {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	nodes := client.Nodes()
	uses := make(chan MemoryUse, len(nodes))
	for address, node := range nodes {
		go func() {
			info, _ := node.Do(ctx, node.B().Info().Section("memory").Build()).ToString()
			uses <- MemoryUse{address, InfoNumber(info, "used_memory"), InfoNumber(info, "maxmemory")}
		}()
	}
	var all []MemoryUse
	for range nodes {
		if use := <-uses; use.Used > 0 {
			all = append(all, use)
		}
	}
	return all
}

// NotAppending returns the address of a server that keeps no append-only file, or "" if no server
// reports that.
func NotAppending(ctx context.Context, client rueidis.Client) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for address, node := range client.Nodes() {
		info, _ := node.Do(ctx, node.B().Info().Section("persistence").Build()).ToString()
		if InfoField(info, "aof_enabled") == "0" {
			return address
		}
	}
	return ""
}

// InfoField returns a field of the reply to INFO, or "" if it is missing.
func InfoField(info, name string) string {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// InfoNumber returns a numeric field of the reply to INFO, or 0 if it is missing.
func InfoNumber(info, name string) int64 {
	n, _ := strconv.ParseInt(InfoField(info, name), 10, 64)
	return n
}
