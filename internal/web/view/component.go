package view

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/a-h/templ"
	templruntime "github.com/a-h/templ/runtime"
	"github.com/maypok86/otter/v2"
)

// Cache has the components of pages that were rendered lately.
type Cache struct {
	components *otter.Cache[any, []byte]   // by what they show
	shells     *otter.Cache[Frame, *shell] // what differs between the pages of a viewer is not part of them
}

// NewCache returns a cache of at most about 48 MiB.
func NewCache() (*Cache, error) {
	components, err := otter.New(&otter.Options[any, []byte]{
		MaximumWeight: 16 << 20,
		Weigher:       func(_ any, html []byte) uint32 { return uint32(min(2*len(html)+200, math.MaxUint32)) },
	})
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	shells, err := otter.New(&otter.Options[Frame, *shell]{
		MaximumWeight: 32 << 20,
		Weigher: func(f Frame, s *shell) uint32 {
			return uint32(min(len(s.head)+len(s.body)+len(s.menu)+len(s.between)+len(s.end)+len(f.Title)+400, math.MaxUint32))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	return &Cache{components, shells}, nil
}

type cacheKey struct{}

// Context returns the context in which pages are rendered that use the cache.
func (r *Cache) Context() context.Context {
	return context.WithValue(context.Background(), cacheKey{}, r)
}

// cacheIn returns the cache of a context; nil for none.
func cacheIn(ctx context.Context) *Cache {
	r, _ := ctx.Value(cacheKey{}).(*Cache)
	return r
}

// cachedComponent is a component that is rendered once for each key: all that it shows must be
// in the key, which must be comparable. No two components have keys of the same type.
func cachedComponent(key any, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(keptBytes(ctx, key, c))
		return err
	})
}

// keptBytes returns a component as HTML, from the cache where it is there; see cachedComponent.
func keptBytes(ctx context.Context, key any, c templ.Component) []byte {
	r := cacheIn(ctx)
	if r == nil {
		return bytesOf(c)
	}
	html, ok := r.components.GetIfPresent(key)
	if !ok {
		html = bytesOf(c)
		r.components.Set(key, html)
	}
	return html
}

// direct returns the writer below a buffer of templ, which is for small pieces: most
// of a page is large ones, which need not be copied twice.
func direct(w io.Writer) (io.Writer, error) {
	b, ok := w.(*templruntime.Buffer)
	if !ok {
		return w, nil
	}
	return b.Underlying, b.Flush()
}

func bytesOf(c templ.Component) []byte {
	var buf bytes.Buffer
	_ = c.Render(context.Background(), &buf) // a buffer takes everything
	return buf.Bytes()
}
