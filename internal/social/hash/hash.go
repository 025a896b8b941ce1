// Package hash holds scripts that write to a hash under a condition. Each can
// be sent again when its reply was lost: repeating it changes nothing.
package hash

import (
	"context"
	_ "embed"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

var (
	//go:embed create.lua
	createSource string
	createScript = script.New(createSource).Retryable()

	//go:embed fill.lua
	fillSource string
	fillScript = script.New(fillSource).Retryable()

	//go:embed delete_if.lua
	deleteIfSource string
	deleteIfScript = script.New(deleteIfSource).Retryable()
)

// Create writes a new hash and reports whether the key now holds exactly these
// fields and values, alternating; it never overwrites another key.
func Create(ctx context.Context, client rueidis.Client, key string, fields []string) (bool, error) {
	return createScript.Run(ctx, client, []string{key}, fields).AsBool()
}

// Fill sets a field that an existing hash lacks and reports whether it did.
func Fill(ctx context.Context, client rueidis.Client, key, field, value string) (bool, error) {
	return fillScript.Run(ctx, client, []string{key}, []string{field, value}).AsBool()
}

// DeleteIf removes a field that has this value and reports whether it did.
func DeleteIf(ctx context.Context, client rueidis.Client, key, field, value string) (bool, error) {
	return deleteIfScript.RunFenced(ctx, client, []string{key}, []string{field, value}).AsBool()
}
