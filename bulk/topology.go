package bulk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/internal/keys"
)

// topology is which pipe leads where.
type topology struct {
	cluster bool
	pipes   []*pipe // one for each connection to a single server, or each master of a Cluster
	owners  []*pipe // of the slots of a Cluster; nil where nobody is known
	addrs   []string
}

// pipeFor is the pipe to the owner of a slot, or nil if there is none at the moment.
func (t *topology) pipeFor(slot int) *pipe {
	switch {
	case t.cluster:
		return t.owners[slot]
	case len(t.pipes) == 1:
		return t.pipes[0]
	}
	return t.pipes[slot%len(t.pipes)]
}

// many tells whether it matters where the keys of a command are.
func (l *loader) many() bool { return l.cluster || l.opt.Connections > 1 }

// connectFirst finds out what the server is and opens the connections. It tries once:
// a mistake in a URL is told at once.
func (l *loader) connectFirst(ctx context.Context) error {
	if l.dialer.opt.Sentinel.MasterSet == "" {
		c, err := l.dialer.any(ctx, l.dialer.opt.InitAddress)
		if err != nil {
			return l.gone(err)
		}
		ranges, err := slotRanges(c)
		c.Close()
		if l.cluster = err == nil; l.cluster && len(ranges) == 0 {
			return l.gone(fmt.Errorf("%s is of a Cluster in which nobody serves any slot", c.addr))
		}
		l.check.cluster = l.cluster
	}
	if l.cluster && l.opt.Connections > 1 {
		return wrongOption("Options.Connections: the server is a Cluster, which has one connection for each master")
	}
	if !l.cluster {
		l.pipes = make([]*pipe, l.opt.Connections)
	}
	if err := l.connect(ctx); err != nil {
		return l.gone(err)
	}
	return nil
}

// gone is the error of a connection that could not be had, or not again.
func (l *loader) gone(err error) error { return &lostError{err} }

// lostError is an ErrLost that says what happened.
type lostError struct{ err error }

func (e *lostError) Error() string        { return "bulk: " + e.err.Error() }
func (e *lostError) Unwrap() error        { return e.err }
func (e *lostError) Is(target error) bool { return target == ErrLost }

// connect opens the connections that are missing, and asks a Cluster who owns what.
func (l *loader) connect(ctx context.Context) error {
	if l.cluster {
		return l.connectCluster(ctx)
	}
	for i, p := range l.pipes {
		if p != nil {
			continue
		}
		addr, err := l.dialer.master(ctx)
		if err != nil {
			return err
		}
		l.databases = nil // the server may have been started with fewer
		if l.pipes[i], err = l.newPipe(ctx, addr); err != nil {
			l.pipes[i] = nil
			return err
		}
	}
	return nil
}

func (l *loader) newPipe(ctx context.Context, addr string) (*pipe, error) {
	c, err := l.dialer.open(ctx, addr, l.db)
	if err != nil {
		return nil, err
	}
	return startPipe(c, l.count.node(addr), cap(l.events), l, l.events), nil
}

// connectCluster learns who owns which slot, and opens connections to all of them.
func (l *loader) connectCluster(ctx context.Context) error {
	c, err := l.dialer.any(ctx, slices.Concat(l.addrs, l.dialer.opt.InitAddress))
	if err != nil {
		return err
	}
	ranges, err := slotRanges(c)
	c.Close()
	if err != nil {
		return err
	}
	l.owners, l.addrs = make([]*pipe, keys.Slots), l.addrs[:0]
	var failed []error
	for _, r := range ranges {
		p, err := l.pipeTo(ctx, r.addr)
		if err != nil { // it may be about to be replaced
			failed = append(failed, err)
			continue
		}
		for s := r.from; s <= r.to; s++ {
			l.owners[s] = p
		}
		if !slices.Contains(l.addrs, r.addr) {
			l.addrs = append(l.addrs, r.addr)
		}
	}
	return errors.Join(failed...)
}

// pipeTo is the pipe to a node of a Cluster.
func (l *loader) pipeTo(ctx context.Context, addr string) (*pipe, error) {
	for _, p := range l.pipes {
		if p.conn.addr == addr && p.failed == nil {
			return p, nil
		}
	}
	p, err := l.newPipe(ctx, addr)
	if err != nil {
		return nil, err
	}
	l.pipes = append(l.pipes, p)
	return p, nil
}

// slotRange is a range of slots and their master.
type slotRange struct {
	from, to int
	addr     string
}

