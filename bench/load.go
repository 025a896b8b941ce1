package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
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

// result is the result of a load.
type result struct {
	perSecond float64
	mean      time.Duration
	p50, p99  time.Duration
}

// load sends requests to addr, one connection for each. A connection sends the
// next when it has the response, and with a pace not before that is due. Every
// response must have the given status.
func load(ctx context.Context, addr string, requests []request, status int, length, pace time.Duration) (result, error) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, began.Add(length))
	defer cancel()
	took := make([][]time.Duration, len(requests))
	errs := make([]error, len(requests))
	var wg sync.WaitGroup
	for i, request := range requests {
		wg.Go(func() {
			offset := pace * time.Duration(i) / time.Duration(len(requests))
			took[i], errs[i] = drive(ctx, addr, request, status, began.Add(offset), pace)
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	return summarize(slices.Concat(took...), elapsed)
}

func summarize(all []time.Duration, elapsed time.Duration) (result, error) {
	if len(all) == 0 {
		return result{}, errors.New("no request was answered")
	}
	slices.Sort(all)
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return result{
		perSecond: float64(len(all)) / elapsed.Seconds(),
		mean:      sum / time.Duration(len(all)),
		p50:       all[len(all)/2],
		p99:       all[len(all)*99/100],
	}, nil
}

// onlyOnce is the pace of a connection that sends a single request.
const onlyOnce = -1

// drive is one connection.
func drive(ctx context.Context, addr string, request request, status int, at time.Time, pace time.Duration) ([]time.Duration, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// A server that hangs must not hang the benchmark.
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReaderSize(conn, 64<<10)
	var took []time.Duration
	for once := pace == onlyOnce; ctx.Err() == nil && (!once || len(took) == 0); {
		if pace > 0 {
			time.Sleep(time.Until(at))
			at = at.Add(pace)
		}
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		got, err := readAnswer(in)
		if err != nil {
			return nil, err
		}
		if got != status {
			return nil, fmt.Errorf("%.60q returned %d, want %d", request, got, status)
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
