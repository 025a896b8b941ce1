package web

import (
	"context"
	"io"
	"math"

	"github.com/a-h/templ"
	templruntime "github.com/a-h/templ/runtime"
	"github.com/maypok86/otter/v2"
)

// parts are the latest rendered parts of pages, by what they show.
var parts = otter.Must(&otter.Options[any, []byte]{
	MaximumWeight: 16 << 20,
	Weigher:       func(_ any, html []byte) uint32 { return uint32(min(2*len(html)+200, math.MaxUint32)) },
})

// part is a component that is rendered once for each key: all that it shows must be
// in the key, which must be comparable. No two parts have keys of the same type.
func part(key any, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		html, ok := parts.GetIfPresent(key)
		if !ok {
			html = bytesOf(c)
			parts.Set(key, html)
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