// slotRanges asks a node of a Cluster who owns what. The error is the server's if it is
// not of a Cluster.
func slotRanges(c *conn) ([]slotRange, error) {
	answer, err := c.do("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	list, _ := answer.([]any)
	ranges := make([]slotRange, 0, len(list))
	host, _, _ := net.SplitHostPort(c.addr)
	for _, one := range list {
		fields, _ := one.([]any)
		if len(fields) < 3 {
			continue
		}
		from, _ := fields[0].(int64)
		to, _ := fields[1].(int64)
		master, _ := fields[2].([]any)
		if len(master) < 2 || from < 0 || from > to || to >= keys.Slots {
			continue
		}
		name, _ := master[0].(string)
		port, _ := master[1].(int64)
		if name == "" || name == "?" { // the one that we know it by
			name = host
		}
		ranges = append(ranges, slotRange{int(from), int(to), net.JoinHostPort(name, strconv.FormatInt(port, 10))})
	}
	return ranges, nil
}

// any connects to the first of some servers that answers.
func (d *dialer) any(ctx context.Context, addrs []string) (*conn, error) {
	var failed []error
	tried := make(map[string]bool)
	for _, addr := range addrs {
		if tried[addr] {
			continue
		}
		tried[addr] = true
		c, err := d.connect(ctx, addr, d.opt.Username, d.opt.Password)
		if err == nil {
			return c, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// ask learns from a node of a Cluster where a command that is not in the list has its
// keys.
func (l *loader) ask(ctx context.Context, got checked) (checked, error) {
	if got.keys != noKey || got.name == "" {
		return l.check.place(got, &l.frame)
	}
	c, err := l.dialer.any(ctx, l.addrs)
	if err != nil {
		return got, err
	}
	defer c.Close()
	words := []string{"COMMAND", "GETKEYS"}
	for i := range l.frame.Len() {
		words = append(words, string(l.frame.Arg(i)))
	}
	answer, err := c.do(words...)
	if isReply(err, "ERR The command has no key") {
		return got, nil
	}
	if err != nil {
		return got, fmt.Errorf("%s: the server does not tell its keys: %w", got.name, err)
	}
	list, _ := answer.([]any)
	for i, key := range list {
		text, _ := key.(string)
		at := keys.Slot([]byte(text))
		if i > 0 && at != got.slot {
			return got, fmt.Errorf("%s: its keys are of several slots, which a Cluster keeps apart: give them a common {tag}", got.name)
		}
		got.slot = at
	}
	return got, nil
}

// takesMany returns an error if the server does not take the current command, which has
// more arguments than Redis 6.2 takes. Where the version cannot be found out, the server
// is left to say so.
func (l *loader) takesMany(ctx context.Context) error {
	c, err := l.anyServer(ctx)
	if err != nil {
		return nil // the loading connection reports the error
	}
	defer c.Close()
	answer, _ := c.do("HELLO", "2") // no rule of an ACL forbids it
	fields, _ := answer.([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "version" && strings.HasPrefix(fmt.Sprint(fields[i+1]), "6.") {
			return fmt.Errorf("it has %d arguments; the server is Redis %s, and before 7.0 a server takes %d", l.frame.Len(), fields[i+1], oldArgs)
		}
	}
	return nil
}

// anyServer connects to the server, or to one of a Cluster.
func (l *loader) anyServer(ctx context.Context) (*conn, error) {
	if l.dialer.opt.Sentinel.MasterSet == "" {
		return l.dialer.any(ctx, slices.Concat(l.addrs, l.dialer.opt.InitAddress))
	}
	addr, err := l.dialer.master(ctx)
	if err != nil {
		return nil, err
	}
	return l.dialer.connect(ctx, addr, l.dialer.opt.Username, l.dialer.opt.Password)
}

// stopPipes ends all connections.
func (l *loader) stopPipes() {
	for i, p := range l.pipes {
		if p != nil {
			p.stop()
			l.pipes[i] = nil
		}
	}
	if l.cluster {
		l.pipes, l.owners = nil, make([]*pipe, keys.Slots)
	}
}

// errMoved is why connections are looked for when none broke.
var errMoved = errors.New("the Cluster has changed")

// reconnect tries to connect until it is done, or Options.RetryFor is over.
func (l *loader) reconnect(ctx context.Context, began time.Time, cause error) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := l.connect(ctx)
		if err == nil || ctx.Err() != nil {
			return errors.Join(ctx.Err())
		}
		if cause == nil {
			cause = errMoved
		}
		var final *refusal
		left := l.opt.RetryFor - time.Since(began)
		if errors.As(err, &final) || left <= 0 {
			return l.gone(fmt.Errorf("%w; then %w", cause, err))
		}
		if err := pause(ctx, min(wait, left)); err != nil {
			return err
		}
	}
}
