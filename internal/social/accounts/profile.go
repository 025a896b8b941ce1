package accounts

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// UserProfile is what users say about themselves.
type UserProfile struct {
	DisplayName string   // shown instead of the username; may be empty
	Bio         string   // may have several lines
	Links       []string // addresses of web pages
	Pinned      int64    // the post shown first on the profile; 0 for none
	// Unsearchable excludes the user's posts from other people's searches.
	Unsearchable bool
	Header       string // the path of the picture above the profile, as in social.User.Avatar
}

// Limits on a profile. Lengths are in user-perceived characters; see MaxBody.
const (
	MaxDisplayName = 50
	MaxBio         = 300
	MaxLinks       = 4
	MaxLink        = 200 // in bytes

	maxBioLines = 10
)

// Profiles manages what users say about themselves.
type Profiles struct{ ProfileOptions }

// ProfileOptions configure Profiles; all are required.
type ProfileOptions struct {
	timeline.Parts
	Names     *search.Completions
	Search    *search.People
	Blocklist *blocklist.List
}

// NewProfiles returns the Profiles of a site.
func NewProfiles(opt ProfileOptions) *Profiles { return &Profiles{opt} }

// Get returns the profile of a user, or ErrNotFound. It omits a pinned post that is deleted or
// belongs to another user. At most one round trip, or two for a pinned post that is not in memory.
func (p *Profiles) Get(ctx context.Context, uid int64) (UserProfile, error) {
	fields, err := p.DB.Read(ctx, p.DB.Client.B().Hmget().Key(storage.UserKey(uid)).
		Field("username", "display_name", "bio", "links", "pinned", "unsearchable", "header").Cache()).ToArray()
	if err != nil {
		return UserProfile{}, fmt.Errorf("social: read a profile: %w", err)
	}
	texts := make([]string, len(fields))
	for i, field := range fields {
		if !field.IsNil() {
			texts[i], _ = field.ToString()
		}
	}
	if len(texts) != 7 || fields[0].IsNil() {
		return UserProfile{}, social.ErrNotFound
	}
	profile := UserProfile{DisplayName: texts[1], Bio: texts[2], Links: readLinks(texts[3]), Unsearchable: texts[5] != "", Header: texts[6]}
	pinned, ok := storage.ParseID(texts[4])
	if !ok {
		return profile, nil
	}
	found, err := p.Views.Get(ctx, pinned)
	if err != nil {
		return UserProfile{}, err
	}
	if post := found[0]; post != nil && !post.Deleted && post.Author.ID == uid {
		profile.Pinned = pinned
	}
	return profile, nil
}

// readLinks parses stored links. It drops any that are not web addresses, because a database can
// contain any text.
func readLinks(text string) []string {
	if len(text) > MaxLinks*(MaxLink+1) {
		return nil
	}
	var links []string
	for line := range strings.Lines(text) {
		if link, err := cleanLink(line); err == nil && link != "" && len(links) < MaxLinks {
			links = append(links, link)
		}
	}
	return links
}

// Edit changes the display name, the bio and the links of a user; Pin and Unpin change the pinned
// post. It returns *InvalidError if something is not allowed, and ErrNotFound if there is no such
// user. The user's latest posts show a new display name immediately in this process; all posts show
// it everywhere within a minute. About eight round trips, two more for a new display name.
func (p *Profiles) Edit(ctx context.Context, user social.User, profile UserProfile) error {
	name, err := social.CleanLine(profile.DisplayName, "display_name", MaxDisplayName)
	if err != nil {
		return err
	}
	if name != user.DisplayName && user.Role == social.Member && social.LooksOfficial(name) {
		return social.Invalid("display_name", "That name is reserved. Please choose another one.")
	}
	bio, err := cleanMultiline(profile.Bio, "bio", MaxBio)
	if err != nil {
		return err
	}
	links, err := cleanLinks(profile.Links)
	if err != nil {
		return err
	}
	for _, input := range []struct{ field, text string }{{"display_name", name}, {"bio", bio}, {"links", strings.Join(links, " ")}} {
		if err := p.Blocklist.CheckText(ctx, input.field, input.text); err != nil {
			return err
		}
	}
	unsearchable := ""
	if profile.Unsearchable {
		unsearchable = "1"
	}
	edit := func() error {
		return p.Users.Edit(ctx, user.ID, "display_name", name, "bio", bio, "links", strings.Join(links, "\n"), "unsearchable", unsearchable)
	}
	err = p.Search.Change(ctx, user.ID, func() error {
		if name == user.DisplayName {
			return edit()
		}
		return p.Names.Renamed(ctx, user, edit, name)
	})
	if err != nil {
		return err
	}
	if name == user.DisplayName {
		return nil
	}
	p.Users.ForgetLatest()
	return p.TouchPosts(ctx, user.ID)
}

