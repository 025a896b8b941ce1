package check

import (
	"context"
	_ "embed"
	"fmt"

	"retwis/internal/redis/script"
)

//go:embed set_aside.lua
var setAsideSource string

var setAsideScript = script.New(setAsideSource).Retryable()

// setAsideKey is the new name of a key that Retwis cannot read but that may hold
// valuable data. It is in the slot of the key.
func setAsideKey(key string, n int) string {
	if n == 1 {
		return fmt.Sprintf("damaged:{%s}", key)
	}
	return fmt.Sprintf("damaged:{%s}:%d", key, n)
}

// maxSetAside bounds how many keys of one name can be set aside.
const maxSetAside = 1000

// setAside renames a key of this type, if a field of it still has this value.
func (c *checker) setAside(ctx context.Context, key, kind string, field ...string) (bool, error) {
	for n := 1; n <= maxSetAside; n++ {
		moved, err := setAsideScript.Run(ctx, c.client, []string{key, setAsideKey(key, n)}, append([]string{kind}, field...)).AsInt64()
		if err != nil || moved >= 0 {
			return moved == 1, err
		}
	}
	return false, fmt.Errorf("%d keys that begin with %s are in the way", maxSetAside, setAsideKey(key, 1))
}
