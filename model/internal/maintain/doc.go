// Package maintain verifies, repairs, migrates and drops models, on the engine of
// retwis/internal/maintain.
package maintain
