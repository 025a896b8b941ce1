package email

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

// kind is the kind of an email.
type kind string

// The kinds of queued emails.
const (
	confirmMail kind = "confirm" // a link that confirms an address
	resetMail   kind = "reset"   // a link for a forgotten password
	warningMail kind = "warning" // the security of the account has changed
	movedMail   kind = "moved"   // the address was replaced or removed
)

// mailTTL is how long delivery of an email is attempted.
var mailTTL = map[kind]time.Duration{confirmMail: 24 * time.Hour, resetMail: time.Hour, warningMail: 24 * time.Hour, movedMail: 24 * time.Hour}

// note is a queued email, as stored under storage.MailKey. Its text is written when the email is
// sent.
type note struct {
	Kind  kind   `json:"kind"`
	User  int64  `json:"user,omitempty"`
	To    string `json:"to"`              // an address; for a forgotten password, the typed name or address
	Field string `json:"field,omitempty"` // the user's field that changes, or must not change
	Was   string `json:"was,omitempty"`   // digest of the previous value of Field
	At    int64  `json:"at"`              // in Unix seconds
}

// taskKind is the kind of the tasks: "mail:<id>". Task names are logged, so they contain no
// address.
const taskKind = "mail"

// Outbox is the queue of emails. It is safe for concurrent use.
type Outbox struct {
	client rueidis.Client
	store  *Store
	tasks  *work.Engine
	now    func() time.Time
}

// NewOutbox returns the Outbox of the database of client.
func NewOutbox(client rueidis.Client, store *Store, tasks *work.Engine, now func() time.Time) *Outbox {
	return &Outbox{client, store, tasks, now}
}

// add queues an email, and returns its task. Two round trips.
func (o *Outbox) add(ctx context.Context, n note) (member string, err error) {
	id := strings.ToLower(rand.Text())
	n.At = o.now().Unix()
	text, err := json.Marshal(n)
	if err != nil {
		return "", failed(err)
	}
	set := o.client.B().Set().Key(storage.MailKey(id)).Value(string(text)).Ex(mailTTL[n.Kind]).Build().ToRetryable()
	if err := o.client.Do(ctx, set).Error(); err != nil {
		return "", failed(err)
	}
	member = taskKind + ":" + id
	return member, o.tasks.Note(ctx, member)
}

// read returns a queued email; ok is false if the email was sent or has expired.
func (o *Outbox) read(ctx context.Context, id string) (n note, ok bool, err error) {
	text, err := o.client.Do(ctx, o.client.B().Get().Key(storage.MailKey(id)).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return note{}, false, nil
	}
	if err != nil {
		return note{}, false, failed(err)
	}
	return n, json.Unmarshal(text, &n) == nil, nil // a damaged mail is ignored
}

// remove removes an email.
func (o *Outbox) remove(ctx context.Context, id string) error {
	return failed(o.client.Do(ctx, o.client.B().Del().Key(storage.MailKey(id)).Build().ToRetryable()).Error())
}

// Begin records a warning before a field of a user changes; end sends it. It does nothing for a
// user without an address. Four round trips.
func (o *Outbox) Begin(ctx context.Context, uid int64, field string) (end func(), err error) {
	rec, err := o.store.Get(ctx, uid)
	if err != nil || rec.Address == nil {
		return func() {}, err
	}
	was, err := o.digest(ctx, uid, field)
	if err != nil {
		return nil, err
	}
	member, err := o.add(ctx, note{Kind: warningMail, User: uid, To: *rec.Address, Field: field, Was: was})
	return func() { o.tasks.Queue(member) }, err
}

// digest returns the SHA-256 of a field of a user.
func (o *Outbox) digest(ctx context.Context, uid int64, field string) (string, error) {
	value, err := reply.TextOrEmpty(o.client.Do(ctx, o.client.B().Hget().Key(storage.UserKey(uid)).Field(field).Build()))
	return digest(value), failed(err)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
