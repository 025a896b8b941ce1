package about

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Blocks has the page with what must not sign up or post, for moderators.
type Blocks struct{ list *blocklist.List }

// NewBlocks returns the handlers of that page.
func NewBlocks(list *blocklist.List) *Blocks { return &Blocks{list} }

// Page is GET /moderation/blocks.
func (h *Blocks) Page(req *request.Request) error {
	return h.show(req, http.StatusOK, view.Blocks{Done: req.R.URL.Query().Has("done")})
}

func (h *Blocks) show(req *request.Request, status int, page view.Blocks) (err error) {
	if page.Blocks, err = h.list.All(req.Ctx); err != nil {
		return err
	}
	return req.Render(status, view.BlocksPage(req.Frame("Moderation"), page))
}

// Add is POST /moderation/blocks.
func (h *Blocks) Add(req *request.Request) error {
	page := view.Blocks{Kind: req.R.PostFormValue("kind"), Value: req.R.PostFormValue("value"), Days: req.R.PostFormValue("days")}
	days, _ := strconv.Atoi(page.Days)
	_, err := h.list.Add(req.Ctx, req.User.Actor(), blocklist.Block{Kind: blocklist.Kind(page.Kind), Value: page.Value}, time.Duration(days)*24*time.Hour)
	return req.Submitted(err, "/moderation/blocks?done", func(_, problem string) error {
		page.Problem = problem
		return h.show(req, http.StatusUnprocessableEntity, page)
	})
}

// Remove is POST /moderation/blocks/remove.
func (h *Blocks) Remove(req *request.Request) error {
	err := h.list.Remove(req.Ctx, req.User.Actor(), blocklist.Kind(req.R.PostFormValue("kind")), req.R.PostFormValue("value"))
	if err != nil && !errors.Is(err, social.ErrNotFound) { // removed twice
		return err
	}
	return req.Changed("/moderation/blocks?done")
}
