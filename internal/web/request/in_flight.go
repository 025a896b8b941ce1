package request

import (
	"net/http"
	"sync"

	"retwis/internal/i18n"
	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

// Limits on the bytes of files that one account and one address may be uploading at a time. Uploads
// take disk space until they are stored, and no other limit counts data that has not arrived.
const (
	maxPerAccount = 2 * maxUpload
	maxPerAddress = 8 * maxUpload
)

// errUploads means that an account or address is uploading too much at the same time.
var errUploads = &Error{Status: http.StatusTooManyRequests, Detail: i18n.T("You are uploading too many files at once. Wait for them to finish, then try again.")}

// inFlight counts the bytes being uploaded. The zero value is ready to use.
type inFlight struct {
	mu    sync.Mutex
	bytes map[string]int64
}

// take counts the files of a request as in flight until release is called. It returns errUploads if
// a limit is exceeded.
func (f *inFlight) take(req *Request) (release func(), err error) {
	size := req.files
	if n := req.R.ContentLength; n >= 0 && n < size {
		size = n
	}
	limit := map[string]int64{"account " + storage.Itoa(req.User.ID): maxPerAccount}
	if address := req.LimitAddress(); address.IsValid() {
		limit["address "+limits.Place(address)] = maxPerAddress
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, maxBytes := range limit {
		if f.bytes[key]+size > maxBytes {
			return nil, errUploads
		}
	}
	if f.bytes == nil {
		f.bytes = map[string]int64{}
	}
	for key := range limit {
		f.bytes[key] += size
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for key := range limit {
			if f.bytes[key] -= size; f.bytes[key] == 0 {
				delete(f.bytes, key)
			}
		}
	}, nil
}
