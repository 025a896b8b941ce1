package doctor

import (
	"context"
	"errors"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/files"
)

// probeTimeout bounds the look at the place of pictures.
const probeTimeout = 10 * time.Second

// aboutPictures judges the place of pictures by a file, which it writes, reads and deletes.
func aboutPictures(ctx context.Context, place files.Store) finding {
	f := finding{Status: OK, What: "pictures"}
	if place == nil {
		f.Found = "off"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := files.Probe(ctx, place)
	f.Found = place.String()
	if err == nil {
		return f
	}
	f.Status, f.Found = Problem, shell.OneLine(err)
	f.Why = "nobody can upload a picture, or pictures are not shown"
	f.Do = "let the user of retwis write to it, or name another place with --media; all processes of a site need the same one"
	if errors.Is(err, files.ErrFull) {
		f.Why, f.Do = "nobody can upload a picture", "make room on the disk, or use a larger one"
	}
	return f
}
