package request

import (
	"net/http"
	"sync"

	"retwis/internal/i18n"
	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

// How many bytes of files one account, and one address, may be uploading at the same time: until
// they are stored they are on disk, and no other limit counts what has not arrived.
const (
	maxOfAccount = 2 * maxUpload
	maxOfAddress = 8 * maxUpload
)

// errUploads means that an account or address is uploading too much at the same time.
var errUploads = &Error{Status: http.StatusTooManyRequests, Detail: i18n.T("You are uploading too many files at once. Wait until they have arrived, and try again.")}

// inFlight counts the bytes being uploaded. The zero value is ready to use.
type inFlight struct {
	mu    sync.Mutex
	bytes map[string]int64
}

// take counts the files of a request until release is called, or returns errUploads.
func (f *inFlight) take(req *Request) (release func(), err error) {
	size := req.files
	if n := req.R.ContentLength; n >= 0 && n < size {
		size = n
	}
	most := map[string]int64{"account " + storage.Itoa(req.User.ID): maxOfAccount}
	if address := req.LimitAddress(); address.IsValid() {
		most["address "+limits.Place(address)] = maxOfAddress
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, most := range most {
		if f.bytes[key]+size > most {
			return nil, errUploads
		}
	}
	if f.bytes == nil {
		f.bytes = map[string]int64{}
	}
	for key := range most {
		f.bytes[key] += size
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for key := range most {
			if f.bytes[key] -= size; f.bytes[key] == 0 {
				delete(f.bytes, key)
			}
		}
	}, nil
}
