// Package reply reads replies of Redis where a missing value, or a key of
// another type, is no error.
package reply

import (
	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// Text returns a string reply, empty for nil.
func Text(res rueidis.RedisResult) (string, error) {
	value, err := res.ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return value, nil
}

// TextOrEmpty is Text, and empty too for a key of another type.
func TextOrEmpty(res rueidis.RedisResult) (string, error) {
	value, err := Text(res)
	if rediserr.IsWrongType(err) {
		return "", nil
	}
	return value, err
}

// maxFields is at least the number of fields that one HMGET asks for.
const maxFields = 16

// Fields returns the values of an HMGET, empty for each missing field, and all
// empty for a missing key or one of another type.
func Fields(res rueidis.RedisResult) ([]string, error) {
	values, err := res.ToArray()
	if rediserr.IsWrongType(err) {
		return make([]string, maxFields), nil
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(values))
	for i, value := range values {
		if !value.IsNil() {
			texts[i], _ = value.ToString()
		}
	}
	return texts, nil
}

// FirstError returns the first error of a pipeline; nil replies are no errors.
func FirstError(results []rueidis.RedisResult) error {
	for _, res := range results {
		if err := res.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}
