package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/index"
	"retwis/index/graph"
	"retwis/index/space"
	"retwis/index/suggest"
	"retwis/index/text"
	"retwis/internal/redistest"
)

// Open returns different errors for a missing index, an index of another kind and a damaged
// declaration, for every kind.
func TestOpen(t *testing.T) {
	t.Parallel()
	c := redistest.DB(t).Client(t)
	set := func(key, field, value string) {
		t.Helper()
		if err := c.Do(t.Context(), c.B().Hset().Key(key+".meta").FieldValue().FieldValue(field, value).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for kind, open := range map[string]func(ctx context.Context, client rueidis.Client, key string) error{
		"composite": openError(index.OpenComposite),
		"numeric":   openError(index.OpenNumeric[int64]),
		"graph":     openError(graph.Open),
		"space":     openError(space.Open),
		"suggest":   openError(suggest.Open),
		"text":      openError(text.Open),
		"recent":    openError(collection.OpenRecent),
	} {
		check := func(what string, want error) {
			t.Helper()
			err := open(t.Context(), c, kind)
			if !errors.Is(err, want) || !strings.Contains(err.Error(), kind) {
				t.Errorf("Open of %s, %s: %v, want %v", kind, what, err, want)
			}
		}
		check("missing", index.ErrNotFound)
		set(kind, "kind", "other")
		set(kind, "declaration", "?!")
		set(kind, "partitions", "1")
		check("other kind", index.ErrDeclared)
		set(kind, "kind", kind)
		check("damaged declaration", index.ErrCorrupt)
		set(kind, "partitions", "many")
		check("damaged partitions", index.ErrCorrupt)
	}
}

// openError returns an Open function without its result.
func openError[X any](open func(ctx context.Context, client rueidis.Client, key string) (X, error)) func(context.Context, rueidis.Client, string) error {
	return func(ctx context.Context, client rueidis.Client, key string) error {
		_, err := open(ctx, client, key)
		return err
	}
}
