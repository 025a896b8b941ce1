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
// including a second factor. Call giveBack if no password was compared, or if the log-in was
// refused despite the right password. One round trip each.
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
	// loginPlacesTTL is how long the addresses of an account are remembered after its last log-in.
	loginPlacesTTL = 90 * 24 * time.Hour
)

// LoggedIn records a log-in from an address. A recorded log-in does not count as an attempt, and
// strangers cannot lock its address out of the account, unless the server is out of memory and the
// address is new. name is the one passed to AllowLogin, or empty if AllowLogin was not called, as
// for a passkey. Three round trips.
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
		b.Expire().Key(key).Seconds(int64(loginPlacesTTL/time.Second)).Build().ToRetryable(),
	)
	if err := reply.FirstError(res); err != nil && rediserr.Of(err) != rediserr.WritesRefused {
		return fmt.Errorf("social: record a log-in: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}

// WithAddress returns a context with the address of a request, by which the hashers share their
// time fairly among requests.
func WithAddress(ctx context.Context, from netip.Addr) context.Context {
	return WithPlace(ctx, limits.Place(from))
}
