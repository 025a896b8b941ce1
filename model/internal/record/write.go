package record

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// change is one write of a record.
type change struct {
	operation string // create, save or put
	now       int64  // the time of the server, as it was estimated for this write; 0: not used
	id        string
	expected  string   // of a saved record: see write.lua
	checked   []string // names of the fields to digest
	due       int64    // when it expires, or 0
	content   schema.Content
	entries   []schema.Entry
	other     []int          // of a saved or put record: fields that the content depends on, and that others change without a new version
	others    []schema.Text  // what these are expected to be
	set       []string       // names and values
	setNew    []string       // more of these, if the record is new
	remove    []string       // names
	claims    string         // with several partitions: the unique values claimed for it
	left      []schema.Entry // after the write: the unique values that the record had before
	shown     []int          // numbers of the fields whose values are wanted after the write
	values    []schema.Text  // these values
	before    []schema.Entry // if known: the entries that the record has
	stored    schema.Content // if known: these, as they are stored
	byContent bool           // all that matters of the checked fields follows from stored
	sets      []schema.Entry // more sets of values that the script needs
	via       *watched       // writes it; nil: the client
	// references are those to records in the same slot that must exist.
	references []reference
}

// batch is changes of one partition, which one script writes. Each is written or refused
// by itself.
type batch struct {
	p       *schema.Partition
	changes []*change
}

// outcome is that of a batch: of each change, or one error for all.
type outcome struct {
	errs []error
	err  error
}

// writer writes changes to the table: scripts, what they reply, and the claims of unique
// values that come before.
type writer struct{ t *Table }

func (t *Table) writer() writer { return writer{t} }

// write writes one record.
func (w writer) write(ctx context.Context, c *change) error {
	if c.operation == "save" && c.via == nil {
		if done, err := w.revise(ctx, c); done || err != nil {
			return err
		}
	}
	b := &batch{w.t.Layout.Of(c.id), []*change{c}}
	if c.via != nil {
		defer w.wrote(b)
		return WithSets(&c.sets, func() error {
			errs, err := c.via.write(ctx, b)
			if err != nil {
				return err
			}
			return errs[0]
		})
	}
	o := w.writeBatches(ctx, []*batch{b})[0]
	if o.err != nil {
		return o.err
	}
	return o.errs[0]
}

// writeBatches writes batches in one pipeline, and in another one the records that leave
// sets of values which only their contents name.
func (w writer) writeBatches(ctx context.Context, all []*batch) []outcome {
	outcomes := w.writeOnce(ctx, all)
	for range maxMissing {
		var again []*batch
		var errs [][]*error // of their changes
		for i, b := range all {
			next := &batch{p: b.p}
			var of []*error
			for j := range outcomes[i].errs {
				var missing *MissingSets
				if err := &outcomes[i].errs[j]; errors.As(*err, &missing) {
					b.changes[j].sets = append(b.changes[j].sets, missing.Entries...)
					next.changes, of = append(next.changes, b.changes[j]), append(of, err)
				}
			}
			if len(of) > 0 {
				again, errs = append(again, next), append(errs, of)
			}
		}
		if len(again) == 0 {
			break
		}
		for i, o := range w.writeOnce(ctx, again) {
			for j, err := range errs[i] {
				if *err = o.err; o.err == nil {
					*err = o.errs[j]
				}
			}
		}
	}
	return outcomes
}

