package storage

import (
	"context"
	"fmt"

	"retwis/maintain"
)

// Finding is an inconsistency in the database.
type Finding struct {
	Kind     maintain.Kind
	Key      string // or a file name
	Detail   string
	Repair   string // what Fix does
	Leftover bool   // invisible to users
	// Fix repairs the inconsistency and reports whether the inconsistency still existed. Fix is nil
	// if this process cannot repair it.
	Fix func(ctx context.Context) (bool, error)
}

// FindModel yields a finding if records do not match the bookkeeping of the model, and a finding
// without Fix if records are invalid, because only a person who knows the correct contents can
// repair these. what names the records. FindModel reports whether to continue.
func (r *Records[T]) FindModel(ctx context.Context, what string, yield func(Finding, error) bool) bool {
	report, err := r.Verify(ctx, maintain.Options{}, false)
	if err != nil {
		return yield(Finding{}, err)
	}
	if n := report.Problems() - report.Invalid; n > 0 && !yield(Finding{
		Kind: maintain.Stale, Key: r.meta, Repair: "repair the model",
		Detail: fmt.Sprintf("%d records of %s do not match the bookkeeping of package model", n, what),
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

// example formats the first problem that no repair corrects.
func example(all []maintain.Problem) string {
	for _, p := range all {
		switch p.Kind {
		case maintain.Invalid, maintain.Taken, maintain.Rejected:
			return fmt.Sprintf(", such as %s: %s", p.ID, p.Found)
		}
	}
	return ""
}
