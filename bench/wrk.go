package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wrk is the path of the load generator of that name, empty where it is not
// installed.
var wrk, _ = exec.LookPath("wrk")

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkErrors = regexp.MustCompile(`Non-2xx|Socket errors`)
)

// drivePage requests a page over all connections, with the sessions in turn, and
// returns how many responses there are each second.
func drivePage(ctx context.Context, addr, path string, cookies []string, length time.Duration) (float64, error) {
	if wrk == "" {
		requests := make([]request, connections)
		for i := range requests {
			requests[i] = get(path, cookies[i%len(cookies)])
		}
		r, err := load(ctx, addr, requests, 200, length, 0)
		return r.perSecond, err
	}
	script, err := os.CreateTemp("", "wrk*.lua")
	if err != nil {
		return 0, err
	}
	defer os.Remove(script.Name())
	if _, err := script.WriteString(wrkScript(path, cookies)); err != nil {
		return 0, err
	}
	if err := script.Close(); err != nil {
		return 0, err
	}
	args := []string{"-t1", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(max(1, int(length.Seconds()))) + "s"}
	if len(cookies) > 1 {
		args = append(args, "-s", script.Name())
	}
	out, err := exec.CommandContext(ctx, wrk, append(args, "http://"+addr+path)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	found := wrkRate.FindSubmatch(out)
	if found == nil || wrkErrors.Match(out) {
		return 0, fmt.Errorf("wrk: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// wrkScript makes all requests before the first is sent.
func wrkScript(path string, cookies []string) string {
	var b strings.Builder
	b.WriteString("local requests, i = {}, 0\nfunction init()\n")
	for _, cookie := range cookies {
		fmt.Fprintf(&b, "  requests[#requests + 1] = wrk.format('GET', %q, {Cookie = 'auth=%s'})\n", path, cookie)
	}
	b.WriteString("end\nfunction request()\n  i = i % #requests + 1\n  return requests[i]\nend\n")
	return b.String()
}
