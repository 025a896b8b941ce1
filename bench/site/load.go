package site

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"retwis/bench/measure"
)

// connections is how many keep-alive connections a load comes from.
const connections = 100

// request is the bytes that one connection sends again and again. The load
// generator shares the machine with the server, so it does as little as possible.
type request []byte

func get(path, cookie string) request {
	return request("GET " + path + " HTTP/1.1\r\nHost: bench\r\n" + cookieLine(cookie) + "\r\n")
}

func post(path, cookie, form string) request {
	return request("POST " + path + " HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
		cookieLine(cookie) + "Content-Length: " + strconv.Itoa(len(form)) + "\r\n\r\n" + form)
}

func cookieLine(cookie string) string {
	if cookie == "" {
		return ""
	}
	return "Cookie: auth=" + cookie + "\r\n"
}

// load is requests to a program, one connection for each. A connection sends the next when
// it has the response, and with a pace not before that is due.
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

// onlyOnce is the pace of a connection that sends a single request.
const onlyOnce = -1

// once sends a single request.
func once(ctx context.Context, addr string, request request, status int) error {
	_, err := load{addr: addr, status: status, pace: onlyOnce}.drive(ctx, request, time.Now())
	return err
}

// drive is one connection.
func (l load) drive(ctx context.Context, request request, at time.Time) ([]time.Duration, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// A server that hangs must not hang the benchmark.
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReaderSize(conn, 64<<10)
	var took []time.Duration
	for once := l.pace == onlyOnce; ctx.Err() == nil && (!once || len(took) == 0); {
		if l.pace > 0 {
			time.Sleep(time.Until(at))
			at = at.Add(l.pace)
		}
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		got, err := readAnswer(in)
		if err != nil {
			return nil, err
		}
		if got != l.status {
			return nil, fmt.Errorf("%.60q returned %d, want %d", request, got, l.status)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// readAnswer reads a response with a Content-Length, or without a body.
func readAnswer(in *bufio.Reader) (status int, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first {
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		} else if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return status, err
}
