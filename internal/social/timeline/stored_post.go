package timeline

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// postFields are the fields of a post that are read.
var postFields = []string{
	"user_id", "time", "body", "parent", "root", "repost_of", "edited", "deleted", "replies", "reposts", "likes", "hidden", "media", "sensitive", "to",
}

// PostCommand returns the command that reads a post. parsePost parses the reply.
func PostCommand(client rueidis.Client, id int64) rueidis.Cacheable {
	return client.B().Hmget().Key(storage.PostKey(id)).Field(postFields...).Cache()
}

// ParseAll parses the replies to PostCommand, and reads the authors. It returns a post for each ID,
// with ID 0 if the post or its author does not exist.
func ParseAll(ctx context.Context, u *storage.Users, ids []int64, results []rueidis.RedisResult) ([]social.Post, error) {
	posts := make([]social.Post, len(ids))
	var authors []int64
	seen := make(map[int64]bool)
	for i, res := range results {
		post, ok, err := parsePost(ids[i], res)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		posts[i] = post
		if !seen[post.Author.ID] {
			seen[post.Author.ID] = true
			authors = append(authors, post.Author.ID)
		}
	}
	users, err := u.ByID(ctx, authors)
	if err != nil {
		return nil, err
	}
	for i := range posts {
		author, ok := users[posts[i].Author.ID]
		if !ok {
			posts[i] = social.Post{}
		} else {
			posts[i].Author = author
		}
	}
	return posts, nil
}

// parsePost parses the hash of a post, with only the ID of the author. ok is false if the post does
// not exist, or the key has another type.
func parsePost(id int64, res rueidis.RedisResult) (post social.Post, ok bool, err error) {
	texts, err := reply.Fields(res)
	if err != nil {
		return social.Post{}, false, fmt.Errorf("social: read a post: %w", err)
	}
	author, err := strconv.ParseInt(texts[0], 10, 64)
	if err != nil {
		return social.Post{}, false, nil // missing, or not a post of Retwis
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(texts[field], 10, 64) // a damaged number counts as zero
		return max(n, 0)
	}
	hidden, message, _ := strings.Cut(texts[11], " ")
	return social.Post{
		ID: id, Author: social.User{ID: author}, Hidden: storage.ParseTime(hidden), HiddenMessage: message, Time: storage.ParseTime(texts[1]), Body: texts[2],
		Parent: number(3), To: number(14), Root: number(4), RepostOf: number(5),
		Edited: storage.ParseTime(texts[6]), Deleted: texts[7] != "", DeletedAt: storage.ParseTime(texts[7]),
		Counts: social.PostCounts{Replies: number(8), Reposts: number(9), Likes: number(10)},
		Media:  social.Media(texts[12]), Sensitive: texts[13] != "",
	}, true, nil
}
