package social

import (
	"context"
	"slices"
)

type freshKey struct{}

// WithFresh returns a context whose reads bypass the client's memory: for a
// reader who has just written through another process. Posts are read from memory
// all the same, except for these: those that the reader has changed.
func WithFresh(ctx context.Context, posts ...int64) context.Context {
	return context.WithValue(ctx, freshKey{}, posts)
}

// WithoutFresh returns a context whose reads may be answered from memory again.
func WithoutFresh(ctx context.Context) context.Context {
	return context.WithValue(ctx, freshKey{}, nil)
}

// IsFresh reports whether the reads with a context bypass all caches.
func IsFresh(ctx context.Context) bool { return ctx.Value(freshKey{}) != nil }

// IsFreshPost reports whether the reads of this post bypass all caches with a context.
func IsFreshPost(ctx context.Context, id int64) bool {
	posts, _ := ctx.Value(freshKey{}).([]int64)
	return slices.Contains(posts, id)
}
