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

// unhurriedPlace is a media store whose reads ignore deadlines.
type unhurriedPlace struct{ files.Store }

func (p unhurriedPlace) Open(ctx context.Context, name string) (*files.File, error) {
	if _, bounded := ctx.Deadline(); bounded {
		return nil, errors.New("a slow client would be cut off")
	}
	return p.Store.Open(ctx, name)
}

// A client may take longer to read a picture than a page may take.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	db := reach(t, redistest.DB(t).URL())
	place := unhurriedPlace{files.Directory(t.TempDir())}
	s := start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
	_, page := s.signedUp("ada").sendFiles("/post", map[string]string{"status": "look"}, map[string][]byte{"file1": photo(t)})
	if res := s.visitor().fetch(mediaAddress.FindString(page)); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}
