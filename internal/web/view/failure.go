package view

import (
	"net/http"
	"strings"
)

// Failure is what an error page shows.
type Failure struct {
	Status int
	Detail string     // one or more sentences for the user
	ID     string     // of the request
	Again  string     // the page to try once more
	Draft  StatusForm // the text that came with the request and was not saved, if there is one
}

// Headline is the first sentence for the user, without its full stop.
func (e Failure) Headline() string {
	first, _, _ := strings.Cut(e.Detail, ". ")
	return strings.TrimSuffix(first, ".")
}

// rest is what follows the headline.
func (e Failure) rest() string {
	_, rest, _ := strings.Cut(e.Detail, ". ")
	return rest
}

// isTemporary reports whether the same request can succeed a little later.
func (e Failure) isTemporary() bool {
	return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
}
