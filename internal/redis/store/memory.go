package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/redis/rueidis"
)

// NoMemoryLimit is Options.MaxMemory for an embedded server without a limit.
const NoMemoryLimit = -1

// memoryShare is the share of the machine's memory, or of the container's, that an
// embedded server may use. The rest is for the site, for the system, and for the pages
// that the server changes while a child process writes its file.
const memoryShare = 0.6

// DefaultMaxMemory is the limit of an embedded server without a configured one, 0 if the
// memory of the machine is not known.
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

// maxMemoryConfig returns the lines of an embedded server's configuration.
func (o Options) maxMemoryConfig() []string {
	limit := o.MaxMemory
	switch limit {
	case 0:
		limit = DefaultMaxMemory()
	case NoMemoryLimit:
		limit = 0
	}
	// The table of what web processes have in their memory takes about 100 bytes a key:
	// up to a tenth of the limit.
	tracked := max(limit/1000, 1_000_000)
	return []string{
		"maxmemory " + strconv.FormatInt(limit, 10), "maxmemory-policy noeviction",
		"tracking-table-max-keys " + strconv.FormatInt(tracked, 10),
	}
}

// MemoryUse is the memory that a server uses.
type MemoryUse struct {
	Address   string
	Used, Max int64 // bytes; Max is 0 without a limit
}

// Share is the used share of the limit, 0 without one.
func (m MemoryUse) Share() float64 {
	if m.Max <= 0 {
		return 0
	}
	return float64(m.Used) / float64(m.Max)
}

// Memory returns the memory of each server, without those that do not report it.
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

// NotAppending returns the address of a server that keeps no append-only file, "" if none
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

// InfoField returns a field of the reply to INFO, "" if there is none.
func InfoField(info, name string) string {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// InfoNumber returns a field of the reply to INFO as a number, 0 if there is none.
func InfoNumber(info, name string) int64 {
	n, _ := strconv.ParseInt(InfoField(info, name), 10, 64)
	return n
}
