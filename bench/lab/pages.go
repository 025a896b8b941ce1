package main

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"retwis/bench/lab/history"
	"retwis/bench/measure"
)

// answer is the response to a request, or the error of the request.
type answer struct {
	measure.Answer
	err error
}

// outcome returns the outcome of the request, with the reason if it is not OK.
func (a answer) outcome() (history.Outcome, string) {
	switch {
	case a.err != nil:
		return history.Unknown, a.err.Error()
	case a.Status >= 500:
		return history.Unknown, strconv.Itoa(a.Status)
	case a.Status >= 400, a.signedOut():
		return history.Refused, strconv.Itoa(a.Status)
	}
	return history.OK, ""
}

// signedOut reports whether the answer redirects to the log-in form.
func (a answer) signedOut() bool {
	return a.Status == http.StatusSeeOther && strings.HasPrefix(a.Location, "/login")
}

var (
	articleTag = regexp.MustCompile(`^ data-id="(\d+)" data-replies="\d+" data-reposts="\d+" data-likes="(\d+)"`)
	whenLink   = regexp.MustCompile(`class="when" href="/u/([^/"]+)/\d+(?:#p\d+)?"`)
	bodyText   = regexp.MustCompile(`<p class="body"[^>]*>([^<]*)</p>`)
	nextLink   = regexp.MustCompile(`rel="next" href="([^"]+)"`)
)

// posts returns the posts on a page.
func (a answer) posts() []history.Seen {
	var found []history.Seen
	parts := strings.Split(a.Body, `<article class="post"`)
	for i, part := range parts[1:] {
		part, _, _ = strings.Cut(part, "</article>")
		head, when, text := articleTag.FindStringSubmatch(part), whenLink.FindStringSubmatch(part), bodyText.FindStringSubmatch(part)
		if head == nil || when == nil || text == nil {
			continue
		}
		seen := history.Seen{Author: when[1], Text: html.UnescapeString(text[1])}
		seen.ID, _ = strconv.ParseInt(head[1], 10, 64)
		seen.Likes, _ = strconv.Atoi(head[2])
		seen.Liked = strings.Contains(part, `/unlike"`)
		seen.Reply = strings.Contains(part, `class="context"`)
		seen.Moved = strings.HasSuffix(parts[i], `<div class="conversation">`)
		found = append(found, seen)
	}
	return found
}

// next returns the address of the next page, or "" on the last page.
func (a answer) next() string {
	if m := nextLink.FindStringSubmatch(a.Body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}
