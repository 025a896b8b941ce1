package web

import (
	"strings"

	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

const (
	// maxCompletions is the maximum number of completions.
	maxCompletions = 8
	// maxTyped is the maximum length of a text to complete, in bytes.
	maxTyped = 200
)

// suggestion is a completion of the typed text.
type suggestion struct {
	Text  string `json:"text"` // including @ or #
	Label string `json:"label,omitempty"`
	Face  string `json:"face,omitempty"` // address of a person's picture
	To    string `json:"to,omitempty"`   // page of a person or a tag, for the search box
}

// complete serves GET /suggest?q=%40ad, which completes @names and #tags. With in=search, for the
// search box, it also completes names and tags typed without the sign. The response is a JSON list,
// which is empty for visitors and if nothing matches.
func (h *handlers) complete(req *request.Request) error {
	list := []suggestion{}
	q := req.R.URL.Query().Get("q")
	isName := strings.HasPrefix(q, "@") || strings.HasPrefix(q, "＠")
	isTag := strings.HasPrefix(q, "#") || strings.HasPrefix(q, "＃")
	maxNames, maxTags := maxCompletions, maxCompletions
	switch {
	case !req.LoggedIn || len(q) > maxTyped:
		return request.SendJSON(req, list)
	case isName:
		maxTags = 0
	case isTag:
		maxNames = 0
	case req.R.URL.Query().Get("in") == "search" && q != "":
		maxNames, maxTags = maxCompletions/2, maxCompletions/2
	default:
		return request.SendJSON(req, list)
	}
	forSearch := req.R.URL.Query().Get("in") == "search"
	var v *social.Viewer
	var err error
	if maxNames > 0 {
		if v, err = req.Viewer(); err != nil {
			return err
		}
	}
	var people, tags []suggestion
	err = concurrently(
		func() (err error) { people, err = h.completeNames(req, v, q, maxNames); return err },
		func() (err error) { tags, err = h.completeTags(req, q, maxTags); return err },
	)
	if err != nil {
		return err
	}
	list = append(append(list, people...), tags...)
	if !forSearch {
		for i := range list {
			list[i].To = ""
		}
	}
	return request.SendJSON(req, list)
}

func (h *handlers) completeNames(req *request.Request, v *social.Viewer, typed string, n int) (list []suggestion, err error) {
	if n == 0 {
		return nil, nil
	}
	users, err := h.app.Completions.CompleteNames(req.Ctx, v, typed, n)
	for _, user := range users {
		if social.CheckName(user.Name) == nil { // old names may contain characters that a mention cannot
			list = append(list, suggestion{
				Text: "@" + user.Name, Label: user.DisplayName, Face: view.AvatarPath(user, "80"), To: view.ProfilePath(user.Name),
			})
		}
	}
	return list, err
}

func (h *handlers) completeTags(req *request.Request, typed string, n int) (list []suggestion, err error) {
	if n == 0 {
		return nil, nil
	}
	found, err := h.app.Completions.CompleteTags(req.Ctx, typed, n)
	for _, tag := range found {
		list = append(list, suggestion{Text: "#" + tag, To: view.TagPath(tag)})
	}
	return list, err
}
