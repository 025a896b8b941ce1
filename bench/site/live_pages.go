package site

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
	p := pages{events: make(chan shown, liveFollowers*livePosts), failed: make(chan error, liveConnections)}
	defer p.close()
	if err := p.open(ctx, addr, strings.Split(lines.Text(), ",")); err != nil {
		return err
	}
	out := bufio.NewWriter(output)
	fmt.Fprintln(out, len(p.conns), "pages are open")
	for out.Flush() == nil && lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		end := time.After(time.Minute)
		for i := range n {
			select {
			case e := <-p.events:
				fmt.Fprintln(out, e.post, e.at.UnixNano())
			case err := <-p.failed:
				return err
			case <-end:
				return fmt.Errorf("%d of %d events have arrived", i, n)
			}
		}
	}
	return lines.Err()
}

// pages are open pages.
type pages struct {
	conns  []net.Conn
	events chan shown
	failed chan error
}

// open opens the pages, and reads those that have a session.
func (p *pages) open(ctx context.Context, addr string, cookies []string) error {
	const ids = "1,2,3,4,5,6,7,8,9,10" // of the posts that a page shows
	for i := range liveConnections {
		path, cookie := "/live?on=tag:quiet&ids="+ids, ""
		if i < len(cookies) {
			path, cookie = "/live?on=home&ids="+ids, cookies[i]
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		p.conns = append(p.conns, conn)
		if _, err := conn.Write(get(path, cookie)); err != nil {
			return err
		}
		in := bufio.NewReaderSize(conn, 512)
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, " 200 ") {
			return fmt.Errorf("connection %d: %q (%w)", i, line, err)
		}
		if cookie != "" {
			go func() { p.failed <- p.read(in) }()
		}
	}
	return nil
}

func (p *pages) close() {
	for _, conn := range p.conns {
		conn.Close()
	}
}

// read notes the posts that a page gets.
func (p *pages) read(in *bufio.Reader) error {
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
			p.events <- shown{id, time.Now()}
		}
		isPost = bytes.HasPrefix(line, []byte("event: posts"))
	}
}
