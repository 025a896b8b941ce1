package storage

import (
	"context"
	"fmt"

	"retwis/maintain"
)

// Finding is something that does not agree.
type Finding struct {
	Kind     maintain.Kind
	Key      string // or the name of a file
	Detail   string
	Repair   string // what Fix does
	Leftover bool   // nobody notices
	// Fix repairs it, and reports whether it was still so; nil: it cannot be repaired, or not by
	// this process.
	Fix func(ctx context.Context) (bool, error)
}

// FindModel yields a finding where the records, of what, are not as the model keeps them. It
// reports whether to go on.
func (r *Records[T]) FindModel(ctx context.Context, what string, yield func(Finding, error) bool) bool {
	report, err := r.Verify(ctx, maintain.Options{}, false)
	if err != nil {
		return yield(Finding{}, err)
	}
	if report.Problems() == 0 {
		return true
	}
	return yield(Finding{
		Kind: maintain.Stale, Key: r.meta, Repair: "repair the model",
		Detail: fmt.Sprintf("%d records of %s are not as package model keeps them", report.Problems(), what),
		Fix: func(ctx context.Context) (bool, error) {
			_, err := r.Verify(ctx, maintain.Options{}, true)
			return true, err
		},
	}, nil)
}
