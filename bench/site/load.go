package site

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"retwis/bench/measure"
)

// connections is the number of keep-alive connections of a load.
const connections = 100

// request is the request that one connection repeats: a POST if form is not empty, otherwise a GET.
type request struct{ path, cookie, form string }

// load repeats each request over a separate connection. A connection sends the next request when it
// has received the response, but no faster than pace allows. The load generator shares the machine
// with the program, and therefore does as little work as possible.
type load struct {
	addr     string
	requests []request
	status   int           // the expected status of every response
	pace     time.Duration // the minimum interval between requests of a connection
}

// run sends requests for the given time.
func (l load) run(ctx context.Context, length time.Duration) (measure.Result, error) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, began.Add(length))
	defer cancel()
	n := len(l.requests)
	durations := make([][]time.Duration, n)
	err := measure.Concurrently(n, n, func(i int) (err error) {
		offset := l.pace * time.Duration(i) / time.Duration(n)
		durations[i], err = l.drive(ctx, l.requests[i], began.Add(offset))
		return err
	})
	if err != nil {
		return measure.Result{}, err
	}
	return measure.Summarize(slices.Concat(durations...), time.Since(began))
}

// drive sends the requests of one connection and returns their durations. With a pace, the first
// request is sent at next.
func (l load) drive(ctx context.Context, r request, next time.Time) (durations []time.Duration, err error) {
	// A server that hangs must not hang the benchmark.
	client := fasthttp.HostClient{Addr: l.addr, MaxConns: 1, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
	defer client.CloseIdleConnections()
	var request fasthttp.Request
	var response fasthttp.Response
	request.SetRequestURI("http://" + l.addr + r.path)
	if r.cookie != "" {
		request.Header.SetCookie("auth", r.cookie)
	}
	if r.form != "" {
		request.Header.SetMethod(fasthttp.MethodPost)
		request.Header.SetContentType("application/x-www-form-urlencoded")
		request.SetBodyString(r.form)
	}
	for ctx.Err() == nil {
		if l.pace > 0 {
			time.Sleep(time.Until(next))
			next = next.Add(l.pace)
		}
		began := time.Now()
		if err := client.Do(&request, &response); err != nil {
			return nil, err
		}
		if response.StatusCode() != l.status {
			return nil, fmt.Errorf("%s returned %d, want %d", r.path, response.StatusCode(), l.status)
		}
		durations = append(durations, time.Since(began))
	}
	return durations, nil
}
