package scan

import (
	"encoding/base64"
	"errors"
)

// EncodeCursor returns a position as opaque text that is safe in a URL.
func EncodeCursor(position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(position))
}

// DecodeCursor returns the position in a cursor from EncodeCursor.
func DecodeCursor(cursor string) (string, error) {
	position, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", errors.New("invalid cursor: use one that an earlier page returned")
	}
	return string(position), nil
}
