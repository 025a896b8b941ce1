package model

import (
	"fmt"
	"time"
)

// dueOf reads when a record expires, in milliseconds since 1970.
func dueOf(f *field, s string) (int64, error) {
	v, err := f.Kind.value(f.Name, s)
	if err != nil {
		return 0, err
	}
	var ms int64
	switch v := v.(type) {
	case time.Time:
		ms = v.UnixMilli()
	case int64:
		if v > maxDue/1000 {
			v = maxDue / 1000
		}
		ms = v * 1000
	default:
		return 0, fmt.Errorf("%w: %s is no time", ErrValue, f.Name)
	}
	return min(max(ms, 1), maxDue), nil
}

// maxDue is the last millisecond of the year 9999.
const maxDue = 253402300799999
