// Package reply reads replies of Redis, treating a missing value or a key of another type as
// empty instead of an error.
package reply

import (
	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// Text returns a string reply; empty for nil.
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

// OrEmpty returns the result of a read, but an empty value for a nil reply and for a key of another
// type, which must not fail a page. The application's check reports such a key.
func OrEmpty[T any](value T, err error) (T, error) {
	if err == nil || !rueidis.IsRedisNil(err) && !rediserr.IsWrongType(err) {
		return value, err
	}
	var empty T
	return empty, nil
}

// TextOrEmpty is like Text, but also empty for a key of another type.
func TextOrEmpty(res rueidis.RedisResult) (string, error) { return OrEmpty(res.ToString()) }

// Exists reports whether a member or a field has a value. It returns false for a key of another type.
func Exists(res rueidis.RedisResult) (bool, error) {
	err := res.Error()
	_, failure := OrEmpty(0, err)
	return err == nil, failure
}

// maxFields is an upper bound for the number of fields in one HMGET.
const maxFields = 16

// Fields returns the values of an HMGET: empty for a missing field, and all empty for a missing
// key or a key of another type.
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

// Written returns the first error of some writes, ignoring writes to keys of another type.
func Written(results ...rueidis.RedisResult) error {
	for _, res := range results {
		if _, err := OrEmpty(res.ToMessage()); err != nil {
			return err
		}
	}
	return nil
}

// FirstError returns the first error of a pipeline, ignoring nil replies.
func FirstError(results []rueidis.RedisResult) error {
	for _, res := range results {
		if err := res.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}
