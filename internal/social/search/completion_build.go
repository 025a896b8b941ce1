package search

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/suggest"
	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"

	"retwis/maintain"
)

const (
	// completionStep is the number of users or tags that are read at a time.
	completionStep = 500
	// completionsBuilt is the value of `completions` when both indexes are complete.
	completionsBuilt = "1"
)

// Build fills the indexes of a database that predates them, or after bulk loading. It does nothing
// if the indexes are complete; after a crash, a later call starts again. It works in steps of 500
// users or tags.
func (x *CompletionIndex) Build(ctx context.Context) error {
	state, err := reply.Text(x.client.Do(ctx, x.client.B().Get().Key(storage.Completions).Build()))
	if err != nil {
		return fmt.Errorf("social: build completions: %w", err)
	}
	if state == completionsBuilt {
		return nil
	}
	for _, part := range []struct {
		index *suggest.Index
		terms iter.Seq2[suggest.Suggestion, error]
	}{{x.names, x.allNames(ctx)}, {x.tags, x.allTags(ctx)}} {
		var batch []suggest.Suggestion
		write := func() error {
			_, err := part.index.PutMany(ctx, slices.Values(batch))
			batch = batch[:0]
			return err
		}
		for term, err := range part.terms {
			if err != nil {
				return err
			}
			if batch = append(batch, term); len(batch) >= 4*completionStep {
				if err := write(); err != nil {
					return fmt.Errorf("social: build completions: %w", err)
				}
			}
		}
		if err := write(); err != nil {
			return fmt.Errorf("social: build completions: %w", err)
		}
	}
	return x.finish(ctx)
}

// Rebuild rebuilds both indexes from the users and the tags, for repairs.
func (x *CompletionIndex) Rebuild(ctx context.Context) error {
	if _, err := x.names.Rebuild(ctx, x.allNames(ctx), maintain.Options{}); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	if _, err := x.tags.Rebuild(ctx, x.allTags(ctx), maintain.Options{}); err != nil {
		return fmt.Errorf("social: %w", err)
	}
	return x.finish(ctx)
}

// finish records that both indexes are complete.
func (x *CompletionIndex) finish(ctx context.Context) error {
	if err := x.client.Do(ctx, x.client.B().Set().Key(storage.Completions).Value(completionsBuilt).Build()).Error(); err != nil {
		return fmt.Errorf("social: build completions: %w", err)
	}
	return nil
}

// Outdate makes the next Build fill the indexes again. Bulk loading calls it.
func Outdate(ctx context.Context, client rueidis.Client) error {
	if err := client.Do(ctx, client.B().Del().Key(storage.Completions).Build()).Error(); err != nil {
		return fmt.Errorf("social: build completions: %w", err)
	}
	return nil
}

// Restore adds a term that Missing has yielded. The term of a name has the rank of a new user until
// the next follow.
func (x *CompletionIndex) Restore(ctx context.Context, term string) error {
	if tag, ok := strings.CutPrefix(term, "#"); ok {
		return x.putTag(ctx, tag)
	}
	// Not PutName, which would also add the tails of a tail.
	return put(ctx, x.names, x.nameTerm(splitName(strings.TrimPrefix(term, "@"))), 1)
}

// Missing yields the terms of names and tags that the indexes lack, as text that begins with @ or #.
// A check reports them, and Rebuild repairs them. Missing yields nothing if the indexes have not
// been built.
func (x *CompletionIndex) Missing(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		state, err := reply.Text(x.client.Do(ctx, x.client.B().Get().Key(storage.Completions).Build()))
		if err != nil || state != completionsBuilt {
			if err != nil {
				yield("", fmt.Errorf("social: verify completions: %w", err))
			}
			return
		}
		for _, part := range []struct {
			index *suggest.Index
			terms iter.Seq2[suggest.Suggestion, error]
			shown func(term string) string
		}{
			{x.names, x.allNames(ctx), func(term string) string { return "@" + x.parseName(term).String() }},
			{x.tags, x.allTags(ctx), func(term string) string { return "#" + original(x.tags, term) }},
		} {
			var batch []string
			report := func() bool {
				found, err := part.index.GetMany(ctx, batch...)
				if err != nil {
					return yield("", fmt.Errorf("social: verify completions: %w", err))
				}
				for _, term := range batch {
					if !slices.ContainsFunc(found, func(s suggest.Suggestion) bool { return s.Term == term }) && !yield(part.shown(term), nil) {
						return false
					}
				}
				batch = batch[:0]
				return true
			}
			for term, err := range part.terms {
				if err != nil {
					yield("", err)
					return
				}
				if batch = append(batch, term.Term); len(batch) == 100 && !report() {
					return
				}
			}
			if !report() {
				return
			}
		}
	}
}

