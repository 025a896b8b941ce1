package doctor

import (
	"context"
	"errors"
	"time"

	"retwis/internal/cli/shell"
	"retwis/internal/files"
)

// probeTimeout bounds the check of the media store.
const probeTimeout = 10 * time.Second

// checkMediaStore writes, reads and deletes a probe file.
func checkMediaStore(ctx context.Context, media files.Store) finding {
	f := finding{Status: OK, What: "pictures"}
	if media == nil {
		f.Found = "off"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := files.Probe(ctx, media)
	f.Found = media.String()
	if err == nil {
		return f
	}
	f.Status, f.Found = Problem, shell.OneLine(err)
	f.Why = "pictures cannot be uploaded or shown"
	f.Do = "let the user that runs retwis write to it, or set another location with --media; all processes of a site need the same one"
	if errors.Is(err, files.ErrFull) {
		f.Why, f.Do = "pictures cannot be uploaded", "free space on the disk, or use a larger disk"
	}
	return f
}
