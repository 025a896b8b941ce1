package check_test

import (
	"fmt"
	"testing"

	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"

	"github.com/redis/rueidis"
)

// With Part, Check checks a part of the users, always the same users, and finds their problems.
func TestPart(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := socialtest.On(t, client)
		const users = 60
		for n := range users {
			user := b.NewUser(fmt.Sprint("person", n))
			b.Publish(user, "hello")
			b.Redis("ZADD", fmt.Sprintf("profile:%d", user.ID), "999999", "999999") // a post that does not exist
		}
		found := map[float64]map[string]bool{}
		for _, part := range []float64{0.3, 0.3, 1} {
			before := found[part]
			found[part] = map[string]bool{}
			result, err := b.Check(check.Options{Part: part, Report: func(p check.Problem) { found[part][p.Key] = true }})
			if err != nil {
				t.Fatal(err)
			}
			if n := result.Users; part == 1 && n != users || part < 1 && (n < users/10 || n > users*6/10) {
				t.Errorf("part %v: checked %d of %d users", part, n, users)
			}
			if before != nil && len(before) != len(found[part]) {
				t.Errorf("two checks of the same part found %d and %d keys with problems", len(before), len(found[part]))
			}
		}
		if len(found[1]) != users {
			t.Errorf("%d keys with problems, want %d", len(found[1]), users)
		}
		if n := len(found[0.3]); n < users/10 || n > users*6/10 {
			t.Errorf("part 0.3: %d of %d keys with problems, want 10%% to 60%%", n, users)
		}
		for key := range found[0.3] {
			if !found[1][key] {
				t.Errorf("%s was reported only for a part", key)
			}
		}
	})
	b := socialtest.New(t)
	for _, part := range []float64{-1, 2} {
		if _, err := b.Check(check.Options{Part: part}); err == nil {
			t.Errorf("Check accepted Part %v", part)
		}
	}
}