// allNames yields the terms of all users.
func (x *CompletionIndex) allNames(ctx context.Context) iter.Seq2[suggest.Suggestion, error] {
	return func(yield func(suggest.Suggestion, error) bool) {
		var ids []int64
		flush := func() bool {
			terms, err := x.termsOf(ctx, ids)
			ids = ids[:0]
			for _, term := range terms {
				if !yield(term, nil) {
					return false
				}
			}
			return err == nil || yield(suggest.Suggestion{}, err)
		}
		for page, err := range storage.NewDirectory(x.client).All(ctx, completionStep) {
			if err != nil {
				yield(suggest.Suggestion{}, fmt.Errorf("social: list users: %w", err))
				return
			}
			for i := 1; i < len(page.Names); i += 2 {
				if id, ok := storage.ParseID(page.Names[i]); ok {
					ids = append(ids, id)
				}
			}
			if len(ids) >= completionStep && !flush() {
				return
			}
		}
		flush()
	}
}

// termsOf returns the terms of users, except users whose account is being deleted.
func (x *CompletionIndex) termsOf(ctx context.Context, ids []int64) ([]suggest.Suggestion, error) {
	b := x.client.B()
	cmds := make(rueidis.Commands, 0, 2*len(ids))
	for _, id := range ids {
		cmds = append(cmds,
			b.Hmget().Key(storage.UserKey(id)).Field("username", "display_name", "standing").Build(),
			b.Zcard().Key(storage.FollowersKey(id)).Build())
	}
	res := x.client.DoMulti(ctx, cmds...)
	var terms []suggest.Suggestion
	for i := range ids {
		fields, err := reply.Fields(res[2*i])
		if err != nil {
			return terms, fmt.Errorf("social: read a user: %w", err)
		}
		followers, err := reply.OrEmpty(res[2*i+1].AsInt64())
		if err != nil {
			return terms, fmt.Errorf("social: read a user: %w", err)
		}
		if fields[0] == "" || fields[2] == storage.Closed {
			continue
		}
		found := x.nameTerms(Name{Username: fields[0]})
		if fields[1] != "" {
			found = append(found, x.nameTerms(Name{Username: fields[0], Display: fields[1]})...)
		}
		terms = append(terms, suggestions(found, followers+1)...)
	}
	return terms, nil
}

// allTags yields the terms of all tags that posts have.
func (x *CompletionIndex) allTags(ctx context.Context) iter.Seq2[suggest.Suggestion, error] {
	return func(yield func(suggest.Suggestion, error) bool) {
		for page, err := range scan.Keys(ctx, x.client, scan.Pattern{Match: storage.TagPrefix + "*", Count: completionStep}) {
			if err != nil {
				yield(suggest.Suggestion{}, fmt.Errorf("social: list tags: %w", err))
				return
			}
			counts, err := reads.Counts(ctx, x.client, page.Keys, func(key string) string { return key })
			if err != nil {
				yield(suggest.Suggestion{}, fmt.Errorf("social: list tags: %w", err))
				return
			}
			for i, n := range counts {
				tag := strings.TrimPrefix(page.Keys[i], storage.TagPrefix)
				if folded, ok := text.FoldTag(tag); n == 0 || !ok || folded != tag {
					continue
				}
				s := suggest.Suggestion{Term: distinct(x.tags, tag), Count: n}
				if x.tags.Check(s) == nil && !yield(s, nil) {
					return
				}
			}
		}
	}
}
