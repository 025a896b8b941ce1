package model

import "time"

// SetPatience sets how long Verify waits for writers that are slow to release unique values.
func SetPatience[T any](s *Store[T], d time.Duration) { s.t.Patience = d }
