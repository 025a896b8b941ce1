package record

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// change is one write of a record.
type change struct {
	operation  string // create, save or put
	now        int64  // the time of the server, as it was estimated for this write; 0: not used
	id         string
	expected   string   // of a saved record: "", v and its version, or d and the digest of checked; "+": the version goes up by one
	checked    []string // names of the fields to digest
	due        int64    // when it expires, or 0
	content    schema.Content
	entries    []schema.Entry
	other      []int          // of a saved or put record: fields that the content depends on, and that others change without a new version
	others     []schema.Text  // what these are expected to be
	set        []string       // names and values
	setNew     []string       // more of these, if the record is new
	remove     []string       // names
	token      string         // of the claims, with several partitions
	claimed    []unique.Claim // the unique values claimed for it
	left       []schema.Entry // after the write: the unique values in other partitions that the record had before
	shown      []int          // numbers of the fields whose values are wanted after the write
	values     []schema.Text  // these values
	stored     *known         // if known: the entries that the record has
	byContent  bool           // all that matters of the checked fields follows from stored
	references []reference    // those to records in the same slot that must exist
}

// known is what a caller knows of the index entries of a stored record.
type known struct {
	content schema.Content
	due     int64
	entries []schema.Entry      // of the indexes that the caller knows
	carried []schema.IndexValue // of others, which stay
}

// parseKnown reads a content; one that is damaged has no entries, as scripts see it.
func (t *Table) parseKnown(content schema.Content) known {
	k := known{content: content}
	due, values, err := schema.Unpack(content)
	if err != nil {
		return k
	}
	k.due = due
	for _, v := range values {
		if x := t.Schema.Numbered(v.Number); x != nil {
			k.entries = append(k.entries, schema.Entry{Index: x, Value: v.Value})
		} else {
			k.carried = append(k.carried, v)
		}
	}
	return k
}

// knownOf returns what follows from the stored fields of a record, or nil if some entries must
// be computed, or cannot be read.
func (t *Table) knownOf(stored []schema.Text) *known {
	if len(t.Schema.Fields) > len(t.Schema.Names) {
		return nil
	}
	entries, err := t.Schema.Entries(stored)
	if err != nil {
		return nil
	}
	due, err := t.Rows.ExpiresAt(stored)
	if err != nil {
		return nil
	}
	return &known{content: schema.Pack(due, entries), due: due, entries: entries}
}

// packed returns the new content, with the entries that are carried.
func (k *known) packed(c *change) string {
	if len(k.carried) == 0 {
		return string(c.content)
	}
	b := schema.PackInt(schema.PackList(nil, 1+2*(len(c.entries)+len(k.carried))), c.due)
	for _, e := range c.entries {
		b = schema.PackText(schema.PackInt(b, int64(e.Index.Number)), e.Value)
	}
	for _, v := range k.carried {
		b = schema.PackText(schema.PackInt(b, int64(v.Number)), v.Value)
	}
	return string(b)
}

// What apply.lua expects of a record.
const (
	mustBeNew = iota
	mustExist
	eitherWay
)

// application is one call of apply.lua.
type application struct {
	c       *change
	mode    int
	known   known
	gone    bool           // there is no record: entries that it had may be those of others by now
	digest  bool           // compare the digest
	removes bool           // the record is deleted, or what is left of it
	force   bool           // all entries are entered, also those that it has by its content; or a record is deleted that the model did not write
	keeps   bool           // the content stays, but for the time of expiry
	drops   bool           // the content loses the entries of other indexes
	aligns  bool           // entries that this process cannot compute stay
	removal *removal       // nil: nothing may refer to the record
	entered []schema.Entry // unique ones first
	left    []schema.Entry
}

// know sets what is known of the record.
func (a *application) know(t *Table, content schema.Content) {
	a.known = t.parseKnown(content)
	if a.drops {
		a.known.carried = nil
	}
	if !a.aligns || t.Opaque == "" {
		return
	}
	a.known.entries = slices.DeleteFunc(a.known.entries, func(e schema.Entry) bool {
		stays := t.IsOpaque(e.Index)
		if stays {
			a.known.carried = append(a.known.carried, schema.IndexValue{Number: e.Index.Number, Value: e.Value})
		}
		return stays
	})
}

func (t *Table) begin(c *change) *application {
	a := &application{c: c, mode: mustBeNew}
	switch c.operation {
	case "save":
		a.mode, a.digest = mustExist, !c.byContent
		if c.stored != nil {
			a.known = *c.stored
		} else {
			a.known = t.parseKnown(c.content) // perhaps no index changes
		}
	case "put":
		a.mode = eitherWay
	}
	return a
}

