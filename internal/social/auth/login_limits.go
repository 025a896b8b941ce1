package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social"

	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

// AllowLogin decides whether a password may be tried; see limits.Limits.AllowLogin. Call it before
// Authenticate, with the name as typed, and call LoggedIn once the user has proved everything,
// including a second factor. Call giveBack if no password was compared, or if the right one does
// not help. One round trip each.
func (a *Service) AllowLogin(ctx context.Context, name string, from netip.Addr) (giveBack func(), err error) {
	giveBack = func() { a.opt.Limits.GiveBackLogin(ctx, storage.Fold(name), from) }
	return giveBack, a.opt.Limits.AllowLogin(ctx, storage.Fold(name), from, func() (bool, error) {
		uid, err := a.sessions.Users.LookUp(ctx, name)
		if err != nil {
			return false, err
		}
		err = a.sessions.DB.Client.Do(ctx, a.sessions.DB.Client.B().Zscore().Key(storage.LoginPlacesKey(uid)).Member(limits.Place(from)).Build()).Error()
		if rueidis.IsRedisNil(err) {
			return false, nil
		}
		return err == nil, err
	})
}

const (
	// loginPlaces is how many addresses are remembered per account.
	loginPlaces = 20
	// loginPlacesFor is how long they are remembered after the last log-in.
	loginPlacesFor = 90 * 24 * time.Hour
)

// LoggedIn records a log-in from an address. It does not count as a try, and strangers cannot lock
// this address out of the account, unless the server is out of memory and the address is new. name
// is the one passed to AllowLogin, or empty if that was not called, as for a passkey. Three round
// trips.
func (a *Service) LoggedIn(ctx context.Context, user social.User, name string, from netip.Addr) error {
	if name != "" {
		a.opt.Limits.LoggedIn(ctx, storage.Fold(name), from)
	}
	if !from.IsValid() {
		return nil
	}
	b, key := a.sessions.DB.Client.B(), storage.LoginPlacesKey(user.ID)
	res := a.sessions.DB.Client.DoMulti(ctx,
		b.Zadd().Key(key).ScoreMember().ScoreMember(float64(a.sessions.Now().Unix()), limits.Place(from)).Build().ToRetryable(),
		b.Zremrangebyrank().Key(key).Start(0).Stop(-loginPlaces-1).Build().ToRetryable(),
		b.Expire().Key(key).Seconds(int64(loginPlacesFor/time.Second)).Build().ToRetryable(),
	)
	if err := reply.FirstError(res); err != nil && rediserr.Of(err) != rediserr.WritesRefused {
		return fmt.Errorf("social: note a log-in: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}

// WithAddress stores in a context where a request comes from, so that no address gets more of the
// time for checking passwords than others that are waiting.
func WithAddress(ctx context.Context, from netip.Addr) context.Context {
	return WithPlace(ctx, limits.Place(from))
}
