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

// FindModel yields a finding where the records, of what, are not as the model keeps them, and one
// without Fix for those that only somebody who knows what they should have can correct. It reports
// whether to go on.
func (r *Records[T]) FindModel(ctx context.Context, what string, yield func(Finding, error) bool) bool {
	report, err := r.Verify(ctx, maintain.Options{}, false)
	if err != nil {
		return yield(Finding{}, err)
	}
	if n := report.Problems() - report.Invalid; n > 0 && !yield(Finding{
		Kind: maintain.Stale, Key: r.meta, Repair: "repair the model",
		Detail: fmt.Sprintf("%d records of %s are not as package model keeps them", n, what),
		Fix: func(ctx context.Context) (bool, error) {
			_, err := r.Verify(ctx, maintain.Options{}, true)
			return true, err
		},
	}, nil) {
		return false
	}
	if report.Invalid == 0 {
		return true
	}
	return yield(Finding{
		Kind: maintain.Invalid, Key: r.meta, Repair: "none: correct their fields, or delete their keys",
		Detail: fmt.Sprintf("%d records of %s cannot be read, or do not agree with others%s", report.Invalid, what, example(report.Examples)),
	}, nil)
}

// example names the first of the problems that no repair corrects.
func example(all []maintain.Problem) string {
	for _, p := range all {
		switch p.Kind {
		case maintain.Invalid, maintain.Taken, maintain.Rejected:
			return fmt.Sprintf(", such as %s: %s", p.ID, p.Found)
		}
	}
	return ""
}
