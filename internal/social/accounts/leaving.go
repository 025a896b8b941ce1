package accounts

import (
	"context"
	"errors"
	"io"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/media"
	"retwis/internal/social/removal"
	"retwis/internal/social/storage"

	"retwis/internal/social/takeout"
)

// Leaving lets people export their data and delete their accounts.
type Leaving struct {
	client  rueidis.Client
	users   *storage.Users
	removal *removal.Engine
	// hide makes all processes hide a user whose account was just closed.
	hide     func(ctx context.Context, uid string) error
	pictures *media.Store
}

// NewLeaving returns a Leaving; hide makes all processes hide a user whose account was just closed.
func NewLeaving(db storage.Database, u *storage.Users, engine *removal.Engine, hide func(ctx context.Context, uid string) error, pictures *media.Store) *Leaving {
	return &Leaving{client: db.Client, users: u, removal: engine, hide: hide, pictures: pictures}
}

// DeleteAccount closes an account: it hides the user and their posts, ends their sessions, and
// prevents log-ins. Everything else is deleted in the background, and resumed after interruptions;
// see package removal. The name stays taken. It returns ErrNotFound if there is no such user. About
// ten round trips.
func (l *Leaving) DeleteAccount(ctx context.Context, uid int64) error {
	err := l.removal.Delete(ctx, uid)
	l.users.ForgetLatest()
	if errors.Is(err, removal.ErrNoUser) {
		return social.ErrNotFound
	}
	if err != nil {
		return err
	}
	return l.hide(ctx, storage.Itoa(uid))
}

// FinishRemoval deletes the remaining data of an account that DeleteAccount has closed. It returns
// when no data is left, which takes at least ten seconds.
func (l *Leaving) FinishRemoval(ctx context.Context, uid int64) error {
	return l.removal.Finish(ctx, uid)
}

// Export writes an archive (zip) of everything a user has written and done. If there is no such
// user, it returns ErrNotFound before writing anything. site is the address of the site, such as
// https://example.com; if site is empty, paths replace addresses. Export reads in pages and keeps
// only one page in memory.
func (l *Leaving) Export(ctx context.Context, uid int64, site string, w io.Writer) error {
	err := takeout.Write(ctx, l.client, l.pictures, uid, site, w)
	if errors.Is(err, takeout.ErrNoUser) {
		return social.ErrNotFound
	}
	return err
}
