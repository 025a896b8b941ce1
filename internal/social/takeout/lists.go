package takeout

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/people"
	"retwis/internal/social/storage"
)

// exportPageSize is how many entries of a list are read at a time.
const exportPageSize = 200

// exportPost is a post as stored in its hash.
type exportPost struct {
	id   int64
	hash []string // in the order of postFields
}

var postFields = []string{"user_id", "deleted", "repost_of", "time", "body", "edited", "replies", "reposts", "likes", "parent", "root"}

func (p exportPost) time() time.Time   { return storage.ParseTime(p.hash[3]) }
func (p exportPost) text() string      { return p.hash[4] }
func (p exportPost) edited() time.Time { return storage.ParseTime(p.hash[5]) }

// number returns a numeric field, or nil if the field has no number.
func (p exportPost) number(field int) any {
	if n, err := strconv.ParseInt(p.hash[field], 10, 64); err == nil {
		return n
	}
	return nil
}

// count returns a counter field.
func (p exportPost) count(field int) int64 {
	n, _ := strconv.ParseInt(p.hash[field], 10, 64)
	return max(n, 0)
}

func (e *exporter) posts(ctx context.Context, yield func(row ...any) error) error {
	return e.eachPost(ctx, []string{storage.ArchivePrefix, storage.ProfilePrefix}, func(p exportPost) error {
		if p.hash[2] != "" || p.hash[9] != "" {
			return nil
		}
		return yield(p.id, p.time(), p.text(), p.edited(), p.count(6), p.count(7), p.count(8))
	})
}

func (e *exporter) replies(ctx context.Context, yield func(row ...any) error) error {
	return e.eachPost(ctx, []string{storage.ArchivePrefix, storage.ProfileRepliesPrefix}, func(p exportPost) error {
		if p.hash[9] == "" {
			return nil
		}
		return yield(p.id, p.time(), p.text(), p.edited(), p.number(9), p.number(10), p.count(6), p.count(7), p.count(8))
	})
}

