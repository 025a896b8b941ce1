package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/resp"
	"retwis/internal/redis/redisserver"
)

// bulkBench measures mass insertion.
type bulkBench struct {
	opt     options
	dir     string
	program string // retwis
	servers []*redisserver.Server
}

// loaded is the result of one run of a program.
type loaded struct {
	perSecond float64 // commands
	cpu       float64 // of the program, in ns per command
	memory    float64 // peak of the program, in MiB
	server    float64 // CPU of the server, in ns per command
	ping      time.Duration
}

// loader is a way to load a file.
type loader struct {
	name string
	args []string // of the program; the file is standard input
	keys int      // in the database afterwards
	n    int      // commands
	file string
}

func measureBulk(ctx context.Context, dir string, opt options) (string, error) {
	b, err := startBulk(ctx, dir, opt)
	if err != nil {
		return "", err
	}
	defer b.stop()
	var text strings.Builder
	text.WriteString(`## Mass insertion

Each program loads a file into an empty server without persistence, on a TCP port of
127.0.0.1. Its CPU time and peak memory are those that the system reports. Meanwhile another
client sends a PING every 5 ms; the p99 of its latency, from the moment when it was due, is
the effect on other clients.

`)
	for _, part := range []func(context.Context, io.Writer) error{b.sets, b.hashes, b.records, b.cluster, b.codec} {
		if err := part(ctx, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// startBulk builds retwis and starts a server.
func startBulk(ctx context.Context, dir string, opt options) (*bulkBench, error) {
	b := &bulkBench{opt: opt, dir: dir, program: filepath.Join(dir, "retwis-load")}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.program, "./cmd/retwis")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	_, err := b.start(ctx)
	return b, err
}

func (b *bulkBench) start(ctx context.Context, config ...string) (*redisserver.Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s, err := redisserver.Start(ctx, redisserver.Options{
		Dir:    filepath.Join(b.dir, "bulk"+strconv.Itoa(len(b.servers))),
		Port:   port,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Config: append([]string{`save ""`, "appendonly no"}, config...),
	})
	if err == nil {
		b.servers = append(b.servers, s)
	}
	return s, err
}

func (b *bulkBench) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, s := range b.servers {
		_ = s.Stop(ctx)
	}
}

// url is the URL of the single server.
func (b *bulkBench) url() string { return "redis://127.0.0.1:" + strconv.Itoa(b.servers[0].Port()) }

// cli is redis-cli --pipe, and ours is retwis load with some flags.
func (b *bulkBench) cli(file string, n, keys int) loader {
	return loader{"`redis-cli --pipe`", []string{"redis-cli", "-p", strconv.Itoa(b.servers[0].Port()), "--pipe"}, keys, n, file}
}

func (b *bulkBench) ours(name, file string, n, keys int, flags ...string) loader {
	return loader{name, append([]string{b.program, "load", "--redis", b.url()}, flags...), keys, n, file}
}

// sets loads plain SETs.
func (b *bulkBench) sets(ctx context.Context, out io.Writer) error {
	n := b.opt.records
	file, err := b.write("sets.resp", n, func(e *resp.Encoder, i int) error {
		return e.Encode("SET", "Key"+strconv.Itoa(i), "Value"+strconv.Itoa(i))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s `SET KeyN ValueN`, medians of %d rounds:\n\n", thousands(n), b.opt.rounds)
	return b.table(ctx, out, true, []loader{
		b.cli(file, n, n),
		b.ours("`retwis load`", file, n, n),
		b.ours("`retwis load --coalesce`", file, n, n, "--coalesce"),
		b.ours("`retwis load --max-inflight 64KB`", file, n, n, "--max-inflight", "64KB"),
	})
}

// hashes loads hashes of five fields.
func (b *bulkBench) hashes(ctx context.Context, out io.Writer) error {
	n := b.opt.records / 2
	file, err := b.write("hashes.resp", n, func(e *resp.Encoder, i int) error {
		id := strconv.Itoa(i)
		return e.Encode("HSET", "user:"+id, "name", "User"+id, "mail", "user"+id+"@example.com", "age", 18+i%70, "city", "Palermo", "time", 1700000000+i)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s `HSET`s of five fields:\n\n", thousands(n))
	return b.table(ctx, out, true, []loader{b.cli(file, n, n), b.ours("`retwis load`", file, n, n)})
}

// records loads CSV and NDJSON.
func (b *bulkBench) records(ctx context.Context, out io.Writer) error {
	n := b.opt.records / 2
	write := func(name, head, format string) (string, error) {
		var text bytes.Buffer
		text.WriteString(head)
		for i := range n {
			fmt.Fprintf(&text, format, i, i, 18+i%70, i)
		}
		path := filepath.Join(b.dir, name)
		return path, os.WriteFile(path, text.Bytes(), 0o600)
	}
	csv, err := write("people.csv", "id,name,age,mail\n", "%d,user%d,%d,user%d@example.com\n")
	if err != nil {
		return err
	}
	ndjson, err := write("people.ndjson", "", `{"id":%d,"name":"user%d","age":%d,"mail":"user%d@example.com"}`+"\n")
	if err != nil {
		return err
	}
	const do = "HSET user:{id} name {name} age {age|int} mail {mail}"
	ready := filepath.Join(b.dir, "people.resp")
	emit := exec.CommandContext(ctx, b.program, "load", "--emit", "--do", do, csv)
	to, err := os.Create(ready)
	if err != nil {
		return err
	}
	emit.Stdout, emit.Stderr = to, os.Stderr
	if err := emit.Run(); err != nil {
		return fmt.Errorf("retwis load --emit: %w", err)
	}
	if err := to.Close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s records through the template `%s`, and the protocol that it generates from them:\n\n", thousands(n), do)
	return b.table(ctx, out, true, []loader{
		b.ours("the protocol", ready, n, n),
		b.ours("CSV", csv, n, n, "--format", "csv", "--do", do),
		b.ours("NDJSON", ndjson, n, n, "--format", "ndjson", "--do", do),
	})
}

// cluster loads into three masters.
func (b *bulkBench) cluster(ctx context.Context, out io.Writer) error {
	n := b.opt.records
	file := filepath.Join(b.dir, "sets.resp")
	var ports []int
	for range 3 {
		s, err := b.start(ctx, "cluster-enabled yes")
		if err != nil {
			return err
		}
		ports = append(ports, s.Port())
	}
	if err := b.join(ctx, b.servers[1:]); err != nil {
		return err
	}
	of := b.ours("three masters", file, n, n)
	of.args[3] = "redis://127.0.0.1:" + strconv.Itoa(ports[0])
	fmt.Fprintf(out, "The same %s `SET`s into one server, and into a Cluster of three masters on this machine:\n\n", thousands(n))
	return b.table(ctx, out, false, []loader{b.ours("one server", file, n, n), of})
}

// join makes a Cluster of servers.
func (b *bulkBench) join(ctx context.Context, servers []*redisserver.Server) error {
	const slots = 16384
	for i, s := range servers {
		c, err := clientOf(s)
		if err != nil {
			return err
		}
		defer c.Close()
		words := []string{"CLUSTER", "ADDSLOTS"}
		for slot := i * slots / len(servers); slot < (i+1)*slots/len(servers); slot++ {
			words = append(words, strconv.Itoa(slot))
		}
		if err := c.Do(ctx, c.B().Arbitrary(words...).Build()).Error(); err != nil {
			return err
		}
		if err := c.Do(ctx, c.B().Arbitrary("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(servers[0].Port())).Build()).Error(); err != nil {
			return err
		}
	}
	for _, s := range servers {
		c, err := clientOf(s)
		if err != nil {
			return err
		}
		defer c.Close()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			info, err := c.Do(ctx, c.B().ClusterInfo().Build()).ToString()
			if err != nil {
				return err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:"+strconv.Itoa(len(servers))) {
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("the Cluster does not come up:\n%s", info)
			}
		}
	}
	return nil
}

func clientOf(s *redisserver.Server) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Socket()}, DialCtxFn: dialUnix, ForceSingleClient: true, PipelineMultiplex: -1, DisableCache: true,
	})
}

// write makes a file of commands.
func (b *bulkBench) write(name string, n int, one func(e *resp.Encoder, i int) error) (string, error) {
	path := filepath.Join(b.dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	e := resp.NewEncoder(f)
	for i := range n {
		if err := one(e, i); err != nil {
			return "", err
		}
	}
	return path, e.Flush()
}

// table measures sides in turn and writes a row for each, compared with the first.
func (b *bulkBench) table(ctx context.Context, out io.Writer, detail bool, sides []loader) error {
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
	cpu := func(l loaded) float64 { return l.cpu }
	if detail {
		fmt.Fprintf(out, "| | commands/s | ratio | CPU of the program, ns per command | ratio | its memory, MiB | PING meanwhile, p99 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	} else {
		fmt.Fprintf(out, "| | commands/s | ratio |\n| --- | ---: | ---: |\n")
	}
	for i, side := range sides {
		fmt.Fprintf(out, "| %s | %s | %.2f |", side.name, thousands(int(medianOf(runs[i], rate))), ratioOf(runs[i], runs[0], rate))
		if detail {
			fmt.Fprintf(out, " %.0f | %.2f | %.0f | %s |", medianOf(runs[i], cpu), ratioOf(runs[i], runs[0], cpu),
				medianOf(runs[i], func(l loaded) float64 { return l.memory }),
				milliseconds(time.Duration(medianOf(runs[i], func(l loaded) float64 { return float64(l.ping) }))))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	return nil
}

// run runs a program that loads its file.
func (b *bulkBench) run(ctx context.Context, side loader) (loaded, error) {
	for _, s := range b.servers {
		if _, err := ask(ctx, s, "FLUSHALL"); err != nil {
			return loaded{}, err
		}
	}
	in, err := os.Open(side.file)
	if err != nil {
		return loaded{}, err
	}
	defer in.Close()
	cmd := exec.CommandContext(ctx, side.args[0], side.args[1:]...)
	cmd.Stdin = in
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	before, err := b.serverCPU(ctx)
	if err != nil {
		return loaded{}, err
	}
	pings := startPings(b.servers[0].Port())
	began := time.Now()
	if err := cmd.Start(); err != nil {
		_, _ = pings()
		return loaded{}, err
	}
	memory := watchMemory(cmd.Process.Pid)
	err = cmd.Wait()
	took := time.Since(began)
	ping, unheard := pings()
	peak := memory()
	if err != nil {
		return loaded{}, fmt.Errorf("%w\n%s", err, &said)
	}
	if unheard != nil {
		return loaded{}, unheard
	}
	after, err := b.serverCPU(ctx)
	if err != nil {
		return loaded{}, err
	}
	keys := 0
	for _, s := range b.servers {
		n, err := ask(ctx, s, "DBSIZE")
		if err != nil {
			return loaded{}, err
		}
		keys += int(n)
	}
	if keys != side.keys {
		return loaded{}, fmt.Errorf("there are %d keys, want %d\n%s", keys, side.keys, &said)
	}
	return loaded{
		perSecond: float64(side.n) / took.Seconds(),
		cpu:       float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(side.n),
		memory:    peak,
		server:    (after - before) / float64(side.n),
		ping:      ping,
	}, nil
}

// serverCPU returns the CPU time of all servers in ns.
func (b *bulkBench) serverCPU(ctx context.Context) (total float64, err error) {
	for _, s := range b.servers {
		c, err := clientOf(s)
		if err != nil {
			return 0, err
		}
		seconds, err := serverSeconds(ctx, c)
		c.Close()
		if err != nil {
			return 0, err
		}
		total += seconds * 1e9
	}
	return total, nil
}

// ask sends a command that replies with a number or OK.
func ask(ctx context.Context, s *redisserver.Server, command string) (int64, error) {
	c, err := clientOf(s)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	answer := c.Do(ctx, c.B().Arbitrary(command).Build())
	if err := answer.Error(); err != nil {
		return 0, err
	}
	n, _ := answer.AsInt64()
	return n, nil
}

func medianOf(all []loaded, of func(loaded) float64) float64 {
	sorted := make([]float64, len(all))
	for i, l := range all {
		sorted[i] = of(l)
	}
	slices.SortFunc(sorted, cmp.Compare[float64])
	return sorted[len(sorted)/2]
}

// ratioOf returns the median of the rounds' ratios.
func ratioOf(a, b []loaded, of func(loaded) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = of(a[i]) / of(b[i])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// codec measures Encoder and Scanner by themselves.
func (b *bulkBench) codec(_ context.Context, out io.Writer) error {
	input, err := os.ReadFile(filepath.Join(b.dir, "sets.resp"))
	if err != nil {
		return err
	}
	keys, values := make([]string, b.opt.records), make([]string, b.opt.records)
	for i := range keys {
		keys[i], values[i] = "Key"+strconv.Itoa(i), "Value"+strconv.Itoa(i)
	}
	measure := func(name string, work func() error) error {
		var before, after runtime.MemStats
		var took []float64
		var allocs uint64
		for range b.opt.rounds {
			runtime.ReadMemStats(&before)
			began := time.Now()
			if err := work(); err != nil {
				return err
			}
			took = append(took, time.Since(began).Seconds())
			runtime.ReadMemStats(&after)
			allocs = after.Mallocs - before.Mallocs
		}
		slices.Sort(took)
		seconds := took[len(took)/2]
		fmt.Fprintf(out, "| %s | %.2f | %.0f | %.2f |\n", name, float64(len(input))/seconds/1e9,
			seconds*1e9/float64(b.opt.records), float64(allocs)/float64(b.opt.records))
		return nil
	}
	fmt.Fprintf(out, "The protocol of these `SET`s, in memory, on one core:\n\n| | GB/s | ns per command | allocations per command |\n| --- | ---: | ---: | ---: |\n")
	err = measure("`Encoder`", func() error {
		e := resp.NewEncoder(io.Discard)
		for i := range keys {
			if err := e.Encode("SET", keys[i], values[i]); err != nil {
				return err
			}
		}
		return e.Flush()
	})
	if err != nil {
		return err
	}
	return measure("`Scanner`", func() error {
		s := resp.NewScanner(bytes.NewReader(input))
		commands := 0
		for s.Scan() {
			if s.Frame().Len() == 3 {
				commands++
			}
		}
		if s.Err() == nil && commands != b.opt.records {
			return fmt.Errorf("there are %d commands, want %d", commands, b.opt.records)
		}
		return s.Err()
	})
}
