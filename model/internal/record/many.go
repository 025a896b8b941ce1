package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// Bounds of a batch: they keep the server busy for less than some milliseconds.
const (
	batchRecords = 50
	batchEntries = 500
	batchBytes   = 128 << 10
)

// Bounds of what is written at the same time.
const (
	batchesAtOnce = 4       // in one pipeline
	oneByOne      = 64      // records with claims of unique values, each of which takes several steps
	pendingBytes  = 4 << 20 // of batches that are not full yet, one for each partition
)

// many writes many records, in batches, and in order within a partition. Each record is
// written or refused by itself.
type many struct {
	o       *Objects
	ctx     context.Context
	mu      sync.Mutex // of refused
	refused func(position int, err error)

	open    map[*schema.Partition]*openBatch
	bytes   int             // of the open batches
	full    chan *openBatch // to be written
	slots   chan struct{}   // of records that are written by themselves
	working sync.WaitGroup
	stopped atomic.Pointer[error] // why no more records are written
}

// openBatch is a batch that more records may join.
type openBatch struct {
	batch
	items   []item
	first   int64 // the id of the first record, if the script counts
	bytes   int
	entries int
}

// item is one record of a Many.
type item struct {
	position int
	record   reflect.Value
	own      bool // its id is the caller's, although ids come from a counter
	// build returns the change that writes the record with an id.
	build func(record reflect.Value, id string) (*change, error)
	// written is called after the change was written.
	written func(c *change, record reflect.Value) error
}

// newMany starts to write many records. refused gets the errors of those that are not
// written, one at a time.
func (o *Objects) newMany(ctx context.Context, refused func(position int, err error)) *many {
	m := &many{
		o: o, ctx: ctx, refused: refused, open: map[*schema.Partition]*openBatch{},
		full: make(chan *openBatch, batchesAtOnce), slots: make(chan struct{}, oneByOne),
	}
	m.working.Go(m.writeAll)
	return m
}

// close writes the rest.
func (m *many) close() {
	m.flush()
	close(m.full)
	m.working.Wait()
}

// CreateMany creates records: the structs that pointers point to get their ids and
// versions. refused gets the errors of those that are not written, one at a time.
func (o *Objects) CreateMany(ctx context.Context, n int, at func(position int) any, refused func(position int, err error)) {
	m := o.newMany(ctx, refused)
	defer m.close()
	ids := &idSource{t: o.Table}
	for i := range n {
		record := reflect.ValueOf(at(i)).Elem()
		id, err := o.newRecordID(record)
		own := id != "" && o.Table.Options.IDs == schema.Counter
		if err == nil {
			err = o.Check(record)
		}
		if err == nil && id == "" {
			id, err = ids.take(ctx, n-i)
		}
		if err != nil {
			m.refuse(i, err)
			continue
		}
		m.add(item{position: i, record: record, own: own, build: o.creation}, id)
	}
}

// idSource gives the ids of many new records.
type idSource struct {
	t         *Table
	next, end int64 // reserved, of a counter in another slot
}

// reserveIDs is how many ids are taken from a counter at once.
const reserveIDs = 1000

// take returns the id of a record, of which so many will follow; "": the script that
// writes the record takes it from the counter.
func (s *idSource) take(ctx context.Context, left int) (string, error) {
	t := s.t
	switch {
	case t.Options.IDs == schema.ULID:
		next, err := t.newID(ctx, "")
		return next.id, err
	case t.countsInScript():
		return "", nil
	case s.next == s.end:
		n := int64(min(left, reserveIDs))
		last, err := t.Client.Do(ctx, t.Client.B().Incrby().Key(t.Options.Counter()).Increment(n).Build()).AsInt64()
		if err != nil {
			return "", err
		}
		s.next, s.end = last-n+1, last+1
	}
	s.next++
	return strconv.FormatInt(s.next-1, 10), nil
}

// refuse reports the error of a record.
func (m *many) refuse(position int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused(position, err)
}

// add adds a record with an id, or without one if the script counts.
func (m *many) add(it item, id string) {
	t := m.o.Table
	if err := m.stopped.Load(); err != nil {
		m.refuse(it.position, *err)
		return
	}
	if t.claims() || t.checksBefore() {
		m.alone(it, id)
		return
	}
	counts := id == ""
	p := &t.Parts[0]
	if !counts {
		p = t.Of(id)
	}
	b := m.open[p]
	if b != nil && len(b.items) > 0 && counts != (b.after != "") {
		m.send(p, b) // the ids of its records come from elsewhere
		b = nil
	}
	if b == nil {
		b = &openBatch{batch: batch{p: p}}
		m.open[p] = b
	}
	if len(b.items) == 0 {
		b.after = ""
	}
	if counts {
		if len(b.items) == 0 {
			b.first = t.last.Load() + 1
			b.after = strconv.FormatInt(b.first-1, 10)
		}
		id = strconv.FormatInt(b.first+int64(len(b.items)), 10)
	}
	c, err := it.build(it.record, id)
	if err == nil {
		err = t.checkReferences(m.ctx, c) // sends nothing, as none of them is in another slot
	}
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	c.own = it.own
	b.items, b.changes = append(b.items, it), append(b.changes, c)
	b.entries += len(c.entries) + len(c.references)
	size := len(c.content)
	for _, s := range c.set {
		size += len(s)
	}
	b.bytes += size
	m.bytes += size
	switch {
	case len(b.items) >= batchRecords, b.entries >= batchEntries, b.bytes >= batchBytes:
		m.send(p, b)
	case m.bytes >= pendingBytes:
		m.flush()
	}
}

