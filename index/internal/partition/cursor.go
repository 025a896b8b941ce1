package partition

import (
	"encoding/base64"
	"errors"
)

// EncodeCursor returns a position as text that may stand in a URL.
func EncodeCursor(position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(position))
}

// DecodeCursor undoes EncodeCursor.
func DecodeCursor(cursor string) (string, error) {
	position, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", errors.New("the cursor is not one that this index gave")
	}
	return string(position), nil
}