// writeOnce runs write.lua for each batch, in one pipeline.
func (w writer) writeOnce(ctx context.Context, all []*batch) []outcome {
	calls, outcomes := make([]script.Call, len(all)), make([]outcome, len(all))
	if err := w.t.raise(ctx, all); err != nil {
		for i := range outcomes {
			outcomes[i].err = err
		}
		return outcomes
	}
	for i, b := range all {
		calls[i] = w.writeCall(b)
		defer w.wrote(b)
	}
	var replies []rueidis.RedisResult
	if len(calls) == 1 {
		replies = []rueidis.RedisResult{writeScript.Run(ctx, w.t.Client, calls[0].Keys, calls[0].Args)}
	} else {
		replies = writeScript.RunMany(ctx, w.t.Client, calls)
	}
	for i, reply := range replies {
		o := &outcomes[i]
		o.err = w.t.Registry.RetryRestored(ctx, func() error {
			if o.err != nil { // the schema was published again
				call := w.writeCall(all[i])
				reply = writeScript.Run(ctx, w.t.Client, call.Keys, call.Args)
			}
			m, err := reply.ToMessage()
			if err == nil {
				o.errs, o.err = w.parseOutcomes(ctx, all[i], calls[i].Keys, m)
			} else {
				o.err = w.t.TypeError(ctx, err, calls[i].Keys...)
			}
			return o.err
		})
	}
	return outcomes
}

// wrote records that the records of a batch were written, whatever the outcome.
func (w writer) wrote(b *batch) {
	for _, c := range b.changes {
		w.t.Rows.Writes.Add(c.id)
	}
}

// firstIndex is the position of the first index among the keys of write.lua.
const firstIndex = 6

// writeCall returns the call of write.lua.
func (w writer) writeCall(b *batch) script.Call {
	size := 0
	for _, c := range b.changes {
		size += 13 + len(c.shown) + 2*len(c.other) + len(c.setNew) + len(c.remove) + len(c.set)
	}
	keys := make([]string, 0, 6+len(b.p.Indexes)+len(b.changes))
	keys = append(append(keys, b.p.Content, b.p.All, b.p.Meta, b.p.Expires, b.p.Voids), b.p.Indexes...)
	references, referred := b.referenceKeys()
	keys = append(keys, references...)
	stride := 1
	if w.t.Schema.Expires >= 0 {
		stride += len(w.t.Schema.Collections)
	}
	versionField := ""
	if w.t.Schema.Version >= 0 {
		versionField = w.t.Schema.Names[w.t.Schema.Version]
	}
	clock := ""
	if now := b.changes[0].now; now != 0 {
		clock = strconv.FormatInt(now, 10)
	}
	first := len(keys) + 1
	sets := make([][]schema.Entry, 0, 3*len(b.changes))
	for _, c := range b.changes {
		keys = append(keys, b.p.Record(c.id))
		if stride > 1 {
			keys = w.t.Layout.CollectionKeys(keys, b.p, c.id) // they expire with the record
		}
		sets = append(sets, without(c.entries, c.before), without(c.before, c.entries), c.sets)
	}
	firstSet := len(keys) + 1
	keys, values, at := w.t.Layout.PlacedValueKeys(keys, b.p, sets...)
	args := append(make([]string, 0, 9+size), w.t.Registry.Stamp(), w.t.Layout.IndexNumbers,
		strconv.Itoa(stride), versionField, values, referred, clock, strconv.Itoa(first), strconv.Itoa(firstSet))
	place := func(e schema.Entry) (set, index int) {
		if index = firstIndex + e.Index.Place; e.Index.PerValue {
			return at[e], index
		}
		return index, 0
	}
	for _, c := range b.changes {
		entered := ""
		if c.operation != "save" && hasPlaces(c.entries) {
			entered = placed(c.due, c.entries, place)
		}
		args = w.appendChange(args, c, entered)
		if len(references) > 0 {
			args = w.t.appendReferences(args, c)
		}
	}
	return script.Call{Keys: keys, Args: args}
}

