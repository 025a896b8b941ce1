package media

import (
	"errors"
	"sync/atomic"

	"retwis/internal/files"
	"retwis/internal/picture"
)

// Reason is the reason why an upload was refused.
type Reason int

// The reasons.
const (
	WrongType Reason = iota
	TooLarge
	Damaged
	Quota
	Busy
	Full
	Unavailable
	Reasons // the number of reasons
)

func (r Reason) String() string {
	return [...]string{"type", "size", "damaged", "quota", "busy", "full", "unavailable"}[r]
}

// Counts counts uploads since the start of the process.
type Counts struct {
	Files, Bytes atomic.Int64
	Refused      [Reasons]atomic.Int64
}

// uploaded counts the outcome of an upload.
func (c *Counts) uploaded(r Record, err error) {
	if err == nil {
		c.Files.Add(int64(len(r.Picture.Files)))
		c.Bytes.Add(r.Bytes)
		return
	}
	c.Refused[reasonOf(err)].Add(1)
}

// reasonOf returns the Reason of an error of Service.Upload.
func reasonOf(err error) Reason {
	var quota *QuotaError
	switch {
	case errors.Is(err, picture.ErrType):
		return WrongType
	case errors.Is(err, picture.ErrTooLarge):
		return TooLarge
	case errors.Is(err, picture.ErrDamaged), errors.Is(err, picture.ErrTime):
		return Damaged
	case errors.As(err, &quota):
		return Quota
	case errors.Is(err, picture.ErrBusy):
		return Busy
	case errors.Is(err, files.ErrFull):
		return Full
	}
	return Unavailable
}
