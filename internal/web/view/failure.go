package view

import (
	"net/http"
	"strings"
)

// Failure is the content of an error page.
type Failure struct {
	Status    int
	Detail    string     // one or more sentences for the user
	ID        string     // of the request
	RetryPath string     // the page to try again
	Draft     StatusForm // the submitted text that was not saved, if any

	Suspended bool // the account is suspended
}

// Headline returns the first sentence for the user, without its period.
func (e Failure) Headline() string {
	first, _, _ := strings.Cut(e.Detail, ". ")
	return strings.TrimSuffix(first, ".")
}

// rest returns what follows the headline.
func (e Failure) rest() string {
	_, rest, _ := strings.Cut(e.Detail, ". ")
	return rest
}

// isTemporary reports whether the same request may succeed a little later.
func (e Failure) isTemporary() bool {
	return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
}