// flush sends the open batches.
func (m *many) flush() {
	for p, b := range m.open {
		if len(b.items) > 0 {
			m.send(p, b)
		}
	}
}

// send writes a batch, when there is room for it.
func (m *many) send(p *schema.Partition, b *openBatch) {
	delete(m.open, p)
	m.bytes -= b.bytes
	if b.after != "" {
		m.o.Table.last.CompareAndSwap(b.first-1, b.first-1+int64(len(b.items)))
	}
	m.full <- b
}

// writeAll writes batches, some in each pipeline.
func (m *many) writeAll() {
	for b := range m.full {
		some := []*openBatch{b}
		for len(some) < batchesAtOnce && len(m.full) > 0 {
			some = append(some, <-m.full)
		}
		m.write(some)
	}
}

// write writes batches.
func (m *many) write(some []*openBatch) {
	t := m.o.Table
	all := make([]*batch, len(some))
	for i, b := range some {
		all[i] = &b.batch
	}
	for i, o := range t.writeBatches(m.ctx, all) {
		b := some[i]
		var given *givenID
		if errors.As(o.err, &given) {
			if b = m.renumber(b, given.first); len(b.items) == 0 {
				continue
			}
			o = t.writeBatches(m.ctx, []*batch{&b.batch})[0]
		}
		if o.err != nil {
			m.stop(o.err)
		}
		for i, it := range b.items {
			switch {
			case o.err != nil:
				m.refuse(it.position, o.err)
			case o.errs[i] == nil:
				t.release(m.ctx, b.changes[i])
				m.wrote(it, b.changes[i])
			case errors.Is(o.errs[i], errExists):
				m.exists(it, b.changes[i].id)
			default:
				m.refuse(it.position, o.errs[i])
			}
		}
	}
}

// stop refuses the records that were not sent yet, because of an error that is not about
// one record.
func (m *many) stop(err error) { m.stopped.CompareAndSwap(nil, &err) }

// wrote completes a record that was written.
func (m *many) wrote(it item, c *change) {
	if it.written == nil {
		return
	}
	if err := it.written(c, it.record); err != nil {
		m.refuse(it.position, err)
	}
}

// renumber gives the records of a batch the ids that the counter has given.
func (m *many) renumber(b *openBatch, first int64) *openBatch {
	m.o.Table.last.Store(first - 1 + int64(len(b.items)))
	again := &openBatch{batch: batch{p: b.p}}
	for i, it := range b.items {
		c, err := it.build(it.record, strconv.FormatInt(first+int64(i), 10))
		if err == nil {
			err = m.o.Table.checkReferences(m.ctx, c)
		}
		if err != nil {
			m.refuse(it.position, err)
			continue
		}
		again.items, again.changes = append(again.items, it), append(again.changes, c)
	}
	return again
}

// exists handles a new record whose id another record has.
func (m *many) exists(it item, id string) {
	if it.own || m.o.Table.Options.IDs != schema.Counter {
		m.refuse(it.position, takenID(id))
		return
	}
	// The counter fell back, or another program made that record: take another id.
	m.o.ID.Of(it.record).SetZero()
	if err := m.o.Create(m.ctx, it.record.Addr().Interface()); err != nil {
		m.refuse(it.position, err)
	}
}

// alone writes a record by itself, when there is room for it: in the steps of package
// unique, or after a look for the records that it refers to. Without an id the script
// that creates it counts.
func (m *many) alone(it item, id string) {
	if id == "" {
		m.slots <- struct{}{}
		m.working.Go(func() {
			defer func() { <-m.slots }()
			if err := m.o.Create(m.ctx, it.record.Addr().Interface()); err != nil {
				m.refuse(it.position, err)
			}
		})
		return
	}
	c, err := it.build(it.record, id)
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	c.own = it.own
	m.slots <- struct{}{}
	m.working.Go(func() {
		defer func() { <-m.slots }()
		switch err := m.o.Table.put(m.ctx, "", c); {
		case err == nil:
			m.wrote(it, c)
		case errors.Is(err, errExists):
			m.exists(it, id)
		default:
			if _, is := rueidis.IsRedisErr(err); !is && !decided(err) || errors.Is(err, schema.ErrSchema) {
				m.stop(err)
			}
			m.refuse(it.position, err)
		}
	})
}

func takenID(id string) error {
	return &schema.TakenError{Field: "id", Value: id, Owner: id}
}

// newRecordID returns the caller's own id of a new record, or "".
func (o *Objects) newRecordID(record reflect.Value) (string, error) {
	own := o.IdOf(record)
	switch {
	case own != "" && o.Table.Options.IDs == schema.Counter:
		return own, checkOwn(own)
	case own != "" && o.Table.Options.IDs != schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is %q: new records get theirs from Options.IDs, %s; leave it empty", schema.ErrValue, o.ID.GoName, schema.Shorten(own), o.Table.Options.IDs)
	case own == "" && o.Table.Options.IDs == schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is empty: with model.ClientAssigned the caller sets the id", schema.ErrValue, o.ID.GoName)
	}
	return own, nil
}
