package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bulk"
	"retwis/bulk/resp"
)

// measureSnapshots loads the same keys from a snapshot and from the shortest commands for
// them.
func measureSnapshots(ctx context.Context, dir string, opt options) (string, error) {
	b, err := startBulk(ctx, dir, opt)
	if err != nil {
		return "", err
	}
	defer b.stop()
	var out strings.Builder
	n := opt.records / 4
	file, err := b.write("keys.resp", n, mixedKey)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&out, `## Snapshots

%s keys: 40%% strings, 30%% hashes of five fields, 20%% lists of 20 elements, 10%% sorted sets of
ten; and one list of %s elements. The protocol has one command for each key, and one for 100
elements of the list; the snapshot (RDB) is what the server writes of these keys. `+"`retwis load`"+` sends
each list as a transaction that can be repeated, and an UNLINK before other keys of several elements,
so that it replaces what exists. Medians of %d rounds of `+"`make bench ARGS='--only snapshots'`"+`:

| | MB | keys/s, elements/s | MB/s | time | CPU of the program, µs each | CPU of the server, µs each | memory of the program, MiB |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, thousands(n), thousands(5*n), opt.rounds)
	if err := b.compareSnapshot(ctx, &out, "", file, n, n); err != nil {
		return "", err
	}
	list, err := b.write("list.resp", 5*n/100, func(e *resp.Encoder, i int) error {
		args := []any{"RPUSH", "list"}
		for j := range 100 {
			args = append(args, "element"+strconv.Itoa(100*i+j))
		}
		return e.Encode(args...)
	})
	if err != nil {
		return "", err
	}
	err = b.compareSnapshot(ctx, &out, "the list, ", list, 5*n, 1)
	return out.String(), err
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

// compareSnapshot lets the server write a snapshot of a file's keys, and loads both.
func (b *bulkBench) compareSnapshot(ctx context.Context, out io.Writer, what, file string, n, keys int) error {
	snapshot, err := b.save(ctx, file)
	if err != nil {
		return err
	}
	sides := []loader{b.ours(what+"the protocol", file, n, keys), b.ours(what+"the snapshot", snapshot, n, keys)}
	runs := make([][]loaded, len(sides))
	for range b.opt.rounds {
		for i, side := range sides {
			one, err := b.run(ctx, side)
			if err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			runs[i] = append(runs[i], one)
		}
	}
	rate := func(l loaded) float64 { return l.perSecond }
	for i, side := range sides {
		info, err := os.Stat(side.file)
		if err != nil {
			return err
		}
		size, perSecond := float64(info.Size())/1e6, medianOf(runs[i], rate)
		fmt.Fprintf(out, "| %s | %.0f | %s | %.0f | %.2f | %.2f | %.2f | %.0f |\n", side.name, size, thousands(int(perSecond)),
			size*perSecond/float64(n), 1/ratioOf(runs[i], runs[0], rate),
			medianOf(runs[i], func(l loaded) float64 { return l.cpu })/1e3, medianOf(runs[i], func(l loaded) float64 { return l.server })/1e3,
			medianOf(runs[i], func(l loaded) float64 { return l.memory }))
	}
	return nil
}

// save loads a file and returns the snapshot that the server writes.
func (b *bulkBench) save(ctx context.Context, file string) (string, error) {
	s := b.servers[0]
	if _, err := ask(ctx, s, "FLUSHALL"); err != nil {
		return "", err
	}
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if _, err := bulk.LoadInto(ctx, rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + strconv.Itoa(s.Port())}}, in, bulk.Options{}); err != nil {
		return "", err
	}
	if _, err := ask(ctx, s, "SAVE"); err != nil {
		return "", err
	}
	saved := file + ".rdb"
	return saved, os.Rename(filepath.Join(b.dir, "bulk0", "dump.rdb"), saved)
}
