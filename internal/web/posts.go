package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/a-h/templ"
	"github.com/maypok86/otter/v2"

	"retwis/internal/social"
)

// postCache caches rendered posts. A post never changes and looks the same to
// every user, so its HTML stays valid.
type postCache struct {
	social  *social.Service
	metrics *metrics
	cache   *otter.Cache[int64, []byte]
}

// overhead is about the size of a cache entry besides its bytes.
const overhead = 120

func newPostCache(service *social.Service, m *metrics, limit int64) (*postCache, error) {
	cache, err := otter.New(&otter.Options[int64, []byte]{
		MaximumWeight: uint64(limit),
		Weigher: func(_ int64, html []byte) uint32 {
			return uint32(min(len(html)+overhead, math.MaxUint32))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &postCache{social: service, metrics: m, cache: cache}, nil
}

// posts are rendered posts, in the order of a page.
type posts [][]byte

// Render makes posts a part of a page.
func (p posts) Render(_ context.Context, w io.Writer) error {
	for _, html := range p {
		if _, err := w.Write(html); err != nil {
			return err
		}
	}
	return nil
}

var _ templ.Component = posts(nil)

// get returns rendered posts, without those that do not exist. Only posts that
// are not in the cache are fetched and rendered.
func (c *postCache) get(ctx context.Context, ids []int64) (posts, error) {
	html := make(posts, len(ids))
	var missing []int64
	for i, id := range ids {
		var ok bool
		if html[i], ok = c.cache.GetIfPresent(id); !ok {
			missing = append(missing, id)
		}
	}
	c.metrics.rendered.Add(float64(len(missing)))
	c.metrics.reused.Add(float64(len(ids) - len(missing)))
	if len(missing) == 0 {
		return html, nil
	}
	found, err := c.social.Posts(ctx, missing...)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64][]byte, len(found))
	for _, p := range found {
		var buf bytes.Buffer
		if err := post(p).Render(ctx, &buf); err != nil {
			return nil, fmt.Errorf("web: render post %d: %w", p.ID, err)
		}
		fragment := bytes.Clone(buf.Bytes())
		byID[p.ID] = fragment
		c.cache.Set(p.ID, fragment)
	}
	all := html[:0]
	for i, id := range ids {
		fragment := html[i]
		if fragment == nil {
			fragment = byID[id]
		}
		if fragment != nil {
			all = append(all, fragment)
		}
	}
	return all, nil
}
