package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"
)

const (
	// codePeriod is the length of a time step.
	codePeriod = 30 * time.Second
	// codeSkew is how many steps the clock of a phone may be off.
	codeSkew = 1
	// recoveryCodes is the number of recovery codes.
	recoveryCodes = 10
	// recoveryCodeBytes is the length of a recovery code: with 80 bits, no slow hash is needed.
	recoveryCodeBytes = 10
)

var keyEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// newKey returns a key for an authenticator app: 160 bits in base32.
func newKey() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return keyEncoding.EncodeToString(b[:])
}

// keyURL returns the URL of a key, which apps read from a QR code.
func keyURL(key, issuer, name string) string {
	return "otpauth://totp/" + url.PathEscape(issuer+":"+name) + "?secret=" + key + "&issuer=" + url.QueryEscape(issuer)
}

// matchCode returns the time step of a code; ok is false if typed is not a current code of the key.
func matchCode(key, typed string, now time.Time) (step int64, ok bool) {
	typed = strings.Join(strings.Fields(typed), "")
	at := now.Unix() / int64(codePeriod/time.Second)
	for _, step := range []int64{at, at - codeSkew, at + codeSkew} {
		code, err := hotp.GenerateCode(key, uint64(step))
		if err == nil && subtle.ConstantTimeCompare([]byte(code), []byte(typed)) == 1 {
			return step, true
		}
	}
	return 0, false
}

// newRecoveryCodes returns new recovery codes in the form shown to users, and their hashes.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodes {
		var b [recoveryCodeBytes]byte
		rand.Read(b[:]) // never fails
		text := strings.ToLower(keyEncoding.EncodeToString(b[:]))
		code := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
		codes, hashes = append(codes, code), append(hashes, loginHash(text))
	}
	return codes, hashes
}

// codeHash returns the hash of a recovery code, ignoring case, spaces and hyphens; ok is false if
// typed does not have the length of a code.
func codeHash(typed string) (_ string, ok bool) {
	text := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(typed)))
	if len(text) != keyEncoding.EncodedLen(recoveryCodeBytes) {
		return "", false
	}
	return loginHash(text), true
}

func loginHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func contains(hashes, hash string) bool { return slices.Contains(strings.Split(hashes, ","), hash) }
