package site

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"retwis/bench/measure"
)

// connections is how many keep-alive connections a load comes from.
const connections = 100

// request is what one connection sends again and again: a form if there is one.
type request struct{ path, cookie, form string }

// load is requests to a program, one connection for each. A connection sends the next when
// it has the response, and with a pace not before that is due. The load generator shares the
// machine with the program, so it does as little as possible.
type load struct {
	addr     string
	requests []request
	status   int // of every response
	pace     time.Duration
}

// during sends requests for a time.
func (l load) during(ctx context.Context, length time.Duration) (measure.Result, error) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, began.Add(length))
	defer cancel()
	took := make([][]time.Duration, len(l.requests))
	err := measure.Concurrently(len(took), len(took), func(i int) (err error) {
		offset := l.pace * time.Duration(i) / time.Duration(len(took))
		took[i], err = l.drive(ctx, l.requests[i], began.Add(offset))
		return err
	})
	if err != nil {
		return measure.Result{}, err
	}
	return measure.Summarize(slices.Concat(took...), time.Since(began))
}

// drive is one connection.
func (l load) drive(ctx context.Context, r request, at time.Time) (took []time.Duration, err error) {
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
			time.Sleep(time.Until(at))
			at = at.Add(l.pace)
		}
		began := time.Now()
		if err := client.Do(&request, &response); err != nil {
			return nil, err
		}
		if response.StatusCode() != l.status {
			return nil, fmt.Errorf("%s returned %d, want %d", r.path, response.StatusCode(), l.status)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
