// Package bulk compares retwis load with redis-cli --pipe, and its formats with each other.
package bulk

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/bulk"
	"retwis/bulk/resp"
)

// Bulk measures mass insertion.
func Bulk(ctx context.Context, opt measure.Options) (string, error) {
	b := &bench{opt: opt}
	defer b.stop()
	if err := b.start(ctx); err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString(`## Mass insertion

Each program loads a file into an empty server without persistence, on a TCP port of
127.0.0.1. Its CPU time and peak memory are those that the system reports. Meanwhile another
client sends a PING every 5 ms; the p99 of its latency, from the moment when it was due, is
the effect on other clients.

`)
	for _, part := range []func(context.Context, io.Writer) error{b.sets, b.hashes, b.snapshots, b.cluster} {
		if err := part(ctx, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// url is the URL of the single server.
func (b *bench) url() string { return "redis://127.0.0.1:" + strconv.Itoa(b.servers[0].Port()) }

// cli is redis-cli --pipe.
func (b *bench) cli(f file) loader {
	return loader{name: "`redis-cli --pipe`", args: []string{"redis-cli", "-p", strconv.Itoa(b.servers[0].Port()), "--pipe"}, file: f}
}

// ours is retwis load with some flags.
func (b *bench) ours(name string, f file, flags ...string) loader {
	return loader{name: name, args: append([]string{b.program, "load", "--redis", b.url()}, flags...), file: f}
}

// sets loads plain SETs.
func (b *bench) sets(ctx context.Context, out io.Writer) error {
	n := b.opt.Records
	f, err := b.write("sets.resp", n, func(e *resp.Encoder, i int) error {
		return e.Encode("SET", "Key"+strconv.Itoa(i), "Value"+strconv.Itoa(i))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s `SET KeyN ValueN`, medians of %d rounds:\n\n", measure.Thousands(n), b.opt.Rounds)
	return b.table(ctx, out, details, []loader{
		b.cli(f),
		b.ours("`retwis load`", f),
		b.ours("`retwis load --coalesce`", f, "--coalesce"),
		b.ours("`retwis load --max-inflight 64KB`", f, "--max-inflight", "64KB"),
	})
}

// hashes loads hashes of five fields.
func (b *bench) hashes(ctx context.Context, out io.Writer) error {
	n := b.opt.Records / 2
	f, err := b.write("hashes.resp", n, func(e *resp.Encoder, i int) error {
		id := strconv.Itoa(i)
		return e.Encode("HSET", "user:"+id, "name", "User"+id, "mail", "user"+id+"@example.com", "age", 18+i%70, "city", "Palermo", "time", 1700000000+i)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s `HSET`s of five fields:\n\n", measure.Thousands(n))
	return b.table(ctx, out, details, []loader{b.cli(f), b.ours("`retwis load`", f)})
}

// cluster loads into three masters.
func (b *bench) cluster(ctx context.Context, out io.Writer) error {
	c, err := measure.StartCluster(ctx, filepath.Join(b.opt.Dir, "cluster"), 3)
	defer c.Stop()
	if err != nil {
		return err
	}
	single := b.servers
	defer func() { b.servers = single }()
	b.servers = append(slices.Clone(single), c.Nodes...)
	f := file{filepath.Join(b.opt.Dir, "sets.resp"), b.opt.Records, b.opt.Records}
	of := b.ours("three masters", f)
	of.args[3] = "redis://" + c.Addresses[0]
	fmt.Fprintf(out, "The same %s `SET`s into one server, and into a Cluster of three masters on this machine:\n\n", measure.Thousands(f.n))
	return b.table(ctx, out, rates, []loader{b.ours("one server", f), of})
}

// snapshots loads the same keys from a snapshot and from the shortest commands for them.
func (b *bench) snapshots(ctx context.Context, out io.Writer) error {
	n := b.opt.Records / 4
	keys, err := b.write("keys.resp", n, mixedKey)
	if err != nil {
		return err
	}
	list, err := b.write("list.resp", 5*n/100, func(e *resp.Encoder, i int) error {
		args := []any{"RPUSH", "list"}
		for j := range 100 {
			args = append(args, "element"+strconv.Itoa(100*i+j))
		}
		return e.Encode(args...)
	})
	if err != nil {
		return err
	}
	list.n, list.keys = 5*n, 1
	fmt.Fprintf(out, `### Snapshots

%s keys: 40%% strings, 30%% hashes of five fields, 20%% lists of 20 elements, 10%% sorted sets of
ten; and one list of %s elements. The protocol has one command for each key, and one for 100
elements of the list; the snapshot (RDB) is what the server writes of these keys. `+"`retwis load`"+` sends
each list as a transaction that can be repeated, and an UNLINK before other keys of several elements,
so that it replaces what exists.

`, measure.Thousands(n), measure.Thousands(list.n))
	var sides []loader
	for i, f := range []file{keys, list} {
		snapshot, err := b.save(ctx, f)
		if err != nil {
			return err
		}
		what := []string{"", "the list, "}[i]
		for _, side := range []loader{b.ours(what+"the protocol", f), b.ours(what+"the snapshot", snapshot)} {
			side.base = 2 * i
			sides = append(sides, side)
		}
	}
	return b.table(ctx, out, sizes, sides)
}

// mixedKey writes the command that creates key i.
func mixedKey(e *resp.Encoder, i int) error {
	id := strconv.Itoa(i)
	switch {
	case i%10 < 4:
		return e.Encode("SET", "string:"+id, "Value"+id)
	case i%10 < 7:
		return e.Encode("HSET", "hash:"+id, "name", "User"+id, "mail", "user"+id+"@example.com", "age", 18+i%70, "city", "Palermo", "time", 1700000000+i)
	case i%10 < 9:
		args := []any{"RPUSH", "list:" + id}
		for j := range 20 {
			args = append(args, 1000*j+i)
		}
		return e.Encode(args...)
	}
	args := []any{"ZADD", "zset:" + id}
	for j := range 10 {
		args = append(args, 1700000000+j*i, "member"+strconv.Itoa(j))
	}
	return e.Encode(args...)
}

// save loads a file and returns the snapshot that the server writes.
func (b *bench) save(ctx context.Context, f file) (file, error) {
	s := b.servers[0]
	if _, err := b.sum(ctx, "FLUSHALL"); err != nil {
		return file{}, err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return file{}, err
	}
	defer in.Close()
	if _, err := bulk.LoadInto(ctx, rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + strconv.Itoa(s.Port())}}, in, bulk.Options{}); err != nil {
		return file{}, err
	}
	if _, err := b.sum(ctx, "SAVE"); err != nil {
		return file{}, err
	}
	saved := file{f.path + ".rdb", f.n, f.keys}
	return saved, os.Rename(filepath.Join(b.opt.Dir, "server", "dump.rdb"), saved.path)
}

// write makes a file of commands, each of which creates a key.
func (b *bench) write(name string, n int, one func(e *resp.Encoder, i int) error) (file, error) {
	path := filepath.Join(b.opt.Dir, name)
	to, err := os.Create(path)
	if err != nil {
		return file{}, err
	}
	defer to.Close()
	e := resp.NewEncoder(to)
	for i := range n {
		if err := one(e, i); err != nil {
			return file{}, err
		}
	}
	return file{path, n, n}, e.Flush()
}
