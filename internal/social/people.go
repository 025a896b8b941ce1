package social

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// People is one page of users, and the cursor of the page that follows, empty
// at the end.
type People struct {
	Users []User
	Next  string
}

// Followers returns a page of those who follow a user, the latest first.
// cursor is empty for the first page; *InvalidError tells one that was not
// made here. Two round trips at most.
func (s *Service) Followers(ctx context.Context, uid int64, cursor string, limit int) (People, error) {
	return s.people(ctx, followersKey(uid), cursor, limit)
}

// Following returns a page of those whom a user follows; see Followers.
func (s *Service) Following(ctx context.Context, uid int64, cursor string, limit int) (People, error) {
	return s.people(ctx, followingKey(uid), cursor, limit)
}

func (s *Service) people(ctx context.Context, set, cursor string, limit int) (People, error) {
	limit = clamp(limit)
	at, err := parsePeopleCursor(cursor)
	if err != nil {
		return People{}, err
	}
	// id, score, id, score ..., with one more than the page when another follows.
	reply, err := peopleScript.Run(ctx, s.client, []string{set},
		[]string{at.since, at.id, itoa(int64(limit + 1))}).AsStrSlice()
	if err != nil {
		return People{}, fmt.Errorf("social: list people: %w", err)
	}
	var ids []int64
	for i := 0; i+1 < len(reply) && len(ids) < limit; i += 2 {
		id, err := strconv.ParseInt(reply[i], 10, 64)
		if err != nil {
			return People{}, fmt.Errorf("social: key %s: %q is not a user id", set, reply[i])
		}
		ids = append(ids, id)
	}
	var people People
	if len(reply) > 2*limit {
		people.Next = peopleCursor{since: reply[2*limit-1], id: reply[2*limit-2]}.String()
	}
	people.Users, err = s.inOrder(ctx, ids)
	return people, err
}

// peopleCursor is the last of a page: since when, and who. Several can have
// begun in the same second, so the time alone does not do.
type peopleCursor struct{ since, id string }

func (c peopleCursor) String() string { return c.since + "-" + c.id }

// maxCursor bounds a cursor, in bytes.
const maxCursor = 64

// parsePeopleCursor reads what String wrote; an empty text is the beginning.
func parsePeopleCursor(cursor string) (peopleCursor, error) {
	if cursor == "" {
		return everybody, nil
	}
	since, id, ok := strings.Cut(cursor, "-")
	if !ok || len(cursor) > maxCursor || !isDecimal(since) || !isDecimal(id) || strings.Contains(id, ".") {
		return peopleCursor{}, &InvalidError{"before", "This is not the address of a page."}
	}
	return peopleCursor{since: since, id: id}, nil
}

// isDecimal tells a plain decimal number: digits, and at most one point
// between them.
func isDecimal(text string) bool {
	whole, fraction, hasPoint := strings.Cut(text, ".")
	return isDigits(whole) && (!hasPoint || isDigits(fraction))
}

func isDigits(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
