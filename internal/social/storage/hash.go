package storage

import (
	"context"
	_ "embed"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

// Each script writes to a hash under a condition. The scripts are idempotent, so a script can be
// sent again if its reply was lost.
var (
	//go:embed hash_create.lua
	hashCreateSource string
	hashCreateScript = script.New(hashCreateSource).Retryable()

	//go:embed hash_fill.lua
	hashFillSource string
	hashFillScript = script.New(hashFillSource).Retryable()

	//go:embed hash_delete_if.lua
	hashDeleteSource string
	hashDeleteScript = script.New(hashDeleteSource).Retryable()
)

// CreateHash writes a new hash and reports whether the key now holds exactly the given fields and
// values, which alternate. It never overwrites another key.
func CreateHash(ctx context.Context, client rueidis.Client, key string, fields []string) (bool, error) {
	return hashCreateScript.Run(ctx, client, []string{key}, fields).AsBool()
}

// FillField sets a field that is missing from an existing hash and reports whether it did.
func FillField(ctx context.Context, client rueidis.Client, key, field, value string) (bool, error) {
	return hashFillScript.Run(ctx, client, []string{key}, []string{field, value}).AsBool()
}

// DeleteFieldIf deletes a field that has the given value and reports whether it did.
func DeleteFieldIf(ctx context.Context, client rueidis.Client, key, field, value string) (bool, error) {
	return hashDeleteScript.RunFenced(ctx, client, []string{key}, []string{field, value}).AsBool()
}