// TouchPosts makes the next readers in this process see the current state of a user's latest posts.
func (p *Profiles) TouchPosts(ctx context.Context, uid int64) error {
	const latest = "49"
	b := p.DB.Client.B()
	for _, res := range p.DB.Client.DoMulti(ctx,
		b.Zrange().Key(storage.ProfileKey(uid)).Min("0").Max(latest).Rev().Build(),
		b.Zrange().Key(storage.ProfileRepliesKey(uid)).Min("0").Max(latest).Rev().Build(),
		b.Zrange().Key(storage.ArchiveKey(uid)).Min("0").Max(latest).Rev().Build(),
	) {
		ids, err := res.AsIntSlice()
		if err != nil {
			return fmt.Errorf("social: edit a profile: %w", err)
		}
		for _, id := range ids {
			p.Views.Touch(id)
		}
	}
	return nil
}

// Pin puts a post first on its author's profile. It returns ErrNotFound if there is no such post,
// and ErrNotAuthor for another user's post or a repost of it. One round trip if the post is in
// memory.
func (p *Profiles) Pin(ctx context.Context, user social.User, id int64) error {
	found, err := p.Views.Get(ctx, id)
	if err != nil {
		return err
	}
	post := found[0]
	switch {
	case post == nil || post.Deleted:
		return social.ErrNotFound
	case post.Author.ID != user.ID:
		return social.ErrNotAuthor
	case post.RepostOf != 0:
		return p.Pin(ctx, user, post.RepostOf)
	}
	return p.Users.Edit(ctx, user.ID, "pinned", storage.Itoa(id))
}

// Unpin removes a post from the top of its author's profile, if the post is pinned. One round trip.
func (p *Profiles) Unpin(ctx context.Context, user social.User, id int64) error {
	found, err := p.Views.Get(ctx, id)
	if err != nil {
		return err
	}
	if post := found[0]; post != nil && post.RepostOf != 0 {
		id = post.RepostOf
	}
	if _, err := storage.DeleteFieldIf(ctx, p.DB.Client, storage.UserKey(user.ID), "pinned", storage.Itoa(id)); err != nil {
		return fmt.Errorf("social: unpin: %w", err)
	}
	return nil
}

// cleanMultiline is social.CleanLine for a text that keeps its line breaks; see social.CleanLines.
func cleanMultiline(typed, field string, limit int) (string, error) {
	if len(typed) > social.MaxTyped {
		return "", social.TooLong(field, limit)
	}
	text, lines := social.CleanLines(social.CleanRunes(typed))
	if lines > maxBioLines {
		return "", social.Invalid(field, "Use at most {n} lines.", maxBioLines)
	}
	return social.BoundText(text, field, limit)
}

func cleanLinks(typed []string) ([]string, error) {
	var links []string
	for _, typedLink := range typed {
		link, err := cleanLink(typedLink)
		if err != nil {
			return nil, err
		}
		if link == "" {
			continue
		}
		if len(links) == MaxLinks {
			return nil, social.Invalid("links", "Use at most {n} links.", MaxLinks)
		}
		links = append(links, link)
	}
	return links, nil
}

// cleanLink returns the address of a web page in its usual form, or an empty string for an empty
// text. An address without a scheme becomes an https address.
func cleanLink(typed string) (string, error) {
	invalid := social.Invalid("links", "Use web addresses such as https://example.com.")
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return "", nil
	}
	if len(typed) > MaxLink {
		return "", social.Invalid("links", "A link can have at most {n} characters.", MaxLink)
	}
	if !strings.Contains(typed, "://") {
		typed = "https://" + typed
	}
	u, err := url.Parse(typed)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Opaque != "" ||
		!strings.Contains(strings.Trim(u.Hostname(), "."), ".") {
		return "", invalid
	}
	link := u.String()
	if len(link) > MaxLink || strings.ContainsFunc(link, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || social.IsDirectionOverride(r)
	}) {
		return "", invalid
	}
	return link, nil
}
