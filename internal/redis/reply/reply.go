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

// OrEmpty takes what a read has returned: empty for a nil reply, and for a key of another type,
// which must not fail a page. The application's check reports such a key.
func OrEmpty[T any](value T, err error) (T, error) {
	if err == nil || !rueidis.IsRedisNil(err) && !rediserr.IsWrongType(err) {
		return value, err
	}
	var empty T
	return empty, nil
}

// TextOrEmpty is Text, and empty too for a key of another type.
func TextOrEmpty(res rueidis.RedisResult) (string, error) { return OrEmpty(res.ToString()) }

// Exists reports whether a member or a field has a value; it has none in a key of another type.
func Exists(res rueidis.RedisResult) (bool, error) {
	err := res.Error()
	_, other := OrEmpty(0, err)
	return err == nil, other
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

// Written returns the first error of writes. Those to keys of another type are no errors.
func Written(results ...rueidis.RedisResult) error {
	for _, res := range results {
		if _, err := OrEmpty(res.ToMessage()); err != nil {
			return err
		}
	}
	return nil
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
