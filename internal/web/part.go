package web

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/a-h/templ"
	templruntime "github.com/a-h/templ/runtime"
	"github.com/maypok86/otter/v2"
)

// rendered are the parts of pages that were rendered lately.
type rendered struct {
	parts  *otter.Cache[any, []byte]   // by what they show
	shells *otter.Cache[frame, *shell] // what differs between the pages of a viewer is not part of them
}

func newRendered() (*rendered, error) {
	parts, err := otter.New(&otter.Options[any, []byte]{
		MaximumWeight: 16 << 20,
		Weigher:       func(_ any, html []byte) uint32 { return uint32(min(2*len(html)+200, math.MaxUint32)) },
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	shells, err := otter.New(&otter.Options[frame, *shell]{
		MaximumWeight: 32 << 20,
		Weigher: func(f frame, s *shell) uint32 {
			return uint32(min(len(s.head)+len(s.menu)+len(s.end)+len(f.Title)+400, math.MaxUint32))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &rendered{parts, shells}, nil
}

type renderedKey struct{}

// context returns the context in which pages are rendered that share parts.
func (r *rendered) context() context.Context {
	return context.WithValue(context.Background(), renderedKey{}, r)
}

// renderedIn returns the parts that are shared in a context; nil for none.
func renderedIn(ctx context.Context) *rendered {
	r, _ := ctx.Value(renderedKey{}).(*rendered)
	return r
}

// part is a component that is rendered once for each key: all that it shows must be
// in the key, which must be comparable. No two parts have keys of the same type.
func part(key any, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		r := renderedIn(ctx)
		if r == nil {
			return c.Render(ctx, w)
		}
		html, ok := r.parts.GetIfPresent(key)
		if !ok {
			html = bytesOf(c)
			r.parts.Set(key, html)
		}
		_, err := w.Write(html)
		return err
	})
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
