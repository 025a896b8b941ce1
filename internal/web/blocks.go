package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// blockNotices maps query values to messages on the blocks page.
var blockNotices = map[string]i18n.Message{"blocked": i18n.T("Blocked."), "unblocked": i18n.T("Unblocked.")}

// blocks serves GET /moderation/blocks.
func (h *handlers) blocks(req *request.Request) error {
	return h.showBlocks(req, http.StatusOK, view.Blocks{Done: req.Language.Say(blockNotices[req.R.URL.RawQuery])})
}

func (h *handlers) showBlocks(req *request.Request, status int, page view.Blocks) (err error) {
	if page.Blocks, err = h.app.Blocklist.All(req.Ctx); err != nil {
		return err
	}
	return req.Render(status, view.BlocksPage(req.Frame(req.T("Moderation")), page))
}

// addBlock serves POST /moderation/blocks.
func (h *handlers) addBlock(req *request.Request) error {
	page := view.Blocks{Kind: req.R.PostFormValue("kind"), Value: req.R.PostFormValue("value"), Days: req.R.PostFormValue("days")}
	days, _ := strconv.Atoi(page.Days)
	_, err := h.app.Blocklist.Add(req.Ctx, req.User.Actor(), blocklist.Block{Kind: blocklist.Kind(page.Kind), Value: page.Value}, time.Duration(days)*24*time.Hour)
	return req.Submitted(err, "/moderation/blocks?blocked", func(_, problem string) error {
		page.Problem = problem
		return h.showBlocks(req, http.StatusUnprocessableEntity, page)
	})
}

// removeBlock serves POST /moderation/blocks/remove.
func (h *handlers) removeBlock(req *request.Request) error {
	err := h.app.Blocklist.Remove(req.Ctx, req.User.Actor(), blocklist.Kind(req.R.PostFormValue("kind")), req.R.PostFormValue("value"))
	if err != nil && !errors.Is(err, social.ErrNotFound) { // not found: already removed
		return err
	}
	return req.Changed("/moderation/blocks?unblocked")
}
