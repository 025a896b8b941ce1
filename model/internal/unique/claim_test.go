package unique

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model/internal/schema"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// claimsOf returns the claims of a model with a unique email address and two partitions, and the
// index entry of an address.
func claimsOf(t *testing.T, client rueidis.Client) (*Claims, schema.Entry) {
	t.Helper()
	s := &schema.Schema{Version: -1, Expires: -1}
	s.Indexes = []*schema.Index{{Name: "email", Columns: []schema.Column{{Field: "email"}}, Unique: true, Key: "email", Number: 1}}
	l := &schema.Layout{Name: "member", IDs: schema.ClientAssigned, Schema: s}
	for _, k := range schema.Partitions("member", "", 2) {
		l.Parts = append(l.Parts, schema.Partition{Keys: k})
	}
	return &Claims{Client: client, Layout: l}, schema.Entry{Index: s.Indexes[0], Value: "a"}
}

// writeContent gives a record a unique value, as the script that writes a record does.
func writeContent(t *testing.T, u *Claims, id string, e schema.Entry) {
	t.Helper()
	content := string(schema.Pack(0, []schema.Entry{e}))
	if err := u.Client.Do(t.Context(), u.Client.B().Hset().Key(u.Layout.Of(id).Content).FieldValue().FieldValue(id, content).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// A revoked claim stays revoked until its deadline, even if other claims are revoked later.
func TestRevokedIsRemembered(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	u, e := claimsOf(t, client)
	later := time.Now().Add(time.Hour).UnixMilli()
	for _, c := range []ClaimText{{"7", "ended", "1"}, {"7", "first", strconv.FormatInt(later, 10)}, {"7", "second", strconv.FormatInt(later, 10)}, {"7", "confirmed", ""}} {
		if has, err := u.Revoke(t.Context(), e, c); has || err != nil {
			t.Fatalf("Revoke(%v) = %v, %v; want false", c, has, err)
		}
	}
	revoked, err := client.Do(t.Context(), client.B().Zrange().Key(u.Layout.Of("7").Voids).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil || !slices.Equal(revoked, []string{"first", "second"}) {
		t.Errorf("revoked tokens %q, %v; want first and second", revoked, err)
	}
}

// If a writer dies before it has written its record, the next writer can take over the value; if
// it dies later, the record keeps the value.
func TestWriterDies(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		die  func(ctx context.Context, t *testing.T, u *Claims, e schema.Entry, c Claim)
		owns bool
	}{
		"after the claim": {func(context.Context, *testing.T, *Claims, schema.Entry, Claim) {}, false},
		"after the record is written": {func(_ context.Context, t *testing.T, u *Claims, e schema.Entry, _ Claim) {
			writeContent(t, u, "1", e)
		}, true},
		"after the claim is confirmed": {func(ctx context.Context, t *testing.T, u *Claims, e schema.Entry, c Claim) {
			writeContent(t, u, "1", e)
			u.Confirm(ctx, "1", "one", []Claim{c}, nil)
		}, true},
		"after the claim is abandoned": {func(ctx context.Context, _ *testing.T, u *Claims, _ schema.Entry, c Claim) {
			u.Abandon(ctx, []Claim{c})
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			u, e := claimsOf(t, redistest.DB(t).Client(t))
			c, err := u.Claim(t.Context(), "1", "one", e)
			if err != nil || c.Text == "" {
				t.Fatalf("first Claim: %+v, %v", c, err)
			}
			test.die(t.Context(), t, u, e, c)
			next, err := u.Claim(t.Context(), "2", "two", e)
			var taken *schema.TakenError
			switch {
			case test.owns && (!errors.As(err, &taken) || taken.Owner != "1"):
				t.Fatalf("next Claim: %+v, %v; want a TakenError with owner 1", next, err)
			case !test.owns && (err != nil || next.Text == ""):
				t.Fatalf("next Claim: %+v, %v; want a claim", next, err)
			}
			// The first writer can no longer write, since its claim is revoked.
			if what == "after the claim" {
				revoked, err := u.Client.Do(t.Context(), u.Client.B().Zscore().Key(u.Layout.Of("1").Voids).Member("one").Build()).AsFloat64()
				if err != nil || revoked == 0 {
					t.Errorf("deadline of the revoked claim %v, %v", revoked, err)
				}
			}
		})
	}
}

// If several writers claim a value concurrently, exactly one writer gets the value.
func TestOneClaimWins(t *testing.T) {
	t.Parallel()
	u, e := claimsOf(t, redistest.DB(t).Client(t))
	const writers = 8
	won := make(chan string, writers)
	for i := range writers {
		id := strconv.Itoa(i)
		go func() {
			c, err := u.Claim(t.Context(), id, "token"+id, e)
			if err == nil && c.Text != "" {
				writeContent(t, u, id, e)
				u.Confirm(t.Context(), id, "token"+id, []Claim{c}, nil)
				won <- id
				return
			}
			if !errors.Is(err, schema.ErrTaken) {
				t.Error(err)
			}
			won <- ""
		}()
	}
	winner := ""
	for range writers {
		if id := <-won; id != "" {
			if winner != "" {
				t.Errorf("%s and %s have the value", winner, id)
			}
			winner = id
		}
	}
	if owner, ok, err := u.Owner(t.Context(), e.Index, e.Value); !ok || err != nil || owner != winner {
		t.Errorf("Owner = %q, %v, %v; want %q", owner, ok, err, winner)
	}
}

// If a record releases a value while its writer still has to confirm the claim, the value does
// not stay in the index, whether the writer is slow or dies.
func TestReleaseBeforeConfirm(t *testing.T) {
	t.Parallel()
	u, e := claimsOf(t, redistest.DB(t).Client(t))
	claimAndRemove := func(token string) Claim {
		c, err := u.Claim(t.Context(), "1", token, e)
		if err != nil || c.Text == "" {
			t.Fatalf("Claim: %+v, %v", c, err)
		}
		writeContent(t, u, "1", e)
		if err := u.Client.Do(t.Context(), u.Client.B().Hdel().Key(u.Layout.Of("1").Content).Field("1").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	checkFree := func(when string) {
		t.Helper()
		if owner, ok, err := u.Owner(t.Context(), e.Index, e.Value); ok || err != nil {
			t.Errorf("%s: %q has the value, %v", when, owner, err)
		}
	}
	c := claimAndRemove("late")
	if err := u.Release(t.Context(), "1", e); err != nil {
		t.Fatal(err)
	}
	checkFree("the writer is dead")
	u.Confirm(t.Context(), "1", "late", []Claim{c}, nil)
	checkFree("the writer confirms later")
	for i := range 50 {
		token := fmt.Sprint("slow", i)
		c := claimAndRemove(token)
		released := make(chan error)
		go func() { released <- u.Release(t.Context(), "1", e) }()
		u.Confirm(t.Context(), "1", token, []Claim{c}, nil)
		if err := <-released; err != nil {
			t.Fatal(err)
		}
		checkFree("the writer confirms at the same time")
	}
}
