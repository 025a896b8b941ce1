package search

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redis/reads"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

var (
	//go:embed searched.lua
	searchedSource string
	searchedScript = script.New(searchedSource).Retryable()
)

// People is the index of users' names and bios. It is safe for concurrent use.
//
// The field `searched` of a user holds the text that the index has. A new text is added to the
// field before it is indexed, so that the process that finishes an interrupted change finds both
// texts.
type People struct {
	lazyIndex
	tasks *work.Engine
}

// personKind is the kind of tasks that make the index agree with a user: "person:<uid>".
const personKind = "person"

// NewPeople returns the index of the database of client. Its changes are tasks. NewPeople sends no
// commands.
func NewPeople(client rueidis.Client, tasks *work.Engine) *People {
	x := &People{lazyIndex: lazyIndex{client: client, key: PeopleKey}, tasks: tasks}
	tasks.Handle(personKind, x.personTask)
	return x
}

// Change calls change, which changes the name or the bio of a user, and makes the index agree with
// the user. An interrupted change is finished in the background.
func (x *People) Change(ctx context.Context, uid int64, change func() error) error {
	return x.tasks.Do(ctx, personKind+":"+storage.Itoa(uid), func(context.Context) error { return change() }, nil)
}

func (x *People) personTask(ctx context.Context, argument string) error {
	uid, ok := storage.ParseID(argument)
	if !ok {
		return nil
	}
	return x.Update(ctx, uid)
}

// person is a user as seen by the index.
type person struct {
	id       int64
	text     string   // the text that the index should have; empty for none
	recorded string   // the field `searched`
	texts    []string // the texts in recorded
}

// separator separates the texts in `searched`. It occurs in no text.
const separator = "\x00"

// read returns the given users who exist. One round trip.
func (x *People) read(ctx context.Context, ids []int64) ([]person, error) {
	all, err := reads.Fields(ctx, x.client, ids, storage.UserKey, "username", "display_name", "bio", "standing", "searched")
	if err != nil {
		return nil, fmt.Errorf("social: read a user: %w", err)
	}
	people := make([]person, 0, len(ids))
	for i, fields := range all {
		if fields[0] == "" {
			continue
		}
		p := person{id: ids[i], recorded: fields[4]}
		if p.recorded != "" {
			p.texts = strings.Split(p.recorded, separator)
		}
		if fields[3] != storage.Closed {
			p.text = personText(fields[:3])
		}
		people = append(people, p)
	}
	return people, nil
}

// personText returns the indexed text of a user: username, display name and bio.
func personText(fields []string) string {
	all := strings.TrimRight(strings.Join(fields, "\n"), "\n")
	return strings.ToValidUTF8(strings.ReplaceAll(all[:min(len(all), maxText)], separator, " "), "")
}

// record sets `searched`. It returns false if another process has changed the field meanwhile.
func (x *People) record(ctx context.Context, p person, texts ...string) (bool, error) {
	ok, err := searchedScript.RunFenced(ctx, x.client, []string{storage.UserKey(p.id)}, []string{p.recorded, strings.Join(texts, separator)}).AsBool()
	if err != nil {
		return false, fmt.Errorf("social: change the search index: %w", err)
	}
	return ok, nil
}

// maxUpdates limits how often Update starts because other processes change the same user.
const maxUpdates = 20

// Update makes the index agree with a user. It can be repeated. About five round trips.
func (x *People) Update(ctx context.Context, uid int64) error {
	var written []string // by this call
	for range maxUpdates {
		people, err := x.read(ctx, []int64{uid})
		if err != nil || len(people) == 0 {
			return err
		}
		p := people[0]
		known := append(slices.Clone(p.texts), written...)
		if len(known) == 1 && known[0] == p.text || len(known) == 0 && p.text == "" {
			return nil
		}
		if p.text != "" && !slices.Contains(p.texts, p.text) {
			texts := append([]string{p.text}, p.texts...)
			if ok, err := x.record(ctx, p, texts...); err != nil {
				return err
			} else if !ok {
				continue
			}
			p.texts, p.recorded = texts, strings.Join(texts, separator)
		}
		if err := x.write(ctx, p, known); errors.Is(err, text.ErrConflict) {
			continue
		} else if err != nil {
			return err
		}
		if written = append(written, p.text); p.text == "" {
			_, err := x.record(ctx, p)
			return err
		}
		if ok, err := x.record(ctx, p, p.text); err != nil || ok {
			return err
		}
	}
	return fmt.Errorf("social: the search index has a different text for user %d: %w", uid, text.ErrConflict)
}

// write indexes the text of a user. known are the texts that the index may have now.
func (x *People) write(ctx context.Context, p person, known []string) error {
	documents := make([]text.Document, len(known))
	for i, t := range known {
		documents[i] = text.Document{Text: t}
	}
	return x.do(ctx, func(idx *text.Index) error {
		if p.text == "" {
			return remove(ctx, idx, p.id, documents)
		}
		return replace(ctx, idx, p.id, text.Document{Text: p.text}, documents)
	})
}

// PutMany adds new users. Two round trips for about a hundred.
func (x *People) PutMany(ctx context.Context, ids []int64) error {
	var readErr error
	err := x.do(ctx, func(idx *text.Index) error {
		_, err := idx.PutMany(ctx, func(yield func(int64, text.Document) bool) {
			for o, err := range objects(ctx, pages(ids), x.source(true).Lookup) {
				id, _ := storage.ParseID(o.ID)
				if readErr = err; err != nil || !yield(id, o.Value) {
					return
				}
			}
		})
		return err
	})
	return cmp.Or(readErr, err)
}

// Search returns a page of the IDs of users, largest first.
func (x *People) Search(ctx context.Context, q text.Query) (r text.Result, err error) {
	err = x.do(ctx, func(idx *text.Index) error {
		r, err = idx.Search(ctx, q)
		return err
	})
	return r, err
}

// source returns the source of all users who are not being deleted. If record is set, the source
// records their texts as indexed, for a rebuild, which then indexes them.
func (x *People) source(record bool) index.Source[text.Document] {
	return sourceOf(x.client, storage.NextUserID, storage.UserPrefix, func(ctx context.Context, ids []int64) ([]index.Object[text.Document], error) {
		people, err := x.read(ctx, ids)
		if err == nil && record {
			err = x.recordAll(ctx, people)
		}
		all := make([]index.Object[text.Document], 0, len(people))
		for _, p := range people {
			if p.text != "" {
				all = append(all, index.Object[text.Document]{ID: storage.Itoa(p.id), Value: text.Document{Text: p.text}})
			}
		}
		return all, err
	})
}

// recordAll records that the index may have the current texts of users. One round trip.
func (x *People) recordAll(ctx context.Context, people []person) error {
	var calls []script.Call
	for _, p := range people {
		if p.text != "" && !slices.Contains(p.texts, p.text) {
			texts := append([]string{p.text}, p.texts...)
			calls = append(calls, script.Call{Keys: []string{storage.UserKey(p.id)}, Args: []string{p.recorded, strings.Join(texts, separator)}})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	for _, res := range searchedScript.RunMany(ctx, x.client, calls) {
		if err := res.Error(); err != nil {
			return fmt.Errorf("social: change the search index: %w", err)
		}
	}
	return nil
}
