package redlock

import "errors"

// IsRefusal says whether an error is one that waiting does not change.
func IsRefusal(err error) bool { return errors.Is(refused(err, true), ErrRefused) }
