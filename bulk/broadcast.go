package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"retwis/bulk/internal/command"
	"retwis/bulk/resp"
	"retwis/internal/sleep"
)

// broadcaster sends commands that go to every connection, and selects databases. No command ever
// runs in a database that the input has not selected: a SELECT that fails stops the load.
type broadcaster struct {
	batch    *batcher
	sender   *sender
	recovery *recovery
	router   *router
	judge    *judge
	count    *counts
	db       *database
}

// toAll sends a command of the input on all connections while no other command is in flight. If a
// connection breaks, it resends the command on all of them.
func (b *broadcaster) toAll(ctx context.Context, kind command.Kind, f *resp.Frame, it item) error {
	raw := bytes.Clone(f.Raw()) // more input may be read meanwhile
	db, _ := command.Atoi(f.Arg(f.Len() - 1))
	if err := b.batch.drain(ctx); err != nil {
		return err
	}
	if err := b.sender.saves.reach(b.batch.offset); err != nil {
		return err
	}
	b.count.commands.Add(1)
	b.sender.last = it.no
	failed, err := b.send(ctx, raw, it)
	if err != nil {
		return err
	}
	n := b.router.pipes[0].node
	if failed.node != nil {
		n = failed.node
		repeat := retry{raw: raw, db: b.db.selected}
		if kind == command.Select { // the load stops
			repeat.raw = nil
		}
		b.judge.failedCommand(n, it, failed.text, raw, repeat)
		b.judge.stop.Store(b.judge.failFast)
	}
	n.replies.Add(1)
	switch {
	case kind != command.Select:
		return b.judge.stopped()
	case failed.node != nil:
		return &selectError{fmt.Sprintf("command %d (%s, %s) failed: %s; the commands after it were not sent, because they would go into database %d",
			it.no, resp.Text(raw), b.count.where(it.no, it.at), failed.text, b.db.selected)}
	}
	b.db.selectDB(db)
	return nil
}

// errRefused is the reason for closing the connection to a server that refuses commands because it
// is busy or its role has changed.
var errRefused = errors.New("the server does not accept commands now")

// send sends a command on all connections, which are idle, and waits for all replies. It returns
// the first error reply and counts nothing. On a Cluster, a master that has replaced a server
// gets the command, too.
func (b *broadcaster) send(ctx context.Context, raw []byte, it item) (rejection, error) {
	it.flags |= copied
	began := time.Now()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		b.judge.broadcast.take()
		var first *chunk
		for _, p := range b.router.pipes {
			c := newExtra()
			c.add(raw, it)
			if first == nil {
				first = c
			}
			if err := b.sender.send(ctx, p, c); err != nil {
				return rejection{}, err
			}
		}
		if err := b.sender.quiesce(ctx); err != nil {
			return rejection{}, err
		}
		if !b.sender.trouble {
			return b.judge.broadcast.take(), nil
		}
		for _, p := range b.router.pipes {
			if p.troubled && p.failed == nil {
				p.failed = errRefused
			}
		}
		cause := b.recovery.dropFailedPipes()
		var f resp.Frame
		first.frame(0, &f)
		if err := b.recovery.checkRepeatable(b.recovery.check.Spec(&f).Repeatable(&f) || it.flags&markedRepeatable != 0, first, 0, cause); err != nil {
			return rejection{}, err
		}
		b.recovery.releaseAll()
		if errors.Is(cause, errRefused) { // the other servers may not know the new master yet
			if time.Since(began) > max(b.router.retryFor, 0) {
				return rejection{}, lost(cause)
			}
			if !sleep.For(ctx, wait) {
				return rejection{}, ctx.Err()
			}
		}
		if err := b.router.reconnect(ctx, began, cause); err != nil {
			return rejection{}, err
		}
	}
}

// selectDB selects a database on all connections, which are idle.
func (b *broadcaster) selectDB(ctx context.Context, db int, it item) (rejection, error) {
	var f resp.Frame
	f.Reset(2)
	f.Add([]byte("SELECT"))
	f.Add(strconv.AppendInt(nil, int64(db), 10))
	it.flags = internal
	failed, err := b.send(ctx, f.Raw(), it)
	if err == nil && failed.node == nil {
		b.db.selectDB(db)
	}
	return failed, err
}

// transaction sends a complete transaction that contains SELECTs, while no other command is in
// flight. Append-only files of Redis 7.2 and newer contain many such transactions. It selects each
// database beforehand: after a failed SELECT within a transaction, the server would execute the
// remaining commands in the wrong database. At the end all connections have selected the last
// database.
func (b *broadcaster) transaction(ctx context.Context, slot int, selections []command.Selection) error {
	before := b.db.selected
	if err := b.batch.drain(ctx); err != nil {
		return err
	}
	tx := &b.batch.tx
	if err := b.tryDatabases(ctx, tx, selections, before); err != nil {
		return err
	}
	last := tx.items[len(tx.items)-1]
	if b.db.selected != before {
		if _, err := b.selectDB(ctx, before, last); err != nil {
			return err
		}
	}
	b.db.selections = selections
	if err := b.batch.putTransaction(ctx, slot); err != nil {
		return err
	}
	if err := b.batch.drain(ctx); err != nil {
		return err
	}
	b.db.selections = nil
	db := selections[len(selections)-1].DB
	failed, err := b.selectDB(ctx, db, last)
	if err == nil && failed.node != nil {
		err = &selectError{fmt.Sprintf("database %d, which the transaction that ends with command %d selects, cannot be selected: %s",
			db, last.no, failed.text)}
	}
	return err
}

// tryDatabases selects each database of a transaction that is not known to exist.
func (b *broadcaster) tryDatabases(ctx context.Context, tx *chunk, selections []command.Selection, before int) error {
	first := tx.items[0].no
	for _, s := range selections {
		if b.db.known[s.DB] {
			continue
		}
		it := tx.items[s.No-first]
		failed, err := b.selectDB(ctx, s.DB, it)
		if err != nil {
			return err
		}
		if failed.node != nil {
			return &selectError{fmt.Sprintf("command %d (SELECT %d, %s) would fail: %s; the transaction that begins with command %d "+
				"and the commands after it were not sent, because they would go into database %d",
				s.No, s.DB, b.count.where(it.no, it.at), failed.text, first, before)}
		}
	}
	return nil
}