func (e *exporter) reposts(ctx context.Context, yield func(row ...any) error) error {
	return e.eachPage(ctx, storage.ProfilePrefix, func(page []exportPost) error {
		var originals []string
		for _, p := range page {
			originals = append(originals, p.hash[2])
		}
		authors, err := e.authors(ctx, originals)
		if err != nil {
			return err
		}
		for i, p := range page {
			if p.hash[2] == "" {
				continue
			}
			if err := yield(p.id, p.time(), p.number(2), authors[i], e.address(p.hash[2], authors[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// edits lists the earlier texts of posts and replies, at most 50 each, latest first.
func (e *exporter) edits(ctx context.Context, yield func(row ...any) error) error {
	return e.eachPost(ctx, []string{storage.ArchivePrefix, storage.ProfilePrefix, storage.ProfileRepliesPrefix}, func(p exportPost) error {
		if p.hash[5] == "" {
			return nil
		}
		edits, err := reply.OrEmpty(e.client.Do(ctx, e.client.B().Lrange().Key(storage.EditsKey(p.id)).Start(0).Stop(-1).Build()).AsStrSlice())
		if err != nil {
			return err
		}
		for _, edit := range edits {
			at, text, _ := strings.Cut(edit, " ")
			if err := yield(p.id, storage.ParseTime(at), text); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPost calls visit with the user's own posts on some lists, one list after the other.
func (e *exporter) eachPost(ctx context.Context, prefixes []string, visit func(p exportPost) error) error {
	for _, prefix := range prefixes {
		err := e.eachPage(ctx, prefix, func(page []exportPost) error {
			for _, p := range page {
				if err := visit(p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachPage calls visit with pages of the user's own posts, oldest first. The cursor is the last ID,
// so posts that are added or removed in the meantime do not affect others.
func (e *exporter) eachPage(ctx context.Context, prefix string, visit func(page []exportPost) error) error {
	for last := int64(0); ; {
		ids, err := reply.OrEmpty(e.client.Do(ctx, e.client.B().Zrangebyscore().Key(storage.Key(prefix, e.uid)).
			Min("("+storage.Itoa(last)).Max("+inf").Limit(0, exportPageSize).Build()).AsStrSlice())
		if err != nil || len(ids) == 0 {
			return err
		}
		hashes, err := reads.Fields(ctx, e.client, ids, postKey, postFields...)
		if err != nil {
			return err
		}
		page := make([]exportPost, 0, len(ids))
		before := last
		for i, fields := range hashes {
			id, ok := storage.ParseID(ids[i])
			last = max(last, id)
			if ok && fields[0] == storage.Itoa(e.uid) && fields[1] == "" {
				page = append(page, exportPost{id: id, hash: fields})
			}
		}
		if err := visit(page); err != nil {
			return err
		}
		if last == before {
			return nil // damaged: the scores are not the IDs
		}
	}
}

// authors returns the names of the authors of posts, empty if unknown.
func (e *exporter) authors(ctx context.Context, posts []string) ([]string, error) {
	ids, err := reads.Field(ctx, e.client, posts, postKey, "user_id")
	if err != nil {
		return nil, err
	}
	return e.names(ctx, ids)
}

func postKey(id string) string { return storage.PostPrefix + id }

// marked lists the posts that the user has liked, or saved.
func (e *exporter) marked(prefix string) func(ctx context.Context, yield func(row ...any) error) error {
	return func(ctx context.Context, yield func(row ...any) error) error {
		return e.eachEntry(ctx, prefix, func(ids []string, scores []float64) error {
			authors, err := e.authors(ctx, ids)
			if err != nil {
				return err
			}
			for i, text := range ids {
				if id, ok := storage.ParseID(text); ok {
					if err := yield(id, author(authors[i]), seconds(scores[i]), e.address(text, authors[i])); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// address returns the address of a post, or nil if it is gone.
func (e *exporter) address(post, author string) any {
	if author == "" {
		return nil
	}
	return e.site + "/u/" + author + "/" + post
}

// author returns the name of an author, or nil for a post that is gone.
func author(name string) any {
	if name == "" {
		return nil
	}
	return name
}

// people lists the users in a set scored by a time; inf means none.
func (e *exporter) people(prefix string) func(ctx context.Context, yield func(row ...any) error) error {
	return e.peopleAfter(prefix, math.Inf(-1))
}

// unexpired lists the people in a sorted set scored by an end, without those whose end has passed.
func (e *exporter) unexpired(prefix string) func(ctx context.Context, yield func(row ...any) error) error {
	return e.peopleAfter(prefix, float64(e.now.Unix()))
}

// peopleAfter lists the people whose scores are above the given one.
func (e *exporter) peopleAfter(prefix string, score float64) func(ctx context.Context, yield func(row ...any) error) error {
	return func(ctx context.Context, yield func(row ...any) error) error {
		return e.eachEntry(ctx, prefix, func(ids []string, scores []float64) error {
			if prefix == storage.MutedPrefix || prefix == storage.DismissedPrefix {
				var err error
				if ids, scores, err = e.withoutBlockers(ctx, ids, scores); err != nil {
					return err
				}
			}
			names, err := e.names(ctx, ids)
			if err != nil {
				return err
			}
			for i, name := range names {
				if name != "" && scores[i] > score {
					if err := yield(name, seconds(scores[i])); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// withoutBlockers removes users who have blocked the user, because the user must not see them.
func (e *exporter) withoutBlockers(ctx context.Context, ids []string, scores []float64) (keptIDs []string, keptScores []float64, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	b := e.client.B()
	ends, err := e.client.Do(ctx, b.Zmscore().Key(storage.BlockersKey(e.uid)).Member(ids...).Build()).ToArray()
	if err != nil {
		return nil, nil, err
	}
	for i, id := range ids {
		if end, err := ends[i].AsFloat64(); err == nil && end > float64(e.now.Unix()) {
			continue
		}
		keptIDs, keptScores = append(keptIDs, id), append(keptScores, scores[i])
	}
	return keptIDs, keptScores, nil
}

func (e *exporter) tags(ctx context.Context, yield func(row ...any) error) error {
	return e.eachEntry(ctx, storage.FollowingTagsPrefix, func(tags []string, scores []float64) error {
		for i, tag := range tags {
			if err := yield("#"+tag, seconds(scores[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachEntry calls visit with pages of a sorted set of the user, latest first.
func (e *exporter) eachEntry(ctx context.Context, prefix string, visit func(members []string, scores []float64) error) error {
	for after := storage.FirstPage; ; {
		entries, err := reply.OrEmpty(e.follows.Page(ctx, storage.Key(prefix, e.uid), after, exportPageSize))
		if err != nil {
			return err
		}
		var members []string
		var scores []float64
		for i := 0; i+1 < len(entries); i += 2 {
			after = storage.Cursor{Since: entries[i+1], ID: entries[i]}
			score, err := strconv.ParseFloat(entries[i+1], 64)
			if err != nil {
				continue
			}
			members, scores = append(members, entries[i]), append(scores, score)
		}
		if err := visit(members, scores); err != nil {
			return err
		}
		if len(entries) < 2*exportPageSize {
			return nil
		}
	}
}

// seconds returns the time of a score, or the zero time if the score is not a time.
func seconds(score float64) time.Time {
	if math.IsInf(score, 0) || score <= 0 || score > storage.MaxSeconds {
		return time.Time{}
	}
	return time.Unix(int64(score), 0).UTC()
}

// loginPlaces lists the stored addresses of the user.
func (e *exporter) loginPlaces(ctx context.Context, yield func(row ...any) error) error {
	places, err := reply.OrEmpty(e.client.Do(ctx, e.client.B().Zrange().Key(storage.LoginPlacesKey(e.uid)).Min("0").Max("-1").Rev().Withscores().Build()).AsZScores())
	if err != nil {
		return err
	}
	for _, place := range places {
		if err := yield(place.Member, time.Unix(int64(place.Score), 0).UTC()); err != nil {
			return err
		}
	}
	return nil
}

// library reads the lists and saved searches as they are stored.
func (e *exporter) library(ctx context.Context) (all people.Library, err error) {
	fields, err := reply.Fields(e.client.Do(ctx, e.client.B().Hmget().Key(storage.ListsKey(e.uid)).Field("lists", "searches").Build()))
	if err != nil {
		return all, err
	}
	for i, to := range []any{&all.Lists, &all.Searches} {
		_ = json.Unmarshal([]byte(fields[i]), to) // damaged fields count as empty: a check reports them
	}
	return all, nil
}

// userLists lists the lists of people that the user has made.
func (e *exporter) userLists(ctx context.Context, yield func(row ...any) error) error {
	all, err := e.library(ctx)
	if err != nil {
		return err
	}
	for _, list := range all.Lists {
		ids := make([]string, len(list.Members))
		for i, uid := range list.Members {
			ids[i] = storage.Itoa(uid)
		}
		names, err := e.names(ctx, ids)
		if err != nil {
			return err
		}
		leftOut := ""
		if list.LeftOut {
			leftOut = "yes"
		}
		if err := yield(list.Name, time.Unix(list.Created, 0).UTC(), leftOut, names); err != nil {
			return err
		}
	}
	return nil
}

// searches lists the searches that the user has saved.
func (e *exporter) searches(ctx context.Context, yield func(row ...any) error) error {
	all, err := e.library(ctx)
	if err != nil {
		return err
	}
	for _, search := range all.Searches {
		if err := yield(search.Query, time.Unix(search.Created, 0).UTC()); err != nil {
			return err
		}
	}
	return nil
}
