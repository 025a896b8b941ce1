package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/i18n"
	"retwis/internal/mail"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/maintain"
	"retwis/model"
)

// Record is the address of a user: a record of storage.EmailModel.
type Record struct {
	ID      int64   `redis:",id"`            // the ID of the user
	Address *string `redis:"address,unique"` // the confirmed address, in lower case; may be nil
	Pending string  `redis:"pending"`        // the address waiting for confirmation
	Token   string  `redis:"token"`          // the digest of the confirmation link; see confirmation
	Ends    int64   `redis:"ends"`           // when the confirmation link expires, in Unix seconds
	Refused int64   `redis:"refused"`        // when the last mail was permanently refused; 0 if it was not
	Due     *int64  `redis:"due,range"`      // when the next digest is due, in Unix seconds; nil for no digests
	Since   int64   `redis:"since"`          // the time from which the digest covers notifications
	Stop    string  `redis:"stop"`           // the secret of the link that ends digests
	// Language is the tag of the language of emails (see package i18n): that of the page on which
	// the address was entered or digests were turned on.
	Language string `redis:"language"`
	Version  int64  `redis:",version"`
}

func (r Record) language() *i18n.Language {
	if l := i18n.Find(r.Language); l != nil {
		return l
	}
	return i18n.English
}

// Confirmed returns the confirmed address, or an empty string.
func (r Record) Confirmed() string {
	if r.Address == nil {
		return ""
	}
	return *r.Address
}

// Store stores the addresses of all users. It is safe for concurrent use.
type Store struct{ all *storage.Records[Record] }

// NewStore returns the Store of the database of client. It sends no command.
func NewStore(client rueidis.Client) *Store {
	return &Store{storage.NewRecords[Record](client, storage.EmailMeta, model.Options{
		Name: storage.EmailModel, IDs: model.ClientAssigned, Partitions: storage.EmailPartitions,
		// The records of a restored or damaged database can be deleted and repaired like any
		// others.
		Adopt: func(id string) bool { _, ok := storage.ParseID(id); return ok },
	})}
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: e-mail: %w", err)
}

// Get returns the record of a user, or an empty record. One or two round trips.
func (s *Store) Get(ctx context.Context, uid int64) (Record, error) {
	all, err := s.all.Existing(ctx)
	if all == nil {
		return Record{ID: uid}, err
	}
	record, err := all.Get(ctx, storage.Itoa(uid))
	if errors.Is(err, model.ErrNotFound) {
		return Record{ID: uid}, nil
	}
	return record, failed(err)
}

// owner returns the record of the user with this confirmed address, or ErrNotFound.
func (s *Store) owner(ctx context.Context, address string) (Record, error) {
	all, err := s.all.Existing(ctx)
	if err != nil {
		return Record{}, err
	}
	if all == nil {
		return Record{}, social.ErrNotFound
	}
	record, err := all.GetBy(ctx, "address", address)
	if errors.Is(err, model.ErrNotFound) {
		err = social.ErrNotFound
	}
	return record, failed(err)
}

// errSame ends an update that changes nothing.
var errSame = errors.New("social: nothing to change")

// update changes the record of a user, and creates it if necessary. If change returns an error,
// nothing is written.
func (s *Store) update(ctx context.Context, uid int64, change func(*Record) error) error {
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	for {
		var changeErr error // the error of change
		_, err = all.Update(ctx, storage.Itoa(uid), func(r *Record) error {
			changeErr = change(r)
			return changeErr
		})
		if errors.Is(err, model.ErrNotFound) {
			record := Record{ID: uid}
			if changeErr = change(&record); changeErr == nil {
				_, err = all.Create(ctx, record)
			}
		}
		var taken *model.TakenError
		switch {
		case changeErr != nil:
			return changeErr
		case errors.As(err, &taken) && taken.Field == "address":
			return errTaken
		case !errors.Is(err, model.ErrTaken): // otherwise the record was created in the meantime
			return failed(err)
		}
	}
}

// errTaken reports that the address is confirmed for another account.
var errTaken = errors.New("social: the address belongs to another account")

// move postpones the next digest of a user to the time to, if the digest is due at from. Unless
// since is 0, move sets the time from which the digest covers notifications. It returns the record,
// and whether the digest was due at from.
func (s *Store) move(ctx context.Context, uid, from, to, since int64) (moved Record, ok bool, err error) {
	err = s.update(ctx, uid, func(r *Record) error {
		if r.Due == nil || *r.Due != from {
			return errSame
		}
		r.Due, r.Since = &to, cmp.Or(since, r.Since)
		moved = *r
		return nil
	})
	if errors.Is(err, errSame) {
		return moved, false, nil
	}
	return moved, err == nil, err
}

// due returns some of the users whose digest is due, omitting those with unreadable records.
func (s *Store) due(ctx context.Context, now time.Time) ([]Record, error) {
	all, err := s.all.Existing(ctx)
	if all == nil {
		return nil, err
	}
	records, err := all.Find(model.AtMost("due", now.Unix())).OrderBy("due").Limit(digestBatch).Slice(ctx)
	if storage.IsDamaged(err) {
		err = nil // a check reports damaged records
	}
	return records, failed(err)
}

// Forget deletes the record of a user. It can be repeated.
func (s *Store) Forget(ctx context.Context, uid int64) error {
	all, err := s.all.Existing(ctx)
	if all == nil {
		return err
	}
	if err = all.Delete(ctx, storage.Itoa(uid)); errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return failed(err)
}

// All returns the records of all users.
func (s *Store) All(ctx context.Context) iter.Seq2[Record, error] {
	return s.all.Each(ctx, func(all *model.Store[Record]) iter.Seq2[Record, error] { return all.All(ctx) })
}

// Findings checks the addresses, and that their users exist.
func (s *Store) Findings(ctx context.Context, exists func(ctx context.Context, uid int64) (bool, error)) iter.Seq2[storage.Finding, error] {
	return func(yield func(storage.Finding, error) bool) {
		if !s.all.FindModel(ctx, "addresses", yield) {
			return
		}
		for r, err := range s.All(ctx) {
			if storage.IsDamaged(err) {
				continue // FindModel has reported it
			}
			f := storage.Finding{Kind: maintain.Dangling, Key: storage.EmailKey(r.ID), Repair: "remove it"}
			f.Fix = func(ctx context.Context) (bool, error) { return true, s.Forget(ctx, r.ID) }
			isThere := true
			if err == nil {
				isThere, err = exists(ctx, r.ID)
			}
			switch {
			case err != nil:
			case !isThere:
				f.Detail = fmt.Sprintf("user %d does not exist", r.ID)
				f.Fix = func(ctx context.Context) (bool, error) {
					if isThere, err := exists(ctx, r.ID); err != nil || isThere {
						return false, err
					}
					return true, s.Forget(ctx, r.ID)
				}
			case r.Address != nil && !mail.IsAddress(*r.Address):
				f.Kind, f.Detail = maintain.Invalid, "has no valid address"
			default:
				continue
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}
