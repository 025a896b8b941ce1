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
	operation   string // create, save or put
	now         int64  // estimated time of the server for this write; 0: not used
	id          string
	expected    string   // for save: "", v and the version, or d and the digest of checked; "+": increment the version
	checked     []string // names of the fields in the digest
	due         int64    // time of expiry in milliseconds, or 0
	content     schema.Content
	entries     []schema.Entry
	watched     []int          // for save and put: fields that the content depends on, and that other writers change without a new version
	watchedText []schema.Text  // expected values of watched
	set         []string       // names and values
	setNew      []string       // more names and values, if the record is new
	remove      []string       // names
	token       string         // token of the claims, with several partitions
	claimed     []unique.Claim // unique values claimed for the record
	released    []schema.Entry // after the write: the released unique values in other partitions
	returned    []int          // numbers of the fields to return after the write
	values      []schema.Text  // values of returned
	stored      *known         // the current entries of the record, if known
	byContent   bool           // compare the digest only if the content differs from stored
	references  []reference    // references to records in the same slot that must exist
}

// known holds the index entries of a stored record, as read by the caller.
type known struct {
	content schema.Content
	due     int64
	entries []schema.Entry      // entries of the indexes that the caller declares
	carried []schema.IndexValue // entries of other indexes, which are kept
}

// parseKnown parses a content. As in scripts, damaged content has no entries.
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

// knownOf derives the entries of a record from its stored fields, or returns nil if fields must
// be computed or are unreadable.
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

// packed returns the new content, with the carried entries.
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

// The modes of apply.lua: whether the record must exist.
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
	gone    bool           // the record does not exist: other records may have its former entries by now
	digest  bool           // compare the digest
	removes bool           // delete the record, or leftovers of a missing record
	force   bool           // add all entries, even entries already in the content; or delete a record that the model did not write
	keeps   bool           // keep the content, except for the time of expiry
	drops   bool           // remove entries of other indexes from the content
	aligns  bool           // keep entries that this process cannot compute
	removal *removal       // nil: no record can refer to it
	added   []schema.Entry // entries to add
	removed []schema.Entry // entries to remove
}

