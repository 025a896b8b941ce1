package bulk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"retwis/bench/measure"
	"retwis/internal/redis/redisserver"
)

// bench runs programs that load files into servers.
type bench struct {
	opt     measure.Options
	program string // retwis
	servers []*redisserver.Server
}

// file has n commands, records or elements, which create so many keys.
type file struct {
	path    string
	n, keys int
}

// loader is a way to load a file: a program whose standard input it is.
type loader struct {
	name string
	args []string
	file file
	base int // the one to compare with
}

// loaded is the result of one run of a program.
type loaded struct {
	rate   float64 // each second
	cpu    float64 // of the program, ns each
	server float64 // CPU of the servers, ns each
	memory float64 // peak of the program, MiB
	ping   float64 // p99 of another client, ns
}

func rate(l loaded) float64   { return l.rate }
func cpu(l loaded) float64    { return l.cpu }
func server(l loaded) float64 { return l.server }
func memory(l loaded) float64 { return l.memory }
func ping(l loaded) float64   { return l.ping }

// start builds retwis and starts a server.
func (b *bench) start(ctx context.Context) (err error) {
	if b.program, err = measure.Build(ctx, b.opt.Dir); err != nil {
		return err
	}
	port, err := measure.FreePort()
	if err != nil {
		return err
	}
	s, err := measure.StartServer(ctx, filepath.Join(b.opt.Dir, "server"), port)
	if err == nil {
		b.servers = append(b.servers, s)
	}
	return err
}

func (b *bench) stop() { measure.StopServers(b.servers) }

// kind is the columns of a table.
type kind struct {
	head []string
	row  func(side loader, runs, base []loaded) string
}

func median(runs []loaded, of func(loaded) float64) float64 {
	return measure.Median(measure.Each(runs, of))
}

func ratio(a, b []loaded, of func(loaded) float64) float64 {
	return measure.MedianRatio(measure.Each(a, of), measure.Each(b, of))
}

var (
	rates = kind{[]string{"", "commands/s", "ratio"}, func(_ loader, runs, base []loaded) string {
		return fmt.Sprintf("%s | %.2f", measure.Thousands(int(median(runs, rate))), ratio(runs, base, rate))
	}}
	details = kind{
		[]string{"", "commands/s", "ratio", "CPU of the program, ns per command", "ratio", "its memory, MiB", "PING meanwhile, p99"},
		func(side loader, runs, base []loaded) string {
			return fmt.Sprintf("%s | %.0f | %.2f | %.0f | %s", rates.row(side, runs, base), median(runs, cpu), ratio(runs, base, cpu),
				median(runs, memory), measure.Milliseconds(time.Duration(median(runs, ping))))
		},
	}
	sizes = kind{
		[]string{"", "MB", "keys/s, elements/s", "MB/s", "time", "CPU of the program, µs each", "CPU of the server, µs each", "memory of the program, MiB"},
		func(side loader, runs, base []loaded) string {
			mb := 0.0
			if info, err := os.Stat(side.file.path); err == nil {
				mb = float64(info.Size()) / 1e6
			}
			perSecond := median(runs, rate)
			return fmt.Sprintf("%.0f | %s | %.0f | %.2f | %.2f | %.2f | %.0f", mb, measure.Thousands(int(perSecond)), mb*perSecond/float64(side.file.n),
				1/ratio(runs, base, rate), median(runs, cpu)/1e3, median(runs, server)/1e3, median(runs, memory))
		},
	}
)

// table measures sides in turn and writes a row for each.
func (b *bench) table(ctx context.Context, out io.Writer, k kind, sides []loader) error {
	runs, err := measure.InTurn(b.opt.Rounds, sides, func(side loader, _ int) (loaded, error) {
		one, err := b.run(ctx, side)
		if err != nil {
			err = fmt.Errorf("%s: %w", side.name, err)
		}
		return one, err
	})
	if err != nil {
		return err
	}
	measure.Head(out, k.head...)
	for i, side := range sides {
		fmt.Fprintf(out, "| %s | %s |\n", side.name, k.row(side, runs[i], runs[side.base]))
	}
	fmt.Fprintln(out)
	return nil
}

