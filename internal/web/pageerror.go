package web

import (
	"errors"
	"fmt"
	"net/http"
	"os"
)

// statusGone is the status for a client that disconnected. Only logs and metrics
// see it, and a client that has closed its side of the connection only.
const statusGone = 499

// pageError is an error with its message for the user and its cause for the log.
type pageError struct {
	status int
	detail string // a sentence for the user
	draft  string // a sentence about the unpublished post
	cause  error  // for the log
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, http.StatusText(e.status), e.detail)
}

func (e *pageError) Unwrap() error { return e.cause }

var (
	errNotFound = &pageError{status: http.StatusNotFound, detail: "This page doesn't exist."}
	errNoUser   = &pageError{status: http.StatusNotFound, detail: "This account doesn't exist."}
)

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &pageError{status: http.StatusRequestEntityTooLarge, detail: "The form is too large.", cause: err}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &pageError{status: http.StatusRequestTimeout, detail: "The form took too long to arrive. Please try again.", cause: err}
	}
	return &pageError{status: http.StatusBadRequest, detail: "The form couldn't be read. Please try again.", cause: err}
}
