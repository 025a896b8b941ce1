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

// Store has the records of all users. It is safe for concurrent use.
type Store struct {
	client  rueidis.Client
	changed func(uid int64)
	all     *storage.Records[Library]
}

// NewStore returns the lists of the database behind client. It is not asked until there is
// something to read. changed is called after each write, with the user whose record it was.
func NewStore(client rueidis.Client, changed func(uid int64)) *Store {
	return &Store{client: client, changed: changed, all: storage.NewRecords[Library](client, storage.ListsMeta, model.Options{
		Name: storage.ListsModel, IDs: model.ClientAssigned, Partitions: storage.ListsPartitions,
		// What a restored or damaged database has is deleted, and repaired, like any other.
		Adopt: func(id string) bool { _, ok := storage.ParseID(id); return ok },
	})}
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("social: lists: %w", err)
}

// existing returns those of the users who have a record. One round trip.
func (s *Store) existing(ctx context.Context, uids ...int64) ([]int64, error) {
	exists := func(uid int64) rueidis.Completed { return s.client.B().Exists().Key(storage.ListsKey(uid)).Build() }
	has, err := reads.Many(ctx, s.client, uids, exists, rueidis.RedisResult.AsBool)
	if err != nil {
		return nil, failed(err)
	}
	var there []int64
	for i, uid := range uids {
		if has[i] {
			there = append(there, uid)
		}
	}
	return there, nil
}

// Get returns the record of a user, an empty one where there is none. Two round trips at
// most.
func (s *Store) Get(ctx context.Context, uid int64) (Library, error) {
	there, err := s.existing(ctx, uid)
	if err != nil || len(there) == 0 {
		return Library{ID: uid}, err
	}
	all, err := s.all.Open(ctx)
	if err != nil {
		return Library{}, err
	}
	one, err := all.Get(ctx, storage.Itoa(uid))
	if errors.Is(err, model.ErrNotFound) {
		return Library{ID: uid}, nil
	}
	return one, failed(err)
}

// update changes the record of a user, which it makes where there is none. An error of change
// ends it with nothing written. change may be called more than once.
func (s *Store) update(ctx context.Context, uid int64, change func(*Library) error) error {
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	own := error(nil) // of change
	apply := func(one *Library) error {
		if own = change(one); own == nil {
			one.LeftOut = one.leftOut()
		}
		return own
	}
	defer s.changed(uid)
	for {
		_, err = all.Update(ctx, storage.Itoa(uid), apply)
		if errors.Is(err, model.ErrNotFound) {
			one := Library{ID: uid}
			if err = apply(&one); err == nil {
				_, err = all.Create(ctx, one)
			}
		}
		switch {
		case own != nil:
			return own
		case !errors.Is(err, model.ErrTaken): // it was made meanwhile
			return failed(err)
		}
	}
}

// errNothing ends an update that has nothing to change.
var errNothing = errors.New("social: nothing to change")

// RemoveMembers takes those who match off the lists of these users. It can be repeated. Two
// round trips, one for users without lists, and two more for a user who has somebody like that.
func (s *Store) RemoveMembers(ctx context.Context, owners []int64, gone func(owner, member int64) bool) error {
	there, err := s.existing(ctx, owners...)
	if err != nil || len(there) == 0 {
		return err
	}
	all, err := s.all.Open(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(there))
	for i, uid := range there {
		ids[i] = storage.Itoa(uid)
	}
	found, err := all.GetMany(ctx, ids...)
	if err != nil && !storage.IsDamaged(err) { // nobody is on lists that cannot be read; a check reports them
		return failed(err)
	}
	for _, one := range found {
		isGone := func(member int64) bool { return gone(one.ID, member) }
		if !one.has(isGone) {
			continue
		}
		err := s.update(ctx, one.ID, func(one *Library) error {
			if !one.remove(isGone) {
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

// Separate takes two users off each other's lists, after a block. It can be repeated. One
// round trip where neither has lists.
func (s *Store) Separate(ctx context.Context, one, other int64) error {
	return s.RemoveMembers(ctx, []int64{one, other}, func(owner, member int64) bool {
		return member != owner && (member == one || member == other)
	})
}

// Forget deletes all that a user has. It can be repeated.
func (s *Store) Forget(ctx context.Context, uid int64) error {
	there, err := s.existing(ctx, uid)
	if err != nil || len(there) == 0 {
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

// Rewrite writes what follows from the lists of a user once more: the members who are left out
// of the home timeline. It reports whether there is a record.
func (s *Store) Rewrite(ctx context.Context, uid int64) (bool, error) {
	there, err := s.existing(ctx, uid)
	if err != nil || len(there) == 0 {
		return false, err
	}
	return true, s.update(ctx, uid, func(*Library) error { return nil })
}

// Findings compares the records with what package model keeps of them.
func (s *Store) Findings(ctx context.Context) iter.Seq2[storage.Finding, error] {
	return func(yield func(storage.Finding, error) bool) { s.all.FindModel(ctx, "lists", yield) }
}
