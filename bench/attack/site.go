package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"retwis/bench/measure"
)

// site is a running "retwis serve" with its own Redis server, on the loopback interface only.
type site struct {
	url, admin string
	program    *measure.Program
	dir        string
}

// start serves an empty database. The site trusts X-Forwarded-For from this machine, so that
// requests can appear to come from many addresses.
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

// metric returns the sum of a gauge over all label values.
func (s *site) metric(name string) (sum float64, err error) {
	response, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	for _, m := range families[name].GetMetric() {
		sum += m.GetGauge().GetValue()
	}
	return sum, err
}

// residentMB returns the resident memory of the site.
func (s *site) residentMB() (float64, error) {
	bytes, err := s.metric("process_resident_memory_bytes")
	return bytes / 1e6, err
}

const (
	secret      = "engine-and-loom-1843"
	maxMemoryMB = 500
)

func (s *site) visitor(from string) *measure.Visitor { return measure.NewVisitor(s.url, from) }

// member signs up a user from the given address.
func (s *site) member(ctx context.Context, name, from string) (*measure.Visitor, error) {
	v := s.visitor(from)
	return v, measure.Accepted(v.SignUp(ctx, name, secret))
}

// visits summarizes the requests of other users during an attack.
type visits struct {
	requests, good int
	slowest        time.Duration
}

// during runs an attack and repeats the requests of other users until the attack ends.
func during(attack func(), pause time.Duration, visit ...func() (status int, err error)) (seen visits) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		attack()
	}()
	for {
		select {
		case <-ended:
			return seen
		case <-time.After(pause):
		}
		for _, send := range visit {
			began := time.Now()
			status, err := send()
			if err == nil && status < http.StatusBadRequest {
				seen.good++
			}
			seen.requests++
			seen.slowest = max(seen.slowest, time.Since(began))
		}
	}
}

// get returns a function that requests a page and returns the status.
func get(ctx context.Context, v *measure.Visitor, path string) func() (int, error) {
	return func() (int, error) {
		a, err := v.Get(ctx, path)
		return a.Status, err
	}
}
