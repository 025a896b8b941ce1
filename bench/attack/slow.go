package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"retwis/bench/measure"
	"retwis/internal/sleep"
)

const (
	slowConnections = 2000
	slowFor         = 20 * time.Second // longer than the read timeout of the server
	slowPause       = time.Second
	// pipelined is the number of pages that a slow reader requests, more than the socket buffers hold.
	pipelined = 50
	// bot and neighbour are two addresses of this machine.
	bot, neighbour = "127.0.0.1", "127.0.0.2"
)

// slowHeaders sends an endless series of headers (Slowloris).
func slowHeaders(ctx context.Context, conn net.Conn) {
	trickle(ctx, conn, "GET /timeline HTTP/1.1\r\nHost: localhost\r\n", "X-More: 1\r\n")
}

// slowForm sends a form, one byte per second.
func slowForm(ctx context.Context, conn net.Conn) {
	trickle(ctx, conn, "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nusername=", "a")
}

// slowReader requests more pages than the socket buffers hold, and reads no response.
func slowReader(ctx context.Context, conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	trickle(ctx, conn, strings.Repeat("GET /timeline HTTP/1.1\r\nHost: localhost\r\n\r\n", pipelined), "GET /timeline HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// trickle sends start, and then more once per second until ctx ends or the server closes the
// connection.
func trickle(ctx context.Context, conn net.Conn, start, more string) {
	if _, err := conn.Write([]byte(start)); err != nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := conn.Write([]byte(more)); err != nil && !isTimeout(err) {
				return
			}
		}
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// dialFrom returns a dial function that connects from the given local address.
func dialFrom(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	return dialer.DialContext
}

// slowly returns an attack with many slow connections from one address. The attack replaces a
// closed connection after a second. Meanwhile, a user at another address visits the site.
func slowly(use func(context.Context, net.Conn)) func(context.Context, *site) (result, error) {
	return func(ctx context.Context, s *site) (result, error) {
		visitor := s.visitor("")
		visitor.HTTP.Transport = &http.Transport{DialContext: dialFrom(neighbour), DisableKeepAlives: true}
		if err := measure.Accepted(visitor.SignUp(ctx, "ada", secret)); err != nil {
			return result{}, fmt.Errorf("sign up: %w", err)
		}
		attack, cancel := context.WithTimeout(ctx, slowFor)
		defer cancel()
		dial, maxOpen := dialFrom(bot), 0.0
		seen := during(func() {
			_ = measure.Concurrently(slowConnections, slowConnections, func(int) error {
				for attack.Err() == nil {
					if conn, err := dial(attack, "tcp", s.program.Addr); err == nil {
						stop := context.AfterFunc(attack, func() { conn.Close() })
						use(attack, conn)
						stop()
						conn.Close()
					}
					sleep.For(attack, slowPause)
				}
				return nil
			})
		}, time.Second, get(ctx, visitor, "/timeline"), func() (int, error) {
			open, err := s.metric("retwis_connections")
			if err != nil {
				return 0, err
			}
			maxOpen = max(maxOpen, open)
			return visitor.LogIn(ctx, "ada", secret)
		})
		memory, err := s.residentMB()
		return result{
			fmt.Sprintf("at most %.0f open; %d of %d other requests succeed, slowest %d ms; %.0f MB", maxOpen, seen.good, seen.requests, seen.slowest.Milliseconds(), memory),
			seen.good == seen.requests && seen.requests >= 10 && seen.slowest <= 2*time.Second && maxOpen <= 520 && memory < maxMemoryMB,
		}, err
	}
}
