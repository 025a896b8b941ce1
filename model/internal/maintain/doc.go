// Package maintain verifies, repairs, migrates and drops models. It uses the engine in
// retwis/internal/maintain.
package maintain