// run runs a program that loads its file.
func (b *bench) run(ctx context.Context, side loader) (l loaded, err error) {
	if _, err := b.sum(ctx, "FLUSHALL"); err != nil {
		return l, err
	}
	in, err := os.Open(side.file.path)
	if err != nil {
		return l, err
	}
	defer in.Close()
	cmd := exec.CommandContext(ctx, side.args[0], side.args[1:]...)
	cmd.Stdin = in
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	before, err := b.serverSeconds(ctx)
	if err != nil {
		return l, err
	}
	pings := startPings(b.servers[0].Port())
	began := time.Now()
	if err := cmd.Start(); err != nil {
		_, _ = pings()
		return l, err
	}
	peak := measure.WatchMemory(cmd.Process.Pid)
	err = cmd.Wait()
	took := time.Since(began)
	p99, failed := pings()
	l.memory = peak() / (1 << 20)
	if err != nil {
		return l, fmt.Errorf("%w\n%s", err, &printed)
	}
	if failed != nil {
		return l, failed
	}
	after, err := b.serverSeconds(ctx)
	if err != nil {
		return l, err
	}
	keys, err := b.sum(ctx, "DBSIZE")
	if err == nil && keys != side.file.keys {
		err = fmt.Errorf("there are %d keys, want %d\n%s", keys, side.file.keys, &printed)
	}
	n := float64(side.file.n)
	l.rate, l.ping, l.server = n/took.Seconds(), float64(p99), (after-before)*1e9/n
	l.cpu = float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / n
	return l, err
}

// serverSeconds returns the CPU time of all servers.
func (b *bench) serverSeconds(ctx context.Context) (total float64, err error) {
	for _, s := range b.servers {
		c, err := measure.Dial(s.Socket())
		if err != nil {
			return 0, err
		}
		seconds, err := measure.ServerSeconds(ctx, c)
		c.Close()
		if err != nil {
			return 0, err
		}
		total += seconds
	}
	return total, nil
}

// sum sends a command to all servers, and adds up the numbers that they return.
func (b *bench) sum(ctx context.Context, command string) (total int, err error) {
	for _, s := range b.servers {
		c, err := measure.Dial(s.Socket())
		if err != nil {
			return 0, err
		}
		answer := c.Do(ctx, c.B().Arbitrary(command).Build())
		c.Close()
		if err := answer.Error(); err != nil {
			return 0, err
		}
		if n, err := answer.AsInt64(); err == nil {
			total += int(n)
		}
	}
	return total, nil
}

// pingEvery is the interval of PINGs during a load.
const pingEvery = 5 * time.Millisecond

// startPings sends PINGs until the returned function is called, which returns the p99 of
// their latency. Each is measured from the moment when it was due.
func startPings(port int) (stop func() (time.Duration, error)) {
	end, ended := make(chan struct{}), make(chan struct{})
	var all []time.Duration
	var failed error
	go func() {
		defer close(ended)
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			failed = err
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for due := time.Now(); ; due = due.Add(pingEvery) {
			select {
			case <-end:
				return
			case <-time.After(time.Until(due)):
			}
			if _, err := c.Write([]byte("PING\r\n")); err != nil {
				failed = err
				return
			}
			answer, err := in.ReadString('\n')
			if err == nil && answer != "+PONG\r\n" {
				err = fmt.Errorf("%q", answer)
			}
			if err != nil {
				failed = err
				return
			}
			all = append(all, time.Since(due))
		}
	}()
	return func() (time.Duration, error) {
		close(end)
		<-ended
		if failed == nil && len(all) == 0 {
			failed = errors.New("no PING was sent")
		}
		if failed != nil {
			return 0, fmt.Errorf("PING: %w", failed)
		}
		slices.Sort(all)
		return all[len(all)*99/100], nil
	}
}
