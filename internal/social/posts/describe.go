package posts

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

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

// Description has the properties of a post's pictures that the author can change.
type Description struct {
	Pictures  []media.Chosen // new picture descriptions; other pictures keep theirs
	Sensitive bool           // the pictures are shown after a click
}

// Describe changes the descriptions of the pictures of a post. It returns *InvalidError if a text
// is not allowed or the pictures were changed concurrently, ErrForbidden if the address is blocked,
// ErrNotFound, or ErrNotAuthor. Two round trips.
func (p *Service) Describe(ctx context.Context, author social.User, id int64, d Description) error {
	err := p.opt.Blocklist.CheckAddress(ctx)
	if err == nil {
		err = p.checkAlts(ctx, d.Pictures)
	}
	if err != nil {
		return err
	}
	post, err := p.own(ctx, author, id)
	if err != nil {
		return err
	}
	pictures := post.Media.Pictures()
	for i := range pictures {
		j := slices.IndexFunc(d.Pictures, func(c media.Chosen) bool { return c.ID == pictures[i].ID })
		if j < 0 {
			continue
		}
		if pictures[i].Alt, err = media.CleanAlt(d.Pictures[j].Alt); err != nil {
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
		return social.Invalid("media", "The pictures were changed in the meantime. Please reload the page.")
	}
	return nil
}
