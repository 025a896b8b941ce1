package bulk

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Commands that go to every connection, and the database that all connections have
// selected. A command never runs in another database than the input says: where a SELECT
// fails, the load stops.

// everywhere sends a command to all servers, or on all connections, while no other is
// under way. It is done again on all when one of the connections breaks.
func (l *loader) everywhere(ctx context.Context, got checked, it item) error {
	raw := bytes.Clone(l.frame.raw)
	db, _ := atoi(l.frame.Arg(l.frame.Len() - 1))
	if err := l.settle(ctx); err != nil {
		return err
	}
	if l.saves != nil {
		if err := l.reach(); err != nil {
			return err
		}
	}
	l.count.commands.Add(1)
	l.last = it.no
	refused, err := l.broadcast(ctx, raw, it)
	if err != nil {
		return err
	}
	on := l.pipes[0]
	if refused.on != nil {
		on = refused.on
		again := retry{raw: raw, db: l.db}
		if got.kind == selects { // the load stops
			again.raw = nil
		}
		l.failedOne(on, it, refused.text, raw, again)
		l.hasty.Store(l.opt.FailFast)
	}
	on.node.replies.Add(1)
	switch {
	case got.kind != selects:
		return l.hurried()
	case refused.on != nil:
		return &selectError{fmt.Sprintf("command %d (%s, %s) failed: %s; what follows it was not sent, as it would go into database %d",
			it.no, describe(raw), l.where(it.at), refused.text, l.db)}
	}
	l.selected(db)
	return nil
}

// selected notes that all connections have selected a database, which therefore exists.
func (l *loader) selected(db int) {
	l.db = db
	if l.databases == nil {
		l.databases = make(map[int]bool)
	}
	l.databases[db] = true
}

// selectError is an ErrFailed that says which database cannot be selected.
type selectError struct{ text string }

func (e *selectError) Error() string        { return "bulk: " + e.text }
func (e *selectError) Is(target error) bool { return target == ErrFailed }

// refusals keeps the first error of a command that was sent on all connections.
type refusals struct {
	mu    sync.Mutex
	first rejection
}

type rejection struct {
	on   *pipe
	text string
}

func (r *refusals) add(p *pipe, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.on == nil {
		r.first = rejection{p, text}
	}
}

func (r *refusals) take() rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.first
	r.first = rejection{}
	return first
}

// broadcast sends a command on all connections, which are idle, until all have answered,
// and returns what the first said that refused it. Nothing of it is counted.
func (l *loader) broadcast(ctx context.Context, raw []byte, it item) (rejection, error) {
	it.flags |= copied
	began := time.Now()
	for {
		l.refusals.take()
		var first *chunk
		for _, p := range l.pipes {
			c := l.newExtra()
			c.add(raw, it)
			if first == nil {
				first = c
			}
			if err := l.send(ctx, p, c); err != nil {
				return rejection{}, err
			}
		}
		if err := l.quiesce(ctx); err != nil {
			return rejection{}, err
		}
		if !l.trouble {
			return l.refusals.take(), nil
		}
		lost := l.lost()
		var f Frame
		first.frame(0, &f)
		if err := l.mayRepeat(l.check.find(&f).repeatable(&f), first, 0, lost); err != nil {
			return rejection{}, err
		}
		l.forget()
		if err := l.reconnect(ctx, began, lost); err != nil {
			return rejection{}, err
		}
	}
}

// selectOurselves selects a database on all connections, which are idle.
func (l *loader) selectOurselves(ctx context.Context, db int, it item) (rejection, error) {
	var f Frame
	f.reset(2)
	f.add([]byte("SELECT"))
	f.add(strconv.AppendInt(nil, int64(db), 10))
	it.flags = internal
	said, err := l.broadcast(ctx, f.raw, it)
	if err == nil && said.on == nil {
		l.selected(db)
	}
	return said, err
}

// selection is a SELECT within a transaction.
type selection struct {
	no int64 // of the command
	db int
}

// selecting sends the transaction that was read, which selects databases, while no other
// command is under way. Append-only files of Redis 7.2 and newer have many of these. Each
// database is tried before: within the transaction, what follows a SELECT that fails
// would be executed in another database. After it all connections have selected the last
// of them.
func (l *loader) selecting(ctx context.Context, slot int) error {
	selections, before := l.check.selections, l.db
	if err := l.settle(ctx); err != nil {
		return err
	}
	for _, s := range selections {
		if l.databases[s.db] {
			continue
		}
		it := l.tx.items[s.no-l.tx.items[0].no]
		said, err := l.selectOurselves(ctx, s.db, it)
		if err != nil {
			return err
		}
		if said.on != nil {
			return &selectError{fmt.Sprintf("command %d (SELECT %d, %s) would fail: %s; the transaction that begins with command %d was not sent, "+
				"nor what follows it, as it would go into database %d", s.no, s.db, l.where(it.at), said.text, l.tx.items[0].no, before)}
		}
	}
	last := l.tx.items[len(l.tx.items)-1]
	if l.db != before {
		if _, err := l.selectOurselves(ctx, before, last); err != nil {
			return err
		}
	}
	l.within = selections
	if err := l.putTransaction(ctx, slot); err != nil {
		return err
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.within = nil
	said, err := l.selectOurselves(ctx, selections[len(selections)-1].db, last)
	if err == nil && said.on != nil {
		err = &selectError{fmt.Sprintf("database %d, which the transaction that ends with command %d selects, cannot be selected: %s",
			selections[len(selections)-1].db, last.no, said.text)}
	}
	return err
}

// databaseOf is the database in which a command is executed that is under way.
func (l *loader) databaseOf(no int64) int {
	db := l.db
	for _, s := range l.within {
		if s.no < no {
			db = s.db
		}
	}
	return db
}

// useDB selects a database on all connections, which are idle.
func (l *loader) useDB(ctx context.Context, db int) error {
	l.db = db
	l.stopPipes()
	return l.connect(ctx)
}