// groups are entries by the kind of their index, which is in the slot of the record.
type groups struct {
	all                      []schema.Entry // in this order:
	unique, sorted, perValue int
}

func groupsOf(entries []schema.Entry) (g groups) {
	g.all = make([]schema.Entry, 0, len(entries))
	for _, of := range []struct {
		count *int
		is    func(x *schema.Index) bool
	}{
		{&g.unique, func(x *schema.Index) bool { return x.Unique && x.Place >= 0 }},
		{&g.sorted, func(x *schema.Index) bool { return !x.Unique && !x.PerValue }},
		{&g.perValue, func(x *schema.Index) bool { return x.PerValue }},
	} {
		for _, e := range entries {
			if of.is(e.Index) {
				g.all = append(g.all, e)
				*of.count++
			}
		}
	}
	return g
}

// without returns the entries that are not among others.
func without(entries, others []schema.Entry) []schema.Entry {
	if len(others) == 0 {
		return entries
	}
	among := func(e schema.Entry) bool { return slices.Contains(others, e) }
	if len(others) > 30 {
		all := make(map[schema.Entry]bool, len(others))
		for _, e := range others {
			all[e] = true
		}
		among = func(e schema.Entry) bool { return all[e] }
	}
	var left []schema.Entry
	for _, e := range entries {
		if !among(e) {
			left = append(left, e)
		}
	}
	return left
}

// shape has the counts that apply.lua takes, in their order.
type shape struct {
	mode, flags, references, compared, digested, shown, deleted, initial, members, guards int
	in, out                                                                               groups
}

