package toolkit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/bulk/resp"
)

// Bulk compares retwis load with redis-cli --pipe.
func Bulk(ctx context.Context, opt measure.Options) (string, error) {
	program, err := measure.Build(ctx, opt.Dir)
	if err != nil {
		return "", err
	}
	file := filepath.Join(opt.Dir, "sets.resp")
	if err := writeSets(file, opt.Records); err != nil {
		return "", err
	}
	return measure.OnServer(ctx, opt.Dir, func(out io.Writer, server *measure.Server) error {
		client := server.Client
		load := func(args ...string) func() ([]float64, error) {
			return func() ([]float64, error) { return loadFile(ctx, client, file, opt.Records, args) }
		}
		port := strconv.Itoa(server.Port())
		url := "redis://127.0.0.1:" + port
		fmt.Fprintf(out, `## Mass insertion

Each program loads a file into an empty server without persistence, over TCP on
127.0.0.1. The operating system reports its CPU time.

%s `+"`SET KeyN ValueN`"+`, medians of %d rounds:

`, measure.Thousands(opt.Records), opt.Rounds)
		return measure.Table{
			Rounds: opt.Rounds, Head: []string{"", "commands/s", "ratio", "CPU of the program, ns per command", "ratio"}, Formats: []string{"", "%.0f"},
			Sides: []measure.Side{
				{Name: "`redis-cli --pipe`", Measure: load("redis-cli", "-p", port, "--pipe")},
				{Name: "`retwis load`", Measure: load(program, "load", "--redis", url)},
				{Name: "`retwis load --coalesce`", Measure: load(program, "load", "--redis", url, "--coalesce")},
			},
		}.Write(out)
	})
}

// writeSets writes SET commands for n keys to a file.
func writeSets(path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	e := resp.NewEncoder(file)
	for i := range n {
		if err := e.Encode("SET", "Key"+strconv.Itoa(i), "Value"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return e.Flush()
}

// loadFile runs a program that reads n commands from standard input, each of which creates a key.
// It returns the commands per second, and the program's CPU time per command in ns.
func loadFile(ctx context.Context, client rueidis.Client, file string, n int, args []string) ([]float64, error) {
	if err := measure.FlushAll(ctx, client); err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &output, &output
	costs, err := measure.PerSecond(measure.PerOp(n, cmd.Run, measure.Clock))()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &output)
	}
	keys, err := client.Do(ctx, client.B().Dbsize().Build()).AsInt64()
	if err == nil && int(keys) != n {
		err = fmt.Errorf("%d keys after the load, want %d\n%s", keys, n, &output)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return append(costs, float64(cpu)/float64(n)), err
}
