package people

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/social/storage"

	"retwis/model"
)

// Store stores the records of all users. It is safe for concurrent use.
type Store struct {
	client  rueidis.Client
	changed func(uid int64)
	all     *storage.Records[Library]
}

// NewStore returns the Store of the database of client. It sends no command before the first read.
// changed is called after each write, with the user whose record was written.
func NewStore(client rueidis.Client, changed func(uid int64)) *Store {
	return &Store{client: client, changed: changed, all: storage.NewRecords[Library](client, storage.ListsMeta, model.Options{
		Name: storage.ListsModel, IDs: model.ClientAssigned, Partitions: storage.ListsPartitions,
		// The records of a restored or damaged database can be deleted and repaired like any other
		// records.
		Adopt: func(id string) bool { _, ok := storage.ParseID(id); return ok },
	})}
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: lists: %w", err)
}

// existing returns the given users who have a record. One round trip.
func (s *Store) existing(ctx context.Context, uids ...int64) ([]int64, error) {
	exists := func(uid int64) rueidis.Completed { return s.client.B().Exists().Key(storage.ListsKey(uid)).Build() }
	hasRecord, err := reads.Many(ctx, s.client, uids, exists, rueidis.RedisResult.AsBool)
	if err != nil {
		return nil, failed(err)
	}
	var present []int64
	for i, uid := range uids {
		if hasRecord[i] {
			present = append(present, uid)
		}
	}
	return present, nil
}

// Get returns the record of a user, or an empty record. At most two round trips.
func (s *Store) Get(ctx context.Context, uid int64) (Library, error) {
	present, err := s.existing(ctx, uid)
	if err != nil || len(present) == 0 {
		return Library{ID: uid}, err
	}
	all, err := s.all.Open(ctx)
	if err != nil {
		return Library{}, err
	}
	library, err := all.Get(ctx, storage.Itoa(uid))
	if errors.Is(err, model.ErrNotFound) {
		return Library{ID: uid}, nil
	}
	return library, failed(err)
}

// update changes the record of a user, and creates it if necessary. If change returns an error,
// nothing is written. change may be called more than once.
func (s *Store) update(ctx context.Context, uid int64, change func(*Library) error) error {
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	changeErr := error(nil) // the error of change
	apply := func(library *Library) error {
		if changeErr = change(library); changeErr == nil {
			library.LeftOut = library.leftOut()
		}
		return changeErr
	}
	defer s.changed(uid)
	for {
		_, err = all.Update(ctx, storage.Itoa(uid), apply)
		if errors.Is(err, model.ErrNotFound) {
			library := Library{ID: uid}
			if err = apply(&library); err == nil {
				_, err = all.Create(ctx, library)
			}
		}
		switch {
		case changeErr != nil:
			return changeErr
		case !errors.Is(err, model.ErrTaken): // otherwise the record was created in the meantime
			return failed(err)
		}
	}
}

// errNothing ends an update that changes nothing.
var errNothing = errors.New("social: nothing to change")

// RemoveMembers removes matching users from the lists of these owners. It can be repeated. Two
// round trips, one if no owner has lists, and two more for each owner with matching members.
func (s *Store) RemoveMembers(ctx context.Context, owners []int64, gone func(owner, member int64) bool) error {
	present, err := s.existing(ctx, owners...)
	if err != nil || len(present) == 0 {
		return err
	}
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(present))
	for i, uid := range present {
		ids[i] = storage.Itoa(uid)
	}
	found, err := all.GetMany(ctx, ids...)
	if err != nil && !storage.IsDamaged(err) { // a check reports unreadable lists
		return failed(err)
	}
	for _, library := range found {
		isGone := func(member int64) bool { return gone(library.ID, member) }
		if !library.has(isGone) {
			continue
		}
		err := s.update(ctx, library.ID, func(library *Library) error {
			if !library.remove(isGone) {
				return errNothing
			}
			return nil
		})
		if err != nil && !errors.Is(err, errNothing) {
			return err
		}
	}
	return nil
}

// Separate removes two users from each other's lists, after a block. It can be repeated. One round
// trip if neither has lists.
func (s *Store) Separate(ctx context.Context, user, other int64) error {
	return s.RemoveMembers(ctx, []int64{user, other}, func(owner, member int64) bool {
		return member != owner && (member == user || member == other)
	})
}

// Forget deletes the record of a user. It can be repeated.
func (s *Store) Forget(ctx context.Context, uid int64) error {
	present, err := s.existing(ctx, uid)
	if err != nil || len(present) == 0 {
		return err
	}
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	defer s.changed(uid)
	err = all.Delete(ctx, storage.Itoa(uid))
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return failed(err)
}

// Rewrite recomputes the members omitted from the home timeline from the lists of a user. It
// reports whether there is a record.
func (s *Store) Rewrite(ctx context.Context, uid int64) (bool, error) {
	present, err := s.existing(ctx, uid)
	if err != nil || len(present) == 0 {
		return false, err
	}
	return true, s.update(ctx, uid, func(*Library) error { return nil })
}

// Findings compares the records with the bookkeeping of package model.
func (s *Store) Findings(ctx context.Context) iter.Seq2[storage.Finding, error] {
	return func(yield func(storage.Finding, error) bool) { s.all.FindModel(ctx, "lists", yield) }
}
