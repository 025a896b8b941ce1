package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"retwis/bench/measure"
)

// site is a running "retwis serve" with its own server, on loopback only.
type site struct {
	url, admin string
	program    *measure.Program
	dir        string
}

// start serves an empty database. It believes X-Forwarded-For of this machine, so that
// requests can come from many addresses.
func start(program string, args ...string) (*site, error) {
	dir, err := os.MkdirTemp("", "retwis-attack")
	if err != nil {
		return nil, err
	}
	port, err := measure.FreePort()
	if err != nil {
		return nil, err
	}
	s := &site{admin: fmt.Sprint("127.0.0.1:", port), dir: dir}
	s.program, err = measure.Serve(program, append([]string{
		"serve", "--addr", "127.0.0.1:0", "--admin-addr", s.admin, "--redis", "embedded:" + dir, "--trusted-proxies", "127.0.0.1/32", "--log-level", "error",
	}, args...)...)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.url = "http://" + s.program.Addr
	return s, nil
}

func (s *site) stop() error {
	s.program.Stop()
	return os.RemoveAll(s.dir)
}

// metric returns the sum of a metric over its labels.
func (s *site) metric(name string) (float64, error) {
	response, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	sum, lines := 0.0, bufio.NewScanner(response.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), " ")
		if field != name && !strings.HasPrefix(field, name+"{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, lines.Err()
}

// resident is the memory of the site in MB.
func (s *site) resident() (float64, error) {
	bytes, err := s.metric("process_resident_memory_bytes")
	return bytes / 1e6, err
}

const (
	secret     = "engine-and-loom-1843"
	mostMemory = 500 // MB
)

func (s *site) visitor(from string) *measure.Visitor { return measure.NewVisitor(s.url, from) }

// member signs somebody up at an address of their own.
func (s *site) member(ctx context.Context, name, from string) (*measure.Visitor, error) {
	v := s.visitor(from)
	status, err := v.SignUp(ctx, name, secret)
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("sign up %s: status %d", name, status)
	}
	return v, err
}
