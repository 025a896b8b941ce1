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
	slowFor         = 20 * time.Second // longer than the server waits for a request
	slowPause       = time.Second
	// pipelined is how many pages a slow reader asks for: more than the buffers hold.
	pipelined = 50
	// bot and neighbour are two addresses of this machine.
	bot, neighbour = "127.0.0.1", "127.0.0.2"
)

// slowHeaders sends a request that does not end (Slowloris).
func slowHeaders(ctx context.Context, conn net.Conn) {
	trickle(ctx, conn, "GET /timeline HTTP/1.1\r\nHost: localhost\r\n", "X-More: 1\r\n")
}

// slowForm sends a form that does not end.
func slowForm(ctx context.Context, conn net.Conn) {
	trickle(ctx, conn, "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nusername=", "a")
}

// slowReader asks for more pages than the buffers of the connection take, and reads none.
func slowReader(ctx context.Context, conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4096)
	}
	trickle(ctx, conn, strings.Repeat("GET /timeline HTTP/1.1\r\nHost: localhost\r\n\r\n", pipelined), "GET /timeline HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// trickle sends the beginning of something, and then a little more each second until the
// server closes the connection.
func trickle(ctx context.Context, conn net.Conn, begin, more string) {
	if _, err := conn.Write([]byte(begin)); err != nil {
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

// dialFrom connects from an address of this machine.
func dialFrom(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	return dialer.DialContext
}

// slowly is an attack with many slow connections of one address, each of which is opened
// again as soon as the server closes it. Meanwhile people at another address use the site.
func slowly(use func(context.Context, net.Conn)) func(context.Context, *site) (result, error) {
	return func(ctx context.Context, s *site) (result, error) {
		visitor := s.visitor("")
		visitor.HTTP.Transport = &http.Transport{DialContext: dialFrom(neighbour), DisableKeepAlives: true}
		if err := measure.Accepted(visitor.SignUp(ctx, "ada", secret)); err != nil {
			return result{}, fmt.Errorf("sign up: %w", err)
		}
		attack, cancel := context.WithTimeout(ctx, slowFor)
		defer cancel()
		dial, most := dialFrom(bot), 0.0
		seen := beside(func() {
			_ = measure.Concurrently(slowConnections, slowConnections, func(int) error {
				for attack.Err() == nil {
					if conn, err := dial(attack, "tcp", s.program.Addr); err == nil {
						end := context.AfterFunc(attack, func() { conn.Close() })
						use(attack, conn)
						end()
						conn.Close()
					}
					sleep.For(attack, slowPause)
				}
				return nil
			})
		}, time.Second, getting(ctx, visitor, "/timeline"), func() (int, error) {
			held, err := s.metric("retwis_connections")
			if err != nil {
				return 0, err
			}
			most = max(most, held)
			return visitor.LogIn(ctx, "ada", secret)
		})
		resident, err := s.resident()
		return result{
			fmt.Sprintf("at most %.0f open; %d of %d other requests succeed, slowest %d ms; %.0f MB", most, seen.good, seen.asked, seen.worst.Milliseconds(), resident),
			seen.good == seen.asked && seen.asked >= 10 && seen.worst <= 2*time.Second && most <= 520 && resident < mostMemory,
		}, err
	}
}
