package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"retwis/internal/social/storage"
)

// keyBox encrypts the keys of authenticator apps if the operator has set a key.
type keyBox struct{ aead cipher.AEAD }

// sealedPrefix is the prefix of an encrypted value.
const sealedPrefix = "sealed:"

// ErrNoKey reports that the stored value was encrypted with a key that this process does not have.
var ErrNoKey = errors.New("social: a second factor was encrypted with another RETWIS_SECRET_KEY")

// newKeyBox returns a box for a key; an empty key disables encryption.
func newKeyBox(key []byte) (keyBox, error) {
	if len(key) == 0 {
		return keyBox{}, nil
	}
	if len(key) < 16 {
		return keyBox{}, errors.New("social: Options.SecretKey: use 16 bytes or more")
	}
	sum := sha256.Sum256(key)
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return keyBox{}, fmt.Errorf("social: Options.SecretKey: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return keyBox{}, fmt.Errorf("social: Options.SecretKey: %w", err)
	}
	return keyBox{aead}, nil
}

// seal returns the stored form of a value; it can be opened only for the same user.
func (b keyBox) seal(uid int64, value string) string {
	if b.aead == nil {
		return value
	}
	nonce := make([]byte, b.aead.NonceSize())
	rand.Read(nonce) // never fails
	return sealedPrefix + base64.RawURLEncoding.EncodeToString(b.aead.Seal(nonce, nonce, []byte(value), []byte(storage.Itoa(uid))))
}

// open returns the value of a stored form; values stored without a key are returned unchanged.
func (b keyBox) open(uid int64, stored string) (string, error) {
	text, isSealed := strings.CutPrefix(stored, sealedPrefix)
	if !isSealed {
		return stored, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || b.aead == nil || len(data) < b.aead.NonceSize() {
		return "", ErrNoKey
	}
	value, err := b.aead.Open(nil, data[:b.aead.NonceSize()], data[b.aead.NonceSize():], []byte(storage.Itoa(uid)))
	if err != nil {
		return "", ErrNoKey
	}
	return string(value), nil
}
