// Package notify stores notifications: for each user a stream of the latest
// thousand or so, one short field each, about 40 bytes of the server's memory.
//
// An entry is added once and never sent again, so a crash or a lost connection
// between an action and its notification can lose the notification, but never
// makes two of it.
package notify

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/script"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// Kind is what happened, as the letter that is stored.
type Kind byte

// The kinds of notifications.
const (
	Mention Kind = 'm'
	Reply   Kind = 'r'
	Like    Kind = 'l'
	Repost  Kind = 'p'
	Follow  Kind = 'f'
)

// Kinds are all kinds, in the order in which settings list them.
func Kinds() []Kind { return []Kind{Mention, Reply, Like, Repost, Follow} }

// String returns the name of a kind, as it is stored in a user's settings.
func (k Kind) String() string {
	switch k {
	case Mention:
		return "mention"
	case Reply:
		return "reply"
	case Like:
		return "like"
	case Repost:
		return "repost"
	case Follow:
		return "follow"
	}
	return "unknown"
}

// ParseKind reads the name of a kind.
func ParseKind(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// ID is the id of an entry of a stream: the server's clock in milliseconds, and a
// number within the millisecond. The zero value is before every entry.
type ID struct{ MS, Seq int64 }

// ParseID reads an id in the form in which String writes it.
func ParseID(text string) (ID, bool) {
	ms, seq, ok := strings.Cut(text, "-")
	if !ok {
		return ID{}, false
	}
	var id ID
	var err [2]error
	id.MS, err[0] = strconv.ParseInt(ms, 10, 64)
	id.Seq, err[1] = strconv.ParseInt(seq, 10, 64)
	// A script compares ids as numbers, which are exact up to here.
	ok = err[0] == nil && err[1] == nil && id.MS >= 0 && id.MS <= layout.MaxID && id.Seq >= 0 && id.Seq <= layout.MaxID
	if !ok || id.String() != text {
		return ID{}, false
	}
	return id, true
}

func (id ID) String() string { return layout.Itoa(id.MS) + "-" + layout.Itoa(id.Seq) }

// Less reports whether an entry is older than another one.
func (id ID) Less(other ID) bool {
	return id.MS < other.MS || id.MS == other.MS && id.Seq < other.Seq
}

// Time is when the entry was added.
func (id ID) Time() time.Time { return time.UnixMilli(id.MS).UTC() }

// Entry is one notification.
type Entry struct {
	ID    ID
	Kind  Kind
	Actor int64 // the user who did it
	Post  int64 // the post of the recipient that was liked or reposted, or the reply or mention itself; 0 for a follow
}

// field is the name of the only field of an entry.
const field = "n"

func (e Entry) pack() string {
	b := make([]byte, 0, 40)
	b = append(b, byte(e.Kind), ':')
	b = strconv.AppendInt(b, e.Actor, 10)
	b = append(b, ':')
	return string(strconv.AppendInt(b, e.Post, 10))
}

func unpack(raw rueidis.XRangeEntry) (e Entry, ok bool) {
	id, ok := ParseID(raw.ID)
	parts := strings.Split(raw.FieldValues[field], ":")
	if !ok || len(parts) != 3 || len(parts[0]) != 1 || !slices.Contains(Kinds(), Kind(parts[0][0])) {
		return e, false
	}
	e = Entry{ID: id, Kind: Kind(parts[0][0])}
	if e.Actor, ok = layout.ParseID(parts[1]); !ok {
		return e, false
	}
	if e.Kind == Follow {
		return e, true
	}
	e.Post, ok = layout.ParseID(parts[2])
	return e, ok
}

var (
	//go:embed mark_read.lua
	markReadSource string
	markReadScript = script.New(markReadSource).Retryable()

	//go:embed set_off.lua
	setOffSource string
	setOffScript = script.New(setOffSource).Retryable()
)

const (
	// maxLen is about how many notifications of a user are kept.
	maxLen = "1000"
	// maxScan bounds how many entries are searched for one: more than a stream has,
	// which the server trims in blocks of a hundred.
	maxScan = 1200
	// skew is by how much the clocks of a process and of the server may differ.
	skew = time.Minute
)

// Store reads and writes notifications. Its zero value is not usable; see New.
type Store struct{ client rueidis.Client }

// New returns the notifications of a database.
func New(client rueidis.Client) Store { return Store{client: client} }

// Add adds one notification for each of these users. One round trip.
func (s Store) Add(ctx context.Context, e Entry, to ...int64) error {
	if len(to) == 0 {
		return nil
	}
	packed := e.pack()
	cmds := make(rueidis.Commands, len(to))
	for i, uid := range to {
		cmds[i] = s.client.B().Xadd().Key(layout.NotificationsKey(uid)).Maxlen().Almost().Threshold(maxLen).
			Id("*").FieldValue().FieldValue(field, packed).Build()
	}
	return reply.FirstError(s.client.DoMulti(ctx, cmds...))
}

// Remove removes the notification of what was done at about this time, or, where a
// clock is wrong, a moment ago. Repeating it changes nothing. Two round trips where
// the time is right.
func (s Store) Remove(ctx context.Context, uid int64, e Entry, at time.Time) error {
	packed := e.pack()
	key := layout.NotificationsKey(uid)
	b := s.client.B()
	near := func(early, late time.Duration) rueidis.Completed {
		from, to := at.Add(-early).UnixMilli(), at.Add(late).UnixMilli()
		return b.Xrevrange().Key(key).End(layout.Itoa(to)).Start(layout.Itoa(max(0, from))).Count(maxScan).Build()
	}
	// The time of an action is a full second, and its notification is a moment later.
	for _, look := range []func() rueidis.Completed{
		func() rueidis.Completed { return near(time.Second, 3*time.Second) },
		func() rueidis.Completed { return b.Xrevrange().Key(key).End("+").Start("-").Count(100).Build() },
		func() rueidis.Completed { return near(skew, skew) },
	} {
		entries, err := s.client.Do(ctx, look()).AsXRange()
		if err != nil {
			return fmt.Errorf("social: remove a notification: %w", err)
		}
		var ids []string
		for _, entry := range entries {
			if entry.FieldValues[field] == packed {
				ids = append(ids, entry.ID)
			}
		}
		if len(ids) > 0 {
			return s.client.Do(ctx, b.Xdel().Key(key).Id(ids...).Build().ToRetryable()).Error()
		}
	}
	return nil
}

// Page returns up to n entries before an id, the newest first; the zero id stands
// for the end of the stream. next is the id of the last entry that was read, damaged
// ones included, or zero where there are no more. One round trip.
func (s Store) Page(ctx context.Context, uid int64, before ID, n int) (entries []Entry, next ID, err error) {
	end := "+"
	if before != (ID{}) {
		end = "(" + before.String()
	}
	raw, err := s.client.Do(ctx, s.client.B().Xrevrange().Key(layout.NotificationsKey(uid)).
		End(end).Start("-").Count(int64(n)).Build()).AsXRange()
	if err != nil {
		return nil, ID{}, fmt.Errorf("social: read notifications: %w", err)
	}
	if len(raw) == n && n > 0 {
		next, _ = ParseID(raw[n-1].ID)
	}
	return parse(raw), next, nil
}

// AfterCommand reads up to n of the newest entries after an id; ParseAfter reads its
// reply.
func (s Store) AfterCommand(uid int64, seen ID, n int) rueidis.Completed {
	return s.client.B().Xrevrange().Key(layout.NotificationsKey(uid)).
		End("+").Start("(" + seen.String()).Count(int64(n)).Build()
}

// ParseAfter reads the reply to AfterCommand, the newest first. A key of another type
// has no entries.
func ParseAfter(res rueidis.RedisResult) ([]Entry, error) {
	raw, err := res.AsXRange()
	if err != nil && !rueidis.IsRedisNil(err) && !reply.IsWrongType(err) {
		return nil, fmt.Errorf("social: read notifications: %w", err)
	}
	return parse(raw), nil
}

func parse(raw []rueidis.XRangeEntry) []Entry {
	entries := make([]Entry, 0, len(raw))
	for _, one := range raw {
		if e, ok := unpack(one); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// Settings are the fields of a user about notifications.
type Settings struct {
	Off  []Kind // kinds that are off
	Seen ID     // the last entry that the user has seen
}

// SettingsCommand reads the settings of a user; ParseSettings reads its reply.
func (s Store) SettingsCommand(uid int64) rueidis.Cacheable {
	return s.client.B().Hmget().Key(layout.UserKey(uid)).Field("notify_off", "notifications_seen").Cache()
}

// ParseSettings reads the reply to SettingsCommand. What is damaged counts as not
// set.
func ParseSettings(res rueidis.RedisResult) (Settings, error) {
	fields, err := reply.Fields(res)
	if err != nil {
		return Settings{}, fmt.Errorf("social: read the settings of a user: %w", err)
	}
	var set Settings
	for name := range strings.SplitSeq(fields[0], ",") {
		if kind, ok := ParseKind(name); ok {
			set.Off = append(set.Off, kind)
		}
	}
	set.Seen, _ = ParseID(fields[1])
	return set, nil
}

// MarkRead notes that a user has seen the entries up to an id, at most the newest.
// It never goes back. Two round trips.
func (s Store) MarkRead(ctx context.Context, uid int64, upTo ID) error {
	newest, _, err := s.newest(ctx, uid)
	if err != nil {
		return err
	}
	if newest.Less(upTo) {
		upTo = newest
	}
	return s.changeUser(ctx, markReadScript, uid, layout.Itoa(upTo.MS), layout.Itoa(upTo.Seq))
}

// newest returns the id of the newest entry.
func (s Store) newest(ctx context.Context, uid int64) (ID, bool, error) {
	raw, err := s.client.Do(ctx, s.client.B().Xrevrange().Key(layout.NotificationsKey(uid)).
		End("+").Start("-").Count(1).Build()).AsXRange()
	if err != nil || len(raw) == 0 {
		return ID{}, false, err
	}
	id, ok := ParseID(raw[0].ID)
	return id, ok, nil
}

// SetOff sets which kinds are off. One round trip.
func (s Store) SetOff(ctx context.Context, uid int64, off []Kind) error {
	var names []string
	for _, kind := range Kinds() {
		if slices.Contains(off, kind) {
			names = append(names, kind.String())
		}
	}
	return s.changeUser(ctx, setOffScript, uid, strings.Join(names, ","))
}

// changeUser runs a script on the hash of a user. The reply to the PING after it
// arrives after the server's invalidation messages, so that a later read sees the
// change.
func (s Store) changeUser(ctx context.Context, change script.Script, uid int64, args ...string) error {
	key := layout.UserKey(uid)
	res := s.client.DoMulti(ctx, change.Command(s.client, []string{key}, args), s.client.B().Ping().Build().ToRetryable())
	if err := reply.FirstError(res); err != nil {
		return fmt.Errorf("social: change the settings of a user: %w", err)
	}
	return nil
}

// IsValid reports whether an entry can be read.
func IsValid(raw rueidis.XRangeEntry) bool {
	_, ok := unpack(raw)
	return ok
}