// setKnown sets the known content of the record.
func (a *application) setKnown(t *Table, content schema.Content) {
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

// begin returns the first application of a change.
func (t *Table) begin(c *change) *application {
	a := &application{c: c, mode: mustBeNew}
	switch c.operation {
	case "save":
		a.mode, a.digest = mustExist, !c.byContent
		if c.stored != nil {
			a.known = *c.stored
		} else {
			a.known = t.parseKnown(c.content) // assume that no index changes
		}
	case "put":
		a.mode = eitherWay
	}
	return a
}

// groups holds entries by the kind of their index, in the slot of the record.
type groups struct {
	all                      []schema.Entry // first unique, then sorted, then perValue
	unique, sorted, perValue int            // numbers of entries
}

// groupsOf groups entries by the kind of their index.
func groupsOf(entries []schema.Entry) (g groups) {
	g.all = make([]schema.Entry, 0, len(entries))
	for _, group := range []struct {
		count *int
		has   func(x *schema.Index) bool
	}{
		{&g.unique, func(x *schema.Index) bool { return x.Unique && x.Place >= 0 }},
		{&g.sorted, func(x *schema.Index) bool { return !x.Unique && !x.PerValue }},
		{&g.perValue, func(x *schema.Index) bool { return x.PerValue }},
	} {
		for _, e := range entries {
			if group.has(e.Index) {
				g.all = append(g.all, e)
				*group.count++
			}
		}
	}
	return g
}

// without returns the entries that are not in excluded.
func without(entries, excluded []schema.Entry) []schema.Entry {
	if len(excluded) == 0 {
		return entries
	}
	contains := func(e schema.Entry) bool { return slices.Contains(excluded, e) }
	if len(excluded) > 30 {
		all := make(map[schema.Entry]bool, len(excluded))
		for _, e := range excluded {
			all[e] = true
		}
		contains = func(e schema.Entry) bool { return all[e] }
	}
	var remaining []schema.Entry
	for _, e := range entries {
		if !contains(e) {
			remaining = append(remaining, e)
		}
	}
	return remaining
}

// shape holds the counts for apply.lua, in the order in which the script unpacks them.
type shape struct {
	mode, flags, references, compared, digested, returned, deleted, initial, members, guards int
	in, out                                                                                  groups
}

func (s *shape) String() string {
	b := make([]byte, 0, 32)
	for _, n := range []int{
		s.mode, s.flags, s.references, s.compared, s.digested, s.returned, s.deleted, s.initial, s.members, s.guards,
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
	if a.added, a.removed = nil, a.known.entries; !a.removes {
		a.removed = without(a.known.entries, c.entries)
		if a.added = without(c.entries, a.known.entries); a.gone || a.force {
			a.added = c.entries
		}
		content = a.known.packed(c)
	}
	if a.keeps {
		content = unknown
	}
	s := &shape{mode: a.mode, in: groupsOf(a.added), out: groupsOf(a.removed), references: len(c.references), returned: len(c.returned), deleted: len(c.remove), initial: len(c.setNew)}
	keys := append(make([]string, 0, 8+2*(len(a.added)+len(a.removed))), p.Record(c.id), p.Content, p.All, p.Meta)
	args := append(make([]string, 0, 20+len(c.set)+len(c.setNew)+len(a.added)+len(a.removed)), t.Registry.Stamp(), c.id, "", string(a.known.content), content)
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
	args = append(append(args, t.Schema.NamesOf(c.returned)...), c.remove...)
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

// unknown is the content argument of apply.lua for unchanged content.
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

// appendFlags appends optional keys and arguments.
func (t *Table) appendFlags(a *application, s *shape, p *schema.Partition, keys, args []string) (_, _ []string) {
	c := a.c
	// The known content may have been written by a declaration with an expires field that this
	// declaration lacks.
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

// appendCompared appends the fields to compare, and their expected values.
func (t *Table) appendCompared(c *change, s *shape, args []string) []string {
	var expected []string
	if v, ok := strings.CutPrefix(c.expected, "v"); ok {
		args = append(args, t.Schema.Names[t.Schema.Version])
		if v = "=" + v; v == "=0" {
			v = "" // a record without a version
		}
		expected = append(expected, v)
	}
	for i, field := range c.watched {
		args = append(args, t.Schema.Names[field])
		text := ""
		if c.watchedText[i].OK {
			text = "=" + c.watchedText[i].Value
		}
		expected = append(expected, text)
	}
	s.compared = len(expected)
	return append(args, expected...)
}

// errAgain is returned if the stored record differs from the known record. The application then
// holds the current state.
var errAgain = errors.New("the record is not as expected")

// maxApplied limits retries after a record has changed.
const maxApplied = 100

// write writes one record.
func (t *Table) write(ctx context.Context, c *change) error {
	if err := t.raise(ctx, []*change{c}); err != nil {
		return err
	}
	return t.Registry.RetryRestored(ctx, func() error { return t.applyAgain(ctx, t.begin(c), errAgain) })
}

// applyAgain runs apply.lua until the stored record equals the known record, or there is another
// error.
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

// applyOnce runs apply.lua once.
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

// applyAll runs apply.lua for several records in one pipeline, and again for stored records that
// differ from the known records.
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

// Alignment is the expected state of a record in the indexes.
type Alignment struct {
	ID      string
	Content schema.Content // current content
	Read    string         // expected fingerprint of the fields
	Due     int64
	Entries []schema.Entry
	Drops   bool // remove entries of indexes that are no longer declared
	Token   string
	Claims  []unique.Claim // claims of values in other partitions that the record does not have yet
}

// Align adds records to their indexes, whatever their contents: one pipeline. The error for a
// record that has changed since it was read is ErrConflict.
func (t *Table) Align(ctx context.Context, all []Alignment) []error {
	apps := make([]*application, len(all))
	for i, w := range all {
		c := &change{
			operation: "save", id: w.ID, expected: w.Read, checked: t.Schema.NamesOf(t.Rows.Relevant),
			due: w.Due, entries: w.Entries, content: schema.Pack(w.Due, w.Entries), token: w.Token, claimed: w.Claims,
		}
		apps[i] = &application{c: c, mode: mustExist, digest: true, force: true, aligns: true, drops: w.Drops}
		apps[i].setKnown(t, w.Content)
	}
	errs := t.applyAll(ctx, apps)
	for i, a := range apps {
		for _, e := range a.c.released {
			if errs[i] == nil {
				errs[i] = t.Claims.Release(ctx, a.c.id, e)
			}
		}
	}
	return errs
}

// checkClaimed returns an error if a record would get unique values in other partitions without
// a claim.
func (t *Table) checkClaimed(ctx context.Context, a *application) error {
	var missing []schema.Entry
	for _, e := range a.added {
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
	// A value that the content of the record already includes gets no claim.
	text, err := t.Client.Do(ctx, t.Client.B().Hget().Key(t.Layout.Of(a.c.id).Content).Field(a.c.id).Build()).ToString()
	switch {
	case err != nil && !rueidis.IsRedisNil(err):
		return t.TypeError(ctx, err)
	case text != string(a.known.content):
		a.known, a.digest = t.parseKnown(schema.Content(text)), true
		return errAgain
	case a.gone:
		return t.removeLeftovers(ctx, a)
	case len(a.c.claimed) > 0:
		return unique.ErrLate
	}
	a.c.stored, a.c.byContent = &a.known, a.c.byContent && !a.digest // for the next attempt
	return &unique.Unclaimed{Entries: missing}
}

// removeLeftovers removes what is left of a record that is gone, before its values are claimed: a
// value that the leftovers have cannot be claimed.
func (t *Table) removeLeftovers(ctx context.Context, a *application) error {
	if err := t.removeGone(ctx, a.c.id, a.known.content); err != nil && !errors.Is(err, errExists) && !errors.Is(err, errAgain) {
		return err
	}
	*a = *t.begin(a.c)
	return errAgain
}

// removeGone removes the leftovers of a record that is gone. It returns errExists if the record
// exists, and errAgain if its content has changed.
func (t *Table) removeGone(ctx context.Context, id string, content schema.Content) error {
	gone := t.removing(id, content)
	gone.mode = mustBeNew
	return t.applyOnce(ctx, gone)
}

// applied handles the reply of apply.lua.
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
		return t.removeExpiredOwner(ctx, a, list)
	case word == "FOUND" && len(list) == 5:
		return t.found(a, list)
	case len(list) > 1:
		return schema.ErrReply(nil)
	}
	return t.Outcome(a.c.id, word)
}

// wrote stores the values that a write returns, and the released unique values in other
// partitions.
func (t *Table) wrote(a *application, list []rueidis.RedisMessage) (err error) {
	a.c.released, a.c.values = nil, nil
	for _, e := range a.removed {
		if e.Index.Place < 0 {
			a.c.released = append(a.c.released, e)
		}
	}
	if len(list) == 2 {
		a.c.values, err = parseTexts(list[1])
	}
	return err
}

// removed releases the unique values of a removed record in other partitions.
func (t *Table) removed(ctx context.Context, a *application, word string) error {
	for _, e := range a.removed {
		if e.Index.Place < 0 {
			_ = t.Claims.Release(ctx, a.c.id, e) // on failure, the next process that needs the value takes it over
		}
	}
	if a.mode == mustBeNew {
		return nil
	}
	return t.Outcome(a.c.id, word)
}

// found handles the reply FOUND, which has the actual state of the record: whether it exists,
// its content, the compared values, and whether the digest matches.
func (t *Table) found(a *application, list []rueidis.RedisMessage) error {
	c := a.c
	exists, err := list[1].AsBool()
	if err != nil {
		return err
	}
	content, err := list[2].ToString()
	if err != nil {
		return err
	}
	if a.removal != nil {
		if a.setKnown(t, schema.Content(content)); !a.removal.refers(&a.known) {
			return errLeft
		}
	}
	switch {
	case exists && a.mode == mustBeNew && c.operation == "put":
		a.mode = eitherWay
	case exists && a.mode == mustBeNew:
		return errExists
	case !exists && a.mode == mustExist:
		return t.Outcome(c.id, "NOTFOUND")
	}
	if exists {
		values, err := parseTexts(list[3])
		if err != nil {
			return err
		}
		if digestMatches, _ := list[4].AsInt64(); digestMatches == 0 {
			return t.Outcome(c.id, "CONFLICT")
		}
		if v, ok := strings.CutPrefix(c.expected, "v"); ok && len(values) > 0 {
			if cmp.Or(values[0].Value, "0") != v {
				return t.Outcome(c.id, "CONFLICT")
			}
			values = values[1:]
		}
		if !slices.Equal(values, c.watchedText) {
			return &watchedError{values}
		}
	}
	a.setKnown(t, schema.Content(content))
	a.digest, a.gone = true, !exists
	if a.gone && c.operation == "put" {
		a.mode = mustBeNew // the known content is that of leftovers, not of a record
	}
	return errAgain
}

// removeExpiredOwner removes the owner of a unique value if the owner has expired.
func (t *Table) removeExpiredOwner(ctx context.Context, a *application, list []rueidis.RedisMessage) error {
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
	values := groupsOf(a.added).all
	if n < 1 || int(n) > len(values) {
		return schema.ErrReply(nil)
	}
	ownerKnown := t.parseKnown(schema.Content(content))
	taken := schema.Taken(values[n-1], owner)
	if ownerKnown.due == 0 {
		return taken
	}
	switch err := t.removeGone(ctx, owner, ownerKnown.content); {
	case errors.Is(err, errExists):
		// A new record with the id of the expired one need not have the value.
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

// parseTexts parses the reply of HMGET.
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

// watchedError is returned if watched fields have changed. Nothing was written.
type watchedError struct{ values []schema.Text }

func (e *watchedError) Error() string {
	return "another writer has changed a counter or the time of expiry"
}

// Unwrap makes the error an ErrConflict.
func (e *watchedError) Unwrap() error { return schema.ErrConflict }

// determined reports whether the new content of a record follows from the old content and the
// changed fields. It does not follow if an index has several columns, one of which can be
// absent, or if a field is computed, since a computed field can depend on any field.
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