// appendChange appends a change as write.lua takes it.
func (w writer) appendChange(args []string, c *change, entered string) []string {
	score := ""
	if n, err := strconv.ParseUint(c.id, 10, 53); err == nil && w.t.Options.IDs == schema.Counter {
		score = strconv.FormatUint(n, 10)
	}
	args = append(args, c.operation, c.id, string(c.content), score, c.claims, entered)
	if c.operation != "create" {
		args = append(args, c.expected, strconv.Itoa(len(c.checked)))
		args = append(args, c.checked...)
		args = append(args, strconv.Itoa(2*len(c.other)))
		for i, field := range c.other {
			expected := ""
			if c.others[i].OK {
				expected = "=" + c.others[i].Value
			}
			args = append(args, w.t.Schema.Names[field], expected)
		}
		args = append(args, strconv.Itoa(len(c.shown)))
		for _, field := range c.shown {
			args = append(args, w.t.Schema.Names[field])
		}
		args = append(append(args, strconv.Itoa(len(c.remove))), c.remove...)
	}
	args = append(args, strconv.Itoa(len(c.set)), strconv.Itoa(len(c.setNew)))
	return append(append(args, c.set...), c.setNew...)
}

// parseOutcomes reads the reply of write.lua.
func (w writer) parseOutcomes(ctx context.Context, b *batch, keys []string, m rueidis.RedisMessage) ([]error, error) {
	if err := m.Error(); err != nil && !rueidis.IsRedisNil(err) {
		return nil, w.t.TypeError(ctx, err, keys...)
	}
	if !m.IsArray() {
		word, err := m.ToString()
		return nil, cmp.Or(err, w.t.Outcome("", word), schema.ErrReply(nil))
	}
	list, err := m.ToArray()
	if err != nil {
		return nil, err
	}
	if len(list) == 2 && b.changes[0].now != 0 {
		if word, _ := list[0].ToString(); word == "CLOCK" {
			now, err := list[1].AsInt64()
			if err == nil {
				w.t.clockOf(b.p).set(now)
			}
			return nil, cmp.Or[error](err, errClock)
		}
	}
	if len(list) != len(b.changes) {
		return nil, schema.ErrReply(nil)
	}
	errs := make([]error, len(list))
	var wrongType error // of a key of the model, which affects many records
	for i, c := range b.changes {
		switch err := list[i].Error(); {
		case err == nil || rueidis.IsRedisNil(err):
			errs[i] = w.parseOutcome(c, list[i])
		case rediserr.IsWrongType(err):
			if wrongType == nil {
				wrongType = w.t.CheckTypes(ctx, w.t.valueKeysOf(keys)...)
			}
			errs[i] = cmp.Or(wrongType, w.t.Rows.ReadError(c.id, err))
		default:
			errs[i] = err
		}
	}
	return errs, nil
}

// parseOutcome reads the outcome of one change.
func (w writer) parseOutcome(c *change, m rueidis.RedisMessage) error {
	if list, err := m.ToArray(); err == nil && len(list) == 3 {
		if word, _ := list[0].ToString(); word == "OK" {
			return w.parseWritten(c, list)
		}
	} else if err == nil && len(list) == 2 {
		if word, _ := list[0].ToString(); word == "OTHER" {
			values, err := parseTexts(list[1])
			return cmp.Or[error](err, &otherError{values})
		}
	}
	_, err := w.t.parseReply(c.id, m)
	return err
}

// parseWritten reads the values to release, and the values that were wanted.
func (w writer) parseWritten(c *change, list []rueidis.RedisMessage) error {
	left, err := list[1].ToArray()
	if err != nil {
		return err
	}
	if c.left, err = unique.ParseEntries(w.t.Schema, left); err != nil {
		return err
	}
	c.values, err = parseTexts(list[2])
	return err
}

// parseTexts reads the reply of HMGET.
func parseTexts(m rueidis.RedisMessage) ([]schema.Text, error) {
	values, err := m.ToArray()
	if err != nil {
		return nil, err
	}
	all := make([]schema.Text, len(values))
	for i := range values {
		s, err := values[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		all[i] = schema.Text{Value: s, OK: err == nil}
	}
	return all, nil
}

// otherError is returned if fields that the content depends on are not as expected. Nothing was written.
type otherError struct{ values []schema.Text }

func (o *otherError) Error() string {
	return "another writer has changed a counter, or when it expires"
}

// Unwrap makes the error an ErrConflict.
func (o *otherError) Unwrap() error { return schema.ErrConflict }
