package searchindex

import (
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social/layout"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The lease of a process that builds the indexes is prolonged on every server; that they are
// complete does not expire, and a lease that is over does not begin again.
func TestRenew(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	x, ctx := Index{client: client}, t.Context()
	for name, c := range map[string]struct {
		set  []string
		want int64 // seconds; -1: it does not expire, -2: there is none
	}{
		"building": {[]string{"SET", layout.SearchIndex, "building", "EX", "10"}, 60},
		"complete": {[]string{"SET", layout.SearchIndex, built}, -1},
		"over":     {[]string{"DEL", layout.SearchIndex}, -2},
	} {
		if err := client.Do(ctx, client.B().Arbitrary(c.set...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if err := x.renew(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left, err := client.Do(ctx, client.B().Ttl().Key(layout.SearchIndex).Build()).AsInt64()
		if prolonged := c.want > 0 && left > 10 && left <= c.want; err != nil || !prolonged && left != c.want {
			t.Errorf("%s: %d s are left (%v), expected %d", name, left, err, c.want)
		}
	}
}
