package web

import (
	"strings"

	"retwis/internal/social"
	"retwis/internal/web/request"
)

const (
	// suggestions is how many completions are offered.
	suggestions = 8
	// maxSuggest bounds what is completed, in bytes.
	maxSuggest = 200
)

// suggestion completes what is being typed.
type suggestion struct {
	Text  string `json:"text"` // with its sign
	Label string `json:"label,omitempty"`
}

// complete completes @names and #tags: GET /suggest?q=%40ad. For the box of a search, with
// in=search, it also completes both without a sign. The response is a list in JSON, empty
// where there is nothing, and for visitors.
func (h *handlers) complete(req *request.Request) error {
	list := []suggestion{}
	q := req.R.URL.Query().Get("q")
	isName := strings.HasPrefix(q, "@") || strings.HasPrefix(q, "＠")
	isTag := strings.HasPrefix(q, "#") || strings.HasPrefix(q, "＃")
	names, tags := suggestions, suggestions
	switch {
	case !req.LoggedIn || len(q) > maxSuggest:
		return request.SendJSON(req, list)
	case isName:
		tags = 0
	case isTag:
		names = 0
	case req.R.URL.Query().Get("in") == "search" && q != "":
		names, tags = suggestions/2, suggestions/2
	default:
		return request.SendJSON(req, list)
	}
	if names > 0 {
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		users, err := h.app.Completions.CompleteNames(req.Ctx, v, q, names)
		if err != nil {
			return err
		}
		for _, user := range users {
			if social.CheckName(user.Name) == nil { // an old name can be one that no text can mention
				list = append(list, suggestion{Text: "@" + user.Name, Label: user.DisplayName})
			}
		}
	}
	if tags > 0 {
		found, err := h.app.Completions.CompleteTags(req.Ctx, q, tags)
		if err != nil {
			return err
		}
		for _, tag := range found {
			list = append(list, suggestion{Text: "#" + tag})
		}
	}
	return request.SendJSON(req, list)
}
