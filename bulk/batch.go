package bulk

import (
	"bytes"
	"context"

	"retwis/bulk/resp"
)

// batcher collects commands in one chunk per pipe, sends full chunks, and starts the recovery when
// the sender reports trouble.
type batcher struct {
	sender   *sender
	recovery *recovery
	router   *router
	judge    *judge
	count    *counts

	chunkBytes int
	chunkItems int
	offset     int64 // offset up to which the chunks may contain the input
	tx         chunk // the transaction being read
}

func newBatcher(opt Options, s *sender, r *recovery) batcher {
	b := batcher{sender: s, recovery: r, router: s.router, judge: s.router.judge, count: r.count}
	b.chunkBytes = min(chunkSize, opt.MaxInflight/2)
	b.chunkItems = chunkSize
	if opt.Rate > 0 { // small chunks spread the commands evenly
		b.chunkItems = max(1, opt.Rate/50)
	}
	s.pool.limit = max(2, opt.MaxInflight/b.chunkBytes)
	return b
}

// put adds a command to the chunk for a slot.
func (b *batcher) put(ctx context.Context, slot int, raw []byte, it item) error {
	p, err := b.room(ctx, slot, it.no, len(raw))
	if err != nil {
		return err
	}
	p.flushSETs()
	p.cur.add(raw, it)
	b.sender.last = it.no
	return nil
}

// putSet adds a plain SET to the group that becomes one MSET. The result is the same: SET and MSET
// replace a value of any type and remove the expiry of the key. Any other command closes the group
// first. On a Cluster all keys of an MSET are in one slot.
func (b *batcher) putSet(ctx context.Context, slot int, f *resp.Frame, it item) error {
	pair := f.RawFrom(1)
	p, err := b.room(ctx, slot, it.no, len(f.Raw()))
	if err != nil {
		return err
	}
	g := &p.set
	if n := len(g.sets); n >= coalesceKeys || n > 0 && (len(g.buf)+len(pair) > coalesceBytes || b.router.cluster && g.slot != slot) {
		p.flushSETs()
	}
	g.buf = append(g.buf, pair...)
	g.sets = append(g.sets, set{it.no, it.at})
	g.slot = slot
	b.sender.last = it.no
	return nil
}

// putTransaction adds the complete transaction to the chunk for a slot.
func (b *batcher) putTransaction(ctx context.Context, slot int) error {
	last := b.tx.items[len(b.tx.items)-1].no
	p, err := b.room(ctx, slot, last, len(b.tx.buf))
	if err != nil {
		return err
	}
	p.flushSETs()
	for i, it := range b.tx.items {
		p.cur.add(b.tx.raw(i), it)
	}
	b.sender.last = last
	b.tx.reset()
	return nil
}

// putExclusive sends a command while no other command is in flight: its keys belong to several
// connections, it affects the whole server, or its keys are unknown.
func (b *batcher) putExclusive(ctx context.Context, slot int, raw []byte, it item) error {
	raw = bytes.Clone(raw) // more input may be read meanwhile
	if err := b.drain(ctx); err != nil {
		return err
	}
	if err := b.put(ctx, slot, raw, it); err != nil {
		return err
	}
	return b.drain(ctx)
}

// room returns the pipe of a slot, with a chunk that has room for command number no.
func (b *batcher) room(ctx context.Context, slot int, no int64, size int) (*pipe, error) {
	for {
		p := b.router.pipeFor(slot)
		switch {
		case p == nil || b.sender.trouble:
			if err := b.recovery.run(ctx, slot, no); err != nil {
				return nil, err
			}
		case p.cur == nil:
			c, err := b.take(ctx)
			if err != nil {
				return nil, err
			}
			// Waiting for a chunk can change the pipe of the slot.
			if p = b.router.pipeFor(slot); p == nil || p.cur != nil || b.sender.trouble {
				b.sender.pool.put(c)
				continue
			}
			p.cur = c
		case b.full(p, size):
			if err := b.flush(ctx, p); err != nil {
				return nil, err
			}
		default:
			return p, nil
		}
	}
}

// full reports whether the chunk of a pipe has no room for a command.
func (b *batcher) full(p *pipe, size int) bool {
	used := len(p.cur.buf) + len(p.set.buf)
	return used > 0 && used+size > b.chunkBytes || len(p.cur.items) >= b.chunkItems
}

// take returns an empty chunk. If the pool has none, it waits until a chunk returns to the pool.
func (b *batcher) take(ctx context.Context) (*chunk, error) {
	for {
		// If no pipe is busy, no chunk will return to the pool.
		if c := b.sender.pool.get(!b.sender.busy()); c != nil {
			return c, nil
		}
		if err := b.sender.next(ctx); err != nil {
			return nil, err
		}
		if err := b.handleTrouble(ctx); err != nil {
			return nil, err
		}
	}
}

// handleTrouble runs the recovery if necessary. It returns ErrFailed if the load must stop.
func (b *batcher) handleTrouble(ctx context.Context) error {
	if err := b.judge.stopped(); err != nil {
		return err
	}
	return b.recovery.ifTrouble(ctx)
}

// flush sends the chunk of a pipe.
func (b *batcher) flush(ctx context.Context, p *pipe) error {
	p.flushSETs()
	c := p.cur
	if len(c.items) == 0 {
		return nil
	}
	if err := b.judge.stopped(); err != nil {
		return err
	}
	if err := b.sender.sleep(ctx, b.sender.pacer.delay(len(c.items))); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.sender.trouble || p.cur != c { // trouble arose during the wait
		return b.recovery.run(ctx, anySlot, 0)
	}
	if err := b.sender.saves.reach(b.offset); err != nil {
		return err
	}
	p.cur = nil
	n := int64(0)
	for i := range c.items {
		n += int64(c.items[i].commands)
	}
	b.count.commands.Add(n)
	return b.sender.send(ctx, p, c)
}

// flushAll sends the chunks of all pipes.
func (b *batcher) flushAll(ctx context.Context) error {
	for i := 0; i < len(b.router.pipes); i++ { // the recovery changes router.pipes
		if p := b.router.pipes[i]; p != nil && p.cur != nil {
			if err := b.flush(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain sends all commands and waits for all replies.
func (b *batcher) drain(ctx context.Context) error {
	for {
		if err := b.flushAll(ctx); err != nil {
			return err
		}
		if err := b.sender.quiesce(ctx); err != nil {
			return err
		}
		if !b.sender.trouble {
			return b.judge.stopped()
		}
		if err := b.recovery.ifTrouble(ctx); err != nil {
			return err
		}
	}
}

// drop discards the commands that were not sent.
func (b *batcher) drop() {
	for _, p := range b.router.pipes {
		if p == nil {
			continue
		}
		p.flushSETs()
		if p.cur != nil && len(p.cur.items) > 0 {
			b.sender.last = min(b.sender.last, p.cur.items[0].no-1)
			p.cur.reset()
		}
	}
}
