package web_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/web"
)

// noDeadlineStore is a media store whose reads fail if their context has a deadline.
type noDeadlineStore struct{ files.Store }

func (p noDeadlineStore) Open(ctx context.Context, name string) (*files.File, error) {
	if _, bounded := ctx.Deadline(); bounded {
		return nil, errors.New("the context has a deadline")
	}
	return p.Store.Open(ctx, name)
}

// The download of a picture has no deadline, so that slow clients can read it.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	db := reach(t, redistest.DB(t).URL())
	place := noDeadlineStore{files.Directory(t.TempDir())}
	s := start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
	_, page := s.signedUp("ada").sendFiles("/post", map[string]string{"status": "look"}, map[string][]byte{"file1": photo(t)})
	if res := s.visitor().fetch(mediaAddress.FindString(page)); res.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", res.StatusCode)
	}
}