func (s *shape) String() string {
	b := make([]byte, 0, 32)
	for _, n := range []int{
		s.mode, s.flags, s.references, s.compared, s.digested, s.shown, s.deleted, s.initial, s.members, s.guards,
		s.in.unique, s.in.sorted, s.in.perValue, s.out.unique, s.out.sorted, s.out.perValue,
	} {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return string(b)
}

// applyCall returns the call of apply.lua.
func (t *Table) applyCall(a *application) (script.Call, error) {
	c, p := a.c, t.Layout.Of(a.c.id)
	content := ""
	if a.entered, a.left = nil, a.known.entries; !a.removes {
		a.left = without(a.known.entries, c.entries)
		if a.entered = without(c.entries, a.known.entries); a.gone || a.force {
			a.entered = c.entries
		}
		content = a.known.packed(c)
	}
	if a.keeps {
		content = unknown
	}
	s := &shape{mode: a.mode, in: groupsOf(a.entered), out: groupsOf(a.left), references: len(c.references), shown: len(c.shown), deleted: len(c.remove), initial: len(c.setNew)}
	keys := append(make([]string, 0, 8+2*(len(a.entered)+len(a.left))), p.Record(c.id), p.Content, p.All, p.Meta)
	args := append(make([]string, 0, 20+len(c.set)+len(c.setNew)+len(a.entered)+len(a.left)), t.Registry.Stamp(), c.id, "", string(a.known.content), content)
	keys, args = t.appendFlags(a, s, p, keys, args)
	if a.removal != nil {
		var err error
		if keys, args, err = a.removal.appendGuards(keys, args); err != nil {
			return script.Call{}, err
		}
		s.guards = len(a.removal.near)
	}
	for _, r := range c.references {
		keys, args = append(keys, r.keys...), append(args, strconv.Itoa(len(r.keys)))
	}
	if s.flags&flagDue > 0 || a.removes {
		keys, s.members = t.Layout.CollectionKeys(keys, p, c.id), len(t.Schema.Collections)
	}
	args = t.appendCompared(c, s, args)
	if s.flags&flagDigest > 0 {
		args, s.digested = append(args, c.checked...), len(c.checked)
	}
	args = append(append(args, t.Schema.NamesOf(c.shown)...), c.remove...)
	for _, g := range []*groups{&s.in, &s.out} {
		for _, e := range g.all {
			key, value := p.Indexes[e.Index.Place], e.Value
			if e.Index.PerValue {
				key = t.Layout.ValueKey(p, e)
			} else if !e.Index.Unique {
				value += c.id
			}
			keys, args = append(keys, key), append(args, value)
		}
		for _, e := range g.all[len(g.all)-g.perValue:] {
			keys = append(keys, p.Indexes[e.Index.Place])
		}
	}
	args = append(append(args, c.set...), c.setNew...)
	args[2] = s.String()
	return script.Call{Keys: keys, Args: args}, nil
}

// unknown stands for a content that stays as it is.
const unknown = "?"

// The flags of apply.lua.
const (
	flagDue = 1 << iota
	flagScore
	flagDigest
	flagVersion
	flagClock
	flagClaims
	flagForce
	flagKeeps
)

// appendFlags appends the keys and arguments that a write does not always have.
func (t *Table) appendFlags(a *application, s *shape, p *schema.Partition, keys, args []string) (_, _ []string) {
	c := a.c
	// What is known may have been written by a declaration with an expiry that this one has not.
	if c.due != a.known.due || a.mode != mustExist && c.due != 0 || a.force && (a.removes || t.Schema.Expires >= 0) {
		s.flags |= flagDue
		keys, args = append(keys, p.Expires), append(args, strconv.FormatInt(c.due, 10))
	}
	if score := t.Layout.CreationScore(c.id); score != "" && (a.force || t.Options.IDs == schema.Counter) {
		s.flags |= flagScore
		args = append(args, score)
	}
	if a.force {
		s.flags |= flagForce
	}
	if a.keeps {
		s.flags |= flagKeeps
	}
	if c.checked != nil && a.digest {
		s.flags |= flagDigest
		args = append(args, c.expected[1:])
	}
	if c.expected == "+" && t.Schema.Version >= 0 {
		s.flags |= flagVersion
		args = append(args, t.Schema.Names[t.Schema.Version])
	}
	if c.now != 0 {
		s.flags |= flagClock
		args = append(args, strconv.FormatInt(c.now, 10))
	}
	if len(c.claimed) > 0 {
		s.flags |= flagClaims
		keys = append(keys, p.Voids)
		args = append(args, c.token, slices.MinFunc(c.claimed, func(a, b unique.Claim) int {
			return cmp.Or(len(a.Deadline)-len(b.Deadline), strings.Compare(a.Deadline, b.Deadline))
		}).Deadline)
	}
	return keys, args
}

// appendCompared appends the fields that are compared, and what they must be.
func (t *Table) appendCompared(c *change, s *shape, args []string) []string {
	var expected []string
	if v, is := strings.CutPrefix(c.expected, "v"); is {
		args = append(args, t.Schema.Names[t.Schema.Version])
		if v = "=" + v; v == "=0" {
			v = "" // a record without a version
		}
		expected = append(expected, v)
	}
	for i, field := range c.other {
		args = append(args, t.Schema.Names[field])
		text := ""
		if c.others[i].OK {
			text = "=" + c.others[i].Value
		}
		expected = append(expected, text)
	}
	s.compared = len(expected)
	return append(args, expected...)
}

// errAgain is returned if a record is not as it was known. The application knows more then.
var errAgain = errors.New("the record is not as expected")

// maxApplied is how often a record is found to be another than before.
const maxApplied = 100

// write writes one record.
func (t *Table) write(ctx context.Context, c *change) error {
	if err := t.raise(ctx, []*change{c}); err != nil {
		return err
	}
	return t.Registry.RetryRestored(ctx, func() error { return t.applyAgain(ctx, t.begin(c), errAgain) })
}

// applyAgain runs apply.lua until the record is as it is known, or something else is wrong.
func (t *Table) applyAgain(ctx context.Context, a *application, err error) error {
	for range maxApplied {
		if !errors.Is(err, errAgain) {
			return err
		}
		err = t.applyOnce(ctx, a)
	}
	if errors.Is(err, errAgain) {
		return t.Outcome(a.c.id, "CONFLICT")
	}
	return err
}

func (t *Table) applyOnce(ctx context.Context, a *application) error {
	call, err := t.applyCall(a)
	if err == nil && !a.aligns {
		err = t.checkClaimed(ctx, a)
	}
	if err != nil {
		return err
	}
	defer t.Rows.Writes.Add(a.c.id)
	return t.applied(ctx, a, call.Keys, applyScript.Run(ctx, t.Client, call.Keys, call.Args))
}

// applyMany runs apply.lua for several records in one pipeline.
func (t *Table) applyMany(ctx context.Context, changes []*change) []error {
	errs := make([]error, len(changes))
	if err := t.raise(ctx, changes); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	all := make([]*application, len(changes))
	for i, c := range changes {
		all[i] = t.begin(c)
	}
	return t.applyAll(ctx, all)
}

// applyAll runs apply.lua for several records in one pipeline, and again for those that are not
// as they were known.
func (t *Table) applyAll(ctx context.Context, all []*application) []error {
	errs := make([]error, len(all))
	calls := make([]script.Call, len(all))
	for i, a := range all {
		var err error
		if calls[i], err = t.applyCall(a); err != nil {
			for i := range errs {
				errs[i] = err
			}
			return errs
		}
	}
	for i, reply := range applyScript.RunMany(ctx, t.Client, calls) {
		a, first := all[i], true
		t.Rows.Writes.Add(a.c.id)
		errs[i] = t.Registry.RetryRestored(ctx, func() error {
			err := errAgain // the schema was published again
			if first {
				first = false
				err = t.applied(ctx, a, calls[i].Keys, reply)
			}
			return t.applyAgain(ctx, a, err)
		})
	}
	return errs
}

// Alignment is what a record should have in the indexes.
type Alignment struct {
	ID      string
	Content schema.Content // that it has
	Read    string         // fingerprint of the fields that it must still have
	Due     int64
	Entries []schema.Entry
	Drops   bool // entries of indexes that are no longer declared go
	Token   string
	Claims  []unique.Claim // of values in other partitions that the record has not
}

// Align enters records in their indexes, whatever their contents say: one pipeline. A record that
// has changed since it was read is a conflict.
func (t *Table) Align(ctx context.Context, all []Alignment) []error {
	apps := make([]*application, len(all))
	for i, w := range all {
		c := &change{
			operation: "save", id: w.ID, expected: w.Read, checked: t.Schema.NamesOf(t.Rows.Relevant),
			due: w.Due, entries: w.Entries, content: schema.Pack(w.Due, w.Entries), token: w.Token, claimed: w.Claims,
		}
		apps[i] = &application{c: c, mode: mustExist, digest: true, force: true, aligns: true, drops: w.Drops}
		apps[i].know(t, w.Content)
	}
	errs := t.applyAll(ctx, apps)
	for i, a := range apps {
		for _, e := range a.c.left {
			if errs[i] == nil {
				errs[i] = t.Claims.Release(ctx, a.c.id, e)
			}
		}
	}
	return errs
}

// checkClaimed returns an error if a record would enter unique values in other partitions
// without a claim.
func (t *Table) checkClaimed(ctx context.Context, a *application) error {
	var missing []schema.Entry
	for _, e := range a.entered {
		if e.Index.Place < 0 && !slices.ContainsFunc(a.c.claimed, func(c unique.Claim) bool { return c.Entry == e }) {
			missing = append(missing, e)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case a.c.token == "":
		return &unique.Unclaimed{Entries: missing}
	}
	// A value that the record has already is given no claim: then its content says so.
	text, err := t.Client.Do(ctx, t.Client.B().Hget().Key(t.Layout.Of(a.c.id).Content).Field(a.c.id).Build()).ToString()
	switch {
	case err != nil && !rueidis.IsRedisNil(err):
		return t.TypeError(ctx, err)
	case text != string(a.known.content):
		a.known, a.digest = t.parseKnown(schema.Content(text)), true
		return errAgain
	case len(a.c.claimed) > 0:
		return unique.ErrLate
	}
	a.c.stored, a.c.byContent = &a.known, a.c.byContent && !a.digest // for the next attempt
	return &unique.Unclaimed{Entries: missing}
}

// applied reads the reply of apply.lua.
func (t *Table) applied(ctx context.Context, a *application, keys []string, reply rueidis.RedisResult) error {
	m, err := reply.ToMessage()
	if rediserr.IsWrongType(err) {
		return cmp.Or(t.CheckTypes(ctx, t.valueKeysOf(keys)...), t.Rows.ReadError(a.c.id, err))
	}
	if err != nil {
		return err
	}
	list := []rueidis.RedisMessage{m}
	if m.IsArray() {
		list, _ = m.ToArray()
	}
	word, err := list[0].ToString()
	switch {
	case err != nil:
		return err
	case a.removes && (word == "OK" || word == "NOTFOUND"):
		return t.removed(ctx, a, word)
	case word == "OK":
		return t.wrote(a, list)
	case word == "REFERRED" && len(list) == 2:
		n, err := list[1].AsInt64()
		if err != nil || a.removal == nil || n < 1 || int(n) > len(a.removal.near) {
			return schema.ErrReply(err)
		}
		return &referred{a.removal.near[n-1]}
	case word == "CLOCK" && len(list) == 2:
		now, err := list[1].AsInt64()
		if err == nil {
			t.clockOf(t.Layout.Of(a.c.id)).set(now)
		}
		return cmp.Or(err, errClock)
	case word == "DANGLING" && len(list) == 2:
		return t.danglingAt(ctx, a.c, &list[1])
	case word == "TAKEN" && len(list) == 4:
		return t.taken(ctx, a, list)
	case word == "FOUND" && len(list) == 5:
		return t.found(a, list)
	case len(list) > 1:
		return schema.ErrReply(nil)
	}
	return t.Outcome(a.c.id, word)
}

// wrote takes what a write returns, and the unique values in other partitions that the record
// has left.
func (t *Table) wrote(a *application, list []rueidis.RedisMessage) (err error) {
	a.c.left, a.c.values = nil, nil
	for _, e := range a.left {
		if e.Index.Place < 0 {
			a.c.left = append(a.c.left, e)
		}
	}
	if len(list) == 2 {
		a.c.values, err = parseTexts(list[1])
	}
	return err
}

// removed releases the unique values in other partitions that a record had.
func (t *Table) removed(ctx context.Context, a *application, word string) error {
	for _, e := range a.left {
		if e.Index.Place < 0 {
			_ = t.Claims.Release(ctx, a.c.id, e) // otherwise the next process that asks for the value takes it over
		}
	}
	if a.mode == mustBeNew {
		return nil
	}
	return t.Outcome(a.c.id, word)
}

// found reads what a record is like that is not as expected: it exists or not, its content,
// the values that were compared, and whether the digest is right.
func (t *Table) found(a *application, list []rueidis.RedisMessage) error {
	c := a.c
	there, err := list[1].AsBool()
	if err != nil {
		return err
	}
	content, err := list[2].ToString()
	if err != nil {
		return err
	}
	if a.removal != nil {
		if a.know(t, schema.Content(content)); !a.removal.refers(&a.known) {
			return errLeft
		}
	}
	switch {
	case there && a.mode == mustBeNew && c.operation == "put":
		a.mode = eitherWay
	case there && a.mode == mustBeNew:
		return errExists
	case !there && a.mode == mustExist:
		return t.Outcome(c.id, "NOTFOUND")
	}
	if there {
		values, err := parseTexts(list[3])
		if err != nil {
			return err
		}
		if sound, _ := list[4].AsInt64(); sound == 0 {
			return t.Outcome(c.id, "CONFLICT")
		}
		if v, is := strings.CutPrefix(c.expected, "v"); is && len(values) > 0 {
			if cmp.Or(values[0].Value, "0") != v {
				return t.Outcome(c.id, "CONFLICT")
			}
			values = values[1:]
		}
		if !slices.Equal(values, c.others) {
			return &otherError{values}
		}
	}
	a.know(t, schema.Content(content))
	a.digest, a.gone = true, !there
	if a.gone && c.operation == "put" {
		a.mode = mustBeNew // what is left of a record is known, and not that of one
	}
	return errAgain
}

// taken makes room for a record if the owner of its unique value has expired.
func (t *Table) taken(ctx context.Context, a *application, list []rueidis.RedisMessage) error {
	n, err := list[1].AsInt64()
	if err != nil {
		return err
	}
	owner, err := list[2].ToString()
	if err != nil {
		return err
	}
	content, err := list[3].ToString()
	if err != nil {
		return err
	}
	values := groupsOf(a.entered).all
	if n < 1 || int(n) > len(values) {
		return schema.ErrReply(nil)
	}
	its := t.parseKnown(schema.Content(content))
	taken := schema.Taken(values[n-1], owner)
	if its.due == 0 {
		return taken
	}
	gone := t.removing(owner, its.content)
	gone.mode = mustBeNew
	switch err := t.applyOnce(ctx, gone); {
	case errors.Is(err, errExists):
		// A record that has been given the id of the expired one meanwhile need not have the value.
		now, err := t.Client.Do(ctx, t.Client.B().Hget().Key(t.Layout.Of(owner).Content).Field(owner).Build()).ToString()
		if err == nil && now == content {
			return taken
		} else if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	case err != nil && !errors.Is(err, errAgain):
		return err
	}
	return errAgain
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

// determined reports whether the content of a record that is about to change follows from
// the one that it had, and from the fields that change. An entry of several columns does not
// show those that it has if one is absent; computed fields depend on any.
func (t *Table) determined() bool {
	if len(t.Schema.Fields) > len(t.Schema.Names) {
		return false
	}
	for _, x := range t.Schema.Indexes {
		for _, f := range x.FieldNumbers {
			if len(x.FieldNumbers) > 1 && t.Schema.Fields[f].Optional() {
				return false
			}
		}
	}
	return true
}
