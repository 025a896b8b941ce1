package posts

import (
	"context"
	_ "embed"
	"fmt"

	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/media"
	"retwis/internal/social/storage"
)

var (
	//go:embed describe_post.lua
	describePostSource string
	describePostScript = script.New(describePostSource).Retryable()
)

// Description is what an author can correct about the pictures of a post.
type Description struct {
	Alts      map[string]string // the texts of pictures by their ids; the others keep theirs
	Sensitive bool              // the pictures are shown after a click
}

// Describe corrects the descriptions of the pictures of a post. It returns *InvalidError for a text
// that is too long, and where somebody has changed the pictures at the same time; ErrNotFound, and
// ErrNotAuthor. Two round trips.
func (p *Service) Describe(ctx context.Context, author social.User, id int64, d Description) error {
	post, err := p.own(ctx, author, id)
	if err != nil {
		return err
	}
	pictures := post.Media.Pictures()
	for i := range pictures {
		alt, ok := d.Alts[pictures[i].ID]
		if !ok {
			continue
		}
		if pictures[i].Alt, err = media.CleanAlt(alt); err != nil {
			return err
		}
	}
	after := social.FormatMedia(pictures)
	if len(pictures) == 0 || after == post.Media && d.Sensitive == post.Sensitive {
		return nil
	}
	sensitive := ""
	if d.Sensitive {
		sensitive = "1"
	}
	changed, err := describePostScript.RunFenced(ctx, p.opt.DB.Client, []string{storage.PostKey(post.ID)},
		[]string{string(post.Media), string(after), sensitive}).AsInt64()
	p.opt.Views.Touch(post.ID)
	switch {
	case err != nil:
		return fmt.Errorf("social: describe pictures: %w", err)
	case changed == 0:
		return social.ErrNotFound
	case changed == 2:
		return social.Invalid("media", "The pictures were changed meanwhile. Please load the page again.")
	}
	return nil
}
