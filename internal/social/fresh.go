package social

import (
	"context"
	"slices"
)

type freshKey struct{}

// WithFresh returns a context whose reads bypass the client-side cache, for a reader who has just
// written through another process. Posts are still read from the cache, except the given ones,
// which the reader has changed.
func WithFresh(ctx context.Context, posts ...int64) context.Context {
	return context.WithValue(ctx, freshKey{}, posts)
}

// WithoutFresh returns a context whose reads may use the cache again.
func WithoutFresh(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, nil)
}

// IsFresh reports whether reads with ctx bypass all caches.
func IsFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

// IsFreshPost reports whether reads of this post with ctx bypass all caches.
func IsFreshPost(ctx context.Context, id int64) bool {
	posts, _ := ctx.Value(freshKey{}).([]int64)
	return slices.Contains(posts, id)
}
