package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
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
	pending sync.WaitGroup        // what is sent, and has no outcome yet
	ids     map[string]bool       // of the records since all had an outcome
	stopped atomic.Pointer[error] // why no more records are written
}

// openBatch is a batch that more records may join.
type openBatch struct {
	batch
	items   []item
	bytes   int
	entries int
	now     int64 // the time of the server, about
}

// item is one record of a Many.
type item struct {
	position int
	record   reflect.Value
	own      bool // its id is the caller's
	// build returns the change that writes the record with an id.
	build func(record reflect.Value, id string, now int64) (*change, error)
	// alone writes the record by itself, after a batch could not.
	alone func(ctx context.Context, ptr any) error
	given reflect.Value // the record of the caller
}

// newMany starts to write many records. refused gets the errors of those that are not
// written, one at a time.
func (o *Objects) newMany(ctx context.Context, refused func(position int, err error)) *many {
	m := &many{
		o: o, ctx: ctx, refused: refused, ids: map[string]bool{}, open: map[*schema.Partition]*openBatch{},
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
	ids := newIDSource(o.Table)
	for i := range n {
		record := reflect.ValueOf(at(i)).Elem()
		id, err := o.newRecordID(record)
		own := id != ""
		if err == nil {
			err = o.Declaration.Check(record)
		}
		if err == nil && id == "" {
			id, err = ids.take(ctx, min(int64(n-i), reserveIDs))
		}
		if err != nil {
			m.refuse(i, err)
			continue
		}
		m.add(item{position: i, record: record, own: own, build: o.creation, alone: o.Create, given: o.copied(record)}, id)
	}
}

// PutMany puts records, and creates those without an id. See CreateMany.
func (o *Objects) PutMany(ctx context.Context, n int, at func(position int) any, refused func(position int, err error)) {
	m := o.newMany(ctx, refused)
	defer m.close()
	ids := newIDSource(o.Table)
	for i := range n {
		record := reflect.ValueOf(at(i)).Elem()
		it := item{position: i, record: record, build: o.putting, alone: o.Put, given: o.copied(record)}
		id := o.Declaration.IdOf(record)
		var err error
		if id != "" {
			err = o.checkPut(record, id)
		} else if _, err = o.newRecordID(record); err == nil {
			it.build, it.alone = o.creation, o.Create
			if err = o.Declaration.Check(record); err == nil {
				id, err = ids.take(ctx, min(int64(n-i), reserveIDs))
			}
		}
		if err != nil {
			m.refuse(i, err)
			continue
		}
		m.once(id)
		m.add(it, id)
	}
}

// maxIDs is how many ids are remembered.
const maxIDs = 10_000

// once waits for the outcome of an earlier record with the same id, so that the last one
// wins.
func (m *many) once(id string) {
	if id == "" {
		return
	}
	if m.ids[id] || len(m.ids) >= maxIDs {
		m.flush()
		m.pending.Wait()
		clear(m.ids)
	}
	m.ids[id] = true
}

// reserveIDs is how many ids are taken from a counter at once.
const reserveIDs = 1000

// refuse reports the error of a record.
func (m *many) refuse(position int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused(position, err)
}

// add adds a record with an id.
func (m *many) add(it item, id string) {
	t := m.o.Table
	if err := m.stopped.Load(); err != nil {
		m.refuse(it.position, *err)
		return
	}
	if t.writer().claims() || t.checksBefore() {
		m.single(it, id)
		return
	}
	p := t.Layout.Of(id)
	b := m.open[p]
	if b == nil {
		b = &openBatch{batch: batch{p: p}, now: t.clockOf(p).now()}
		m.open[p] = b
	}
	c, err := it.build(it.record, id, b.now)
	if err == nil {
		err = t.checkReferences(m.ctx, c) // sends nothing, as none of them is in another slot
	}
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	b.items, b.changes = append(b.items, it), append(b.changes, c)
	b.entries += len(c.entries) + len(c.references)
	size := len(c.content)
	for _, s := range slices.Concat(c.set, c.setNew) {
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
	m.pending.Add(1)
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
		m.pending.Add(-len(some))
	}
}

// write writes batches.
func (m *many) write(some []*openBatch) {
	t := m.o.Table
	all := make([]*batch, len(some))
	for i, b := range some {
		all[i] = &b.batch
	}
	for i, o := range t.writer().writeBatches(m.ctx, all) {
		b := some[i]
		for range maxClock {
			if !errors.Is(o.err, errClock) {
				break
			}
			if b = m.rebuild(b); len(b.items) == 0 {
				break
			}
			o = t.writer().writeBatches(m.ctx, []*batch{&b.batch})[0]
		}
		if len(b.items) == 0 {
			continue
		}
		if o.err != nil {
			m.stop(o.err)
		}
		for i, it := range b.items {
			switch {
			case o.err != nil:
				m.refuse(it.position, o.err)
			case o.errs[i] == nil:
				m.wrote(it, b.changes[i])
			default:
				m.again(it, b.changes[i].id, o.errs[i])
			}
		}
	}
}

// again writes a record once more by itself, if that can help, or refuses it.
func (m *many) again(it item, id string, err error) {
	var other *otherError
	switch {
	case errors.Is(err, errExists) && it.own:
		err = takenID(id)
	case errors.Is(err, errExists), errors.As(err, &other), errors.Is(err, errClock):
		// The counter fell back, or another program made a record with this id; or the
		// index entries depend on what is stored.
		it.record.Set(it.given)
		err = it.alone(m.ctx, it.record.Addr().Interface())
	}
	if err != nil {
		m.refuse(it.position, err)
	}
}

// stop refuses the records that were not sent yet, because of an error that is not about
// one record.
func (m *many) stop(err error) { m.stopped.CompareAndSwap(nil, &err) }

// wrote completes a record that was written.
func (m *many) wrote(it item, c *change) {
	if c.operation == "create" {
		return
	}
	if err := m.o.take(c, it.record); err != nil {
		m.refuse(it.position, err)
	}
}

// rebuild makes the changes of a batch again, with the present time.
func (m *many) rebuild(b *openBatch) *openBatch {
	t := m.o.Table
	again := &openBatch{batch: batch{p: b.p}, now: t.clockOf(b.p).now()}
	for i, it := range b.items {
		it.record.Set(it.given)
		c, err := it.build(it.record, b.changes[i].id, again.now)
		if err == nil {
			err = t.checkReferences(m.ctx, c)
		}
		if err != nil {
			m.refuse(it.position, err)
			continue
		}
		again.items, again.changes = append(again.items, it), append(again.changes, c)
	}
	return again
}

// begin calls f in a goroutine, when there is room for it.
func (m *many) begin(f func()) {
	m.slots <- struct{}{}
	m.pending.Add(1)
	m.working.Go(func() {
		defer func() {
			<-m.slots
			m.pending.Done()
		}()
		f()
	})
}

// single writes a record by itself, when there is room for it: in the steps of package
// unique, or after a look for the records that it refers to.
func (m *many) single(it item, id string) {
	c, err := it.build(it.record, id, m.o.Table.now(id))
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	m.begin(func() {
		switch err := m.o.Table.writer().put(m.ctx, c); {
		case err == nil:
			m.wrote(it, c)
		default:
			if _, is := rueidis.IsRedisErr(err); !is && !decided(err) || errors.Is(err, schema.ErrSchema) {
				m.stop(err)
			}
			m.again(it, id, err)
		}
	})
}

func takenID(id string) error {
	return &schema.TakenError{Field: "id", Value: id, Owner: id}
}

// newRecordID returns the caller's own id of a new record, or "".
func (o *Objects) newRecordID(record reflect.Value) (string, error) {
	own := o.Declaration.IdOf(record)
	switch {
	case own != "" && o.Table.Options.IDs == schema.Counter:
		return own, checkOwn(own)
	case own != "" && o.Table.Options.IDs != schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is %q: new records get theirs from Options.IDs, %s; leave it empty", schema.ErrValue, o.Declaration.ID.GoName, schema.Shorten(own), o.Table.Options.IDs)
	case own == "" && o.Table.Options.IDs == schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is empty: with model.ClientAssigned the caller sets the id", schema.ErrValue, o.Declaration.ID.GoName)
	}
	return own, nil
}
