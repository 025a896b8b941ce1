package bulk

import (
	"bytes"
	"context"
	"time"
)

// alone sends a command while no other is on its way: its keys belong to several
// connections, or nobody knows which they are.
func (l *loader) alone(ctx context.Context, slot int, it item) error {
	raw := bytes.Clone(l.frame.raw)
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.put(ctx, slot, raw, it); err != nil {
		return err
	}
	return l.settle(ctx)
}

// everywhere sends a command to all servers, while no other is on its way. It is done
// again on all when one of the connections breaks.
func (l *loader) everywhere(ctx context.Context, it item) error {
	f := Frame{raw: bytes.Clone(l.frame.raw)}
	if err := l.settle(ctx); err != nil {
		return err
	}
	if l.saves != nil {
		if err := l.reach(); err != nil {
			return err
		}
	}
	l.count.commands.Add(1)
	began := time.Now()
	for {
		before := l.failedCommands()
		var first *chunk
		for _, p := range l.pipes {
			c := l.newExtra()
			c.add(f.raw, it)
			if it.flags |= copied; first == nil {
				first = c
			}
			if err := l.send(ctx, p, c); err != nil {
				return err
			}
		}
		l.last = it.no
		if err := l.quiesce(ctx); err != nil {
			return err
		}
		if !l.trouble {
			return l.selected(&f, before)
		}
		if first.done == 0 { // that is the one that counts
			it.flags &^= copied
		}
		lost := l.lost()
		first.frame(0, &f)
		if err := l.mayRepeat(l.check.find(&f).repeatable(&f), first, 0, lost); err != nil {
			return err
		}
		l.forget()
		if err := l.reconnect(ctx, began, lost); err != nil {
			return err
		}
	}
}

// selected notes the database that a SELECT chose.
func (l *loader) selected(f *Frame, before int64) error {
	c := chunk{}
	c.add(f.raw, item{many: 1})
	c.frame(0, f)
	if n, ok := atoi(f.Arg(min(1, f.Len()-1))); ok && is(f.Arg(0), "SELECT") && l.failedCommands() == before {
		l.db = n
	}
	return nil
}

// useDB selects a database on all connections, which are idle.
func (l *loader) useDB(ctx context.Context, db int) error {
	l.db = db
	l.stopPipes()
	return l.connect(ctx)
}

func (l *loader) failedCommands() int64 {
	l.count.mu.Lock()
	defer l.count.mu.Unlock()
	return l.count.errors
}
