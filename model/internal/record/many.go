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

// Limits of a pipeline of many records.
const (
	manyRecords   = 200
	manyBytes     = 512 << 10
	maxIndividual = 64 // concurrent writes of records with claims of unique values, which take several steps each
)

// many writes records in pipelines, and in order within a partition. Each record is written or
// refused independently.
type many struct {
	o       *Objects
	ctx     context.Context
	mu      sync.Mutex // guards refused
	refused func(position int, err error)

	open    []pendingItem
	bytes   int                // bytes in open
	batches chan []pendingItem // batches to write
	slots   chan struct{}      // limits records that are written individually
	working sync.WaitGroup
	pending sync.WaitGroup        // batches and records without an outcome yet
	ids     map[string]bool       // ids added since the last wait for all outcomes
	stopped atomic.Pointer[error] // why writing has stopped
}

// item is one record of a Many.
type item struct {
	position int
	record   reflect.Value
	own      bool // the caller has set its id
	// build returns the change that writes the record with an id.
	build func(record reflect.Value, id string, now int64) (*change, error)
	// writeSingle writes the record individually, after a pipeline could not.
	writeSingle func(ctx context.Context, ptr any) error
	given       reflect.Value // the caller's record
}

// pendingItem is an item with its change.
type pendingItem struct {
	item
	c *change
}

// newMany starts writing many records. refused is called for records that are not written, one
// at a time.
func (o *Objects) newMany(ctx context.Context, refused func(position int, err error)) *many {
	m := &many{
		o: o, ctx: ctx, refused: refused, ids: map[string]bool{},
		batches: make(chan []pendingItem, 1), slots: make(chan struct{}, maxIndividual),
	}
	m.working.Go(m.writeAll)
	return m
}

// close writes the remaining records.
func (m *many) close() {
	m.flush()
	close(m.batches)
	m.working.Wait()
}

// CreateMany creates n records, and sets their ids and versions. at returns a pointer to the
// record at a position. refused is called for records that are not written, one at a time.
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
		m.add(item{position: i, record: record, own: own, build: o.creation, writeSingle: o.Create, given: o.copied(record)}, id)
	}
}

// PutMany puts records, and creates records without an id. See CreateMany.
func (o *Objects) PutMany(ctx context.Context, n int, at func(position int) any, refused func(position int, err error)) {
	m := o.newMany(ctx, refused)
	defer m.close()
	ids := newIDSource(o.Table)
	for i := range n {
		record := reflect.ValueOf(at(i)).Elem()
		it := item{position: i, record: record, build: o.putting, writeSingle: o.Put, given: o.copied(record)}
		id := o.Declaration.IdOf(record)
		var err error
		if id != "" {
			err = o.checkPut(record, id)
		} else if _, err = o.newRecordID(record); err == nil {
			it.build, it.writeSingle = o.creation, o.Create
			if err = o.Declaration.Check(record); err == nil {
				id, err = ids.take(ctx, min(int64(n-i), reserveIDs))
			}
		}
		if err != nil {
			m.refuse(i, err)
			continue
		}
		m.waitForEarlier(id)
		m.add(it, id)
	}
}

// maxIDs is the maximum number of ids held in memory.
const maxIDs = 10_000

// waitForEarlier waits for the outcome of an earlier record with the same id, so that the last
// record with an id wins.
func (m *many) waitForEarlier(id string) {
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

// reserveIDs is the number of ids reserved from a counter at a time.
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
	if t.claims() || t.checksBefore() {
		m.single(it, id)
		return
	}
	c, err := it.build(it.record, id, t.now(id))
	if err == nil {
		err = t.checkReferences(m.ctx, c) // sends no command: all referenced records are in the slot of the record
	}
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	m.open = append(m.open, pendingItem{it, c})
	m.bytes += len(c.content)
	for _, s := range slices.Concat(c.set, c.setNew) {
		m.bytes += len(s)
	}
	if len(m.open) >= manyRecords || m.bytes >= manyBytes {
		m.flush()
	}
}

// flush queues the open batch, once the queue has room.
func (m *many) flush() {
	if len(m.open) > 0 {
		m.pending.Add(1)
		m.batches <- m.open
		m.open, m.bytes = nil, 0
	}
}

// writeAll writes batches of records, one per pipeline.
func (m *many) writeAll() {
	for batch := range m.batches {
		m.write(batch)
		m.pending.Done()
	}
}

// write writes records in one pipeline.
func (m *many) write(batch []pendingItem) {
	changes := make([]*change, len(batch))
	for i, it := range batch {
		changes[i] = it.c
	}
	for i, err := range m.o.Table.applyMany(m.ctx, changes) {
		m.finish(batch[i].item, changes[i], err)
	}
}

// finish handles the outcome of a record.
func (m *many) finish(it item, c *change, err error) {
	err = m.inTime(it, &c, err)
	if err == nil {
		m.wrote(it, c)
		return
	}
	if _, ok := rueidis.IsRedisErr(err); !ok && !decided(err) && !errors.Is(err, schema.ErrCorrupt) || errors.Is(err, schema.ErrSchema) {
		m.stop(err)
	}
	m.retryOrRefuse(it, c.id, err)
}

// inTime writes a record again, with the current time and the same id, if its estimated time
// was wrong.
func (m *many) inTime(it item, c **change, err error) error {
	if !errors.Is(err, errClock) {
		return err
	}
	return WithClock(func() error {
		it.record.Set(it.given)
		id := (*c).id
		if *c, err = it.build(it.record, id, m.o.Table.now(id)); err != nil {
			return err
		}
		return m.o.Table.put(m.ctx, *c)
	})
}

// retryOrRefuse writes a record individually if that may succeed, or refuses the record.
func (m *many) retryOrRefuse(it item, id string, err error) {
	var watched *watchedError
	switch {
	case errors.Is(err, errExists) && it.own:
		err = takenID(id)
	case errors.Is(err, errExists), errors.As(err, &watched):
		// The counter was reset, another program created a record with this id, or the index
		// entries depend on stored fields.
		it.record.Set(it.given)
		err = it.writeSingle(m.ctx, it.record.Addr().Interface())
	}
	if err != nil {
		m.refuse(it.position, err)
	}
}

// stop makes add refuse further records, because of an error that does not concern a single
// record.
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

// begin runs f in a goroutine, once a slot is free.
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

// single writes a record individually, once a slot is free: in the steps of package unique, or
// after checking the records that the record refers to.
func (m *many) single(it item, id string) {
	c, err := it.build(it.record, id, m.o.Table.now(id))
	if err != nil {
		m.refuse(it.position, err)
		return
	}
	m.begin(func() {
		m.finish(it, c, m.o.Table.put(m.ctx, c))
	})
}

// takenID returns the error for an id that another record has.
func takenID(id string) error {
	return &schema.TakenError{Field: "id", Value: id, Owner: id}
}

// newRecordID returns the id that the caller has set in a new record, or "".
func (o *Objects) newRecordID(record reflect.Value) (string, error) {
	own := o.Declaration.IdOf(record)
	switch {
	case own != "" && o.Table.Options.IDs == schema.Counter:
		return own, checkCallerID(own)
	case own != "" && o.Table.Options.IDs != schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is %q: the ids of new records come from Options.IDs, %s; leave it empty", schema.ErrValue, o.Declaration.ID.GoName, schema.Shorten(own), o.Table.Options.IDs)
	case own == "" && o.Table.Options.IDs == schema.ClientAssigned:
		return "", fmt.Errorf("%w: %s is empty: with model.ClientAssigned the caller sets the id", schema.ErrValue, o.Declaration.ID.GoName)
	}
	return own, nil
}
