package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// openPagesMode is the first argument of the process that has pages open.
const openPagesMode = "open-pages"

// shown is a post that a page has got.
type shown struct {
	post int64
	at   time.Time
}

// servePages opens pages and prints a line. The first line of its input has the
// sessions; for each further one, a number, it prints as many of the posts that the
// pages have got, and when: it waits for them. It ends with its input.
func servePages(ctx context.Context, addr string, input io.Reader, output io.Writer) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return lines.Err()
	}
	events := make(chan shown, liveFollowers*livePosts)
	failed := make(chan error, liveConnections)
	conns, err := dialPages(ctx, addr, strings.Split(lines.Text(), ","), events, failed)
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(output)
	fmt.Fprintln(out, len(conns), "pages are open")
	for out.Flush() == nil && lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		end := time.After(time.Minute)
		for i := range n {
			select {
			case e := <-events:
				fmt.Fprintln(out, e.post, e.at.UnixNano())
			case err := <-failed:
				return err
			case <-end:
				return fmt.Errorf("%d of %d events have arrived", i, n)
			}
		}
	}
	return lines.Err()
}

// dialPages opens the pages, and reads those that have a session.
func dialPages(ctx context.Context, addr string, cookies []string, events chan<- shown, failed chan<- error) (conns []net.Conn, err error) {
	ids := make([]string, 10)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	for i := range liveConnections {
		path, cookie := "/live?on=tag:quiet&ids="+strings.Join(ids, ","), ""
		if i < len(cookies) {
			path, cookie = "/live?on=home&ids="+strings.Join(ids, ","), cookies[i]
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return conns, fmt.Errorf("connection %d: %w", i, err)
		}
		conns = append(conns, conn)
		if _, err := conn.Write(get(path, cookie)); err != nil {
			return conns, err
		}
		in := bufio.NewReaderSize(conn, 512)
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, " 200 ") {
			return conns, fmt.Errorf("connection %d: %q (%w)", i, line, err)
		}
		if cookie != "" {
			go func() { failed <- readPosts(in, events) }()
		}
	}
	return conns, nil
}

// readPosts notes the posts that a page gets.
func readPosts(in *bufio.Reader, events chan<- shown) error {
	isPost := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && isPost {
			id, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
			if err != nil {
				return err
			}
			events <- shown{id, time.Now()}
		}
		isPost = bytes.HasPrefix(line, []byte("event: posts"))
	}
}
