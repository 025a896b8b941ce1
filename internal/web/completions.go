package web

import (
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/web/request"
)

// completionHandlers completes what is being typed.
type completionHandlers struct {
	completions *people.Completions
}

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

// complete completes @names and #tags for the composer: GET /suggest?q=%40ad. The
// response is a list in JSON, empty where there is nothing, and for visitors.
func (h *completionHandlers) complete(req *request.Request) error {
	list := []suggestion{}
	q := req.R.URL.Query().Get("q")
	switch {
	case !req.LoggedIn:
	case len(q) > maxSuggest:
	case strings.HasPrefix(q, "@"), strings.HasPrefix(q, "＠"):
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		users, err := h.completions.CompleteNames(req.Ctx, v, q, suggestions)
		if err != nil {
			return err
		}
		for _, user := range users {
			if social.CheckName(user.Name) == nil { // an old name can be one that no text can mention
				list = append(list, suggestion{Text: "@" + user.Name, Label: user.DisplayName})
			}
		}
	case strings.HasPrefix(q, "#"), strings.HasPrefix(q, "＃"):
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		tags, err := h.completions.CompleteTags(req.Ctx, v, q, suggestions)
		if err != nil {
			return err
		}
		for _, tag := range tags {
			list = append(list, suggestion{Text: "#" + tag})
		}
	}
	return request.SendJSON(req, list)
}
