// Package secondfactor is the second step of a log-in: a code from an authenticator app
// (TOTP, RFC 6238), or a recovery code.
//
// The key of the app is in the field `totp` of the user. It can be encrypted with a key
// of the operator ([Box]): else a copy of the database gives it away. Of recovery codes,
// which are random, only hashes are stored.
package secondfactor

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
	// period is the length of a time step, and skew how many steps the clock of a
	// phone may be off.
	period = 30 * time.Second
	skew   = 1
	// Codes is how many recovery codes there are.
	Codes = 10
	// codeBytes is the length of a recovery code: 80 bits need no slow hash.
	codeBytes = 10
)

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewKey returns the key of an app: 160 bits in base32.
func NewKey() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return encoding.EncodeToString(b[:])
}

// URL is the key as apps read it from a QR code.
func URL(key, issuer, name string) string {
	return "otpauth://totp/" + url.PathEscape(issuer+":"+name) + "?secret=" + key + "&issuer=" + url.QueryEscape(issuer)
}

// Match returns the time step of a code; ok is false for one that does not belong to
// the key now.
func Match(key, typed string, now time.Time) (step int64, ok bool) {
	typed = strings.Join(strings.Fields(typed), "")
	at := now.Unix() / int64(period/time.Second)
	for _, step := range []int64{at, at - skew, at + skew} {
		code, err := hotp.GenerateCode(key, uint64(step))
		if err == nil && subtle.ConstantTimeCompare([]byte(code), []byte(typed)) == 1 {
			return step, true
		}
	}
	return 0, false
}

// NewCodes returns new recovery codes, as people see them, and their hashes.
func NewCodes() (codes, hashes []string) {
	for range Codes {
		var b [codeBytes]byte
		rand.Read(b[:]) // never fails
		text := strings.ToLower(encoding.EncodeToString(b[:]))
		code := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
		codes, hashes = append(codes, code), append(hashes, hash(text))
	}
	return codes, hashes
}

// codeHash returns the hash of a recovery code, however it was typed; ok is false for
// what cannot be one.
func codeHash(typed string) (_ string, ok bool) {
	text := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(typed)))
	if len(text) != encoding.EncodedLen(codeBytes) {
		return "", false
	}
	return hash(text), true
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func contains(hashes, one string) bool { return slices.Contains(strings.Split(hashes, ","), one) }
