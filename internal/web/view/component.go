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

	"retwis/internal/i18n"
)

// cache holds recently rendered components of pages in a language.
type cache struct {
	components *otter.Cache[any, []byte]   // by their content
	shells     *otter.Cache[Frame, *shell] // by frame, without the fields that differ between the pages of a viewer
}

// Caches has, for each language, a context with a cache that is filled as pages are rendered.
type Caches []context.Context

// NewCaches returns caches of at most about 48 MiB for each language in use.
func NewCaches() (Caches, error) {
	var all Caches
	for _, l := range i18n.All() {
		kept, err := newCache()
		if err != nil {
			return nil, err
		}
		all = append(all, i18n.With(context.WithValue(context.Background(), cacheKey{}, kept), l))
	}
	return all, nil
}

// Context returns the context for rendering pages in a language.
func (c Caches) Context(l *i18n.Language) context.Context {
	if c == nil { // a test without a site
		return i18n.With(context.Background(), l)
	}
	return c[l.Index()]
}

func newCache() (*cache, error) {
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
	return &cache{components, shells}, nil
}

type cacheKey struct{}

// cacheIn returns the cache of a context, or nil.
func cacheIn(ctx context.Context) *cache {
	r, _ := ctx.Value(cacheKey{}).(*cache)
	return r
}

// cachedComponent returns a component that is rendered once for each key. The key must be
// comparable and determine everything that the component shows. No two components have keys of the
// same type.
func cachedComponent(key any, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(keptBytes(ctx, key, c))
		return err
	})
}

// keptBytes returns a component as HTML, from the cache if possible; see cachedComponent.
func keptBytes(ctx context.Context, key any, c templ.Component) []byte {
	r := cacheIn(ctx)
	if r == nil {
		return bytesOf(ctx, c)
	}
	html, ok := r.components.GetIfPresent(key)
	if !ok {
		html = bytesOf(ctx, c)
		r.components.Set(key, html)
	}
	return html
}

// direct flushes a templ buffer and returns the writer below it, so that large pieces of a page are
// not copied twice.
func direct(w io.Writer) (io.Writer, error) {
	b, ok := w.(*templruntime.Buffer)
	if !ok {
		return w, nil
	}
	return b.Underlying, b.Flush()
}

// bytesOf returns a component as HTML in the language of the context.
func bytesOf(ctx context.Context, c templ.Component) []byte {
	var buf bytes.Buffer
	_ = c.Render(ctx, &buf) // writing to a buffer does not fail
	return buf.Bytes()
}
