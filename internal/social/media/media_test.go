package media_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/picture"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/moderation"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// bundle is an application with a picture store.
type bundle struct {
	*socialtest.Bundle
	place files.Store
}

func setup(t *testing.T, change ...func(*app.Options)) bundle {
	t.Helper()
	return on(t, redistest.DB(t).Client(t), change...)
}

func (b bundle) do(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// photo is a picture as somebody uploads it.
var photos sync.Map // results of photo: [2]int → []byte

func photo(t testing.TB, width, height int) []byte {
	t.Helper()
	size := [2]int{width, height}
	if made, ok := photos.Load(size); ok {
		return made.([]byte)
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	img.Set(0, 0, color.White)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, nil); err != nil {
		t.Fatal(err)
	}
	photos.Store(size, out.Bytes())
	return out.Bytes()
}

func (b bundle) upload(owner social.User, kind media.Kind) media.Record {
	b.T.Helper()
	r, err := b.Media.Upload(b.Ctx, owner, "192.0.2.1", photo(b.T, 600, 450), kind)
	b.do(err)
	return r
}

func (b bundle) post(author social.User, body string, records ...media.Record) social.Post {
	b.T.Helper()
	draft := posts.Draft{Body: body}
	for i, r := range records {
		draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID, Alt: fmt.Sprint("picture ", i)})
	}
	post, err := b.Posts.PostOnce(b.Ctx, author, draft)
	b.do(err)
	return post
}

// names returns the names of the existing files.
func (b bundle) names() []string {
	b.T.Helper()
	names := []string{}
	for file, err := range b.place.List(b.Ctx) {
		b.do(err)
		names = append(names, file.Name)
	}
	return names
}

func (b bundle) sees(user social.User, id string) (found, public bool) {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, user)
	b.do(err)
	picture, err := b.Media.Find(b.Ctx, v, id)
	if errors.Is(err, social.ErrNotFound) {
		return false, false
	}
	b.do(err)
	return true, picture.Public
}

func (b bundle) wantClean() {
	b.T.Helper()
	result, err := check.Verify(b.Ctx, b.App, check.Options{Report: func(p check.Problem) { b.T.Errorf("check: %v", p) }})
	if err != nil || result.Problems+result.Leftovers > 0 {
		b.T.Errorf("check: %+v, %v", result, err)
	}
}

func TestPost(t *testing.T) {
	t.Parallel()
	onEachServer(t, testPost)
}

func testPost(t *testing.T, b bundle) {
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	first, second := b.upload(ada, media.Post), b.upload(ada, media.Post)
	if found, _ := b.sees(ada, first.ID); !found {
		t.Error("the owner does not see what was uploaded")
	}
	for _, other := range []social.User{ben, {}} {
		if found, _ := b.sees(other, first.ID); found {
			t.Errorf("%q sees what nothing uses", other.Name)
		}
	}
	post := b.post(ada, "look", second, first)
	read, err := b.Posts.Posts(b.Ctx, post.ID)
	b.do(err)
	pictures := read[0].Media.Pictures()
	if len(pictures) != 2 || pictures[0].ID != second.ID || pictures[1].Alt != "picture 1" || pictures[0].Large().Width != 600 || pictures[0].Blurhash == "" {
		t.Errorf("the post has %+v", pictures)
	}
	if r, err := b.Media.Store.Get(b.Ctx, first.ID); err != nil || r.Use != fmt.Sprint("post:", post.ID) || r.Picture.Alt != "picture 1" {
		t.Errorf("the record is %+v, %v", r, err)
	}
	for _, user := range []social.User{ada, ben, {}} {
		if found, public := b.sees(user, first.ID); !found || !public {
			t.Errorf("%q: found %v, public %v", user.Name, found, public)
		}
	}
	file, err := b.Media.Open(b.Ctx, first, "400")
	b.do(err)
	if file.Size == 0 || file.Close() != nil {
		t.Errorf("the file is %+v", file.Info)
	}
	if _, err := b.Media.Open(b.Ctx, first, "80"); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("a size that it does not have: %v", err)
	}
	b.wantClean()
	b.do(b.Posts.Edit(b.Ctx, ada, post.ID, "look again"))
	edited, err := b.Posts.Posts(b.Ctx, post.ID)
	b.do(err)
	if len(edited) != 1 || edited[0].Media != read[0].Media {
		t.Error("an edit has changed the pictures")
	}
	b.do(b.Posts.Delete(b.Ctx, ada, post.ID))
	if names := b.names(); len(names) > 0 {
		t.Errorf("after the deletion there are %v", names)
	}
	if found, _ := b.sees(ada, first.ID); found {
		t.Error("a deleted picture is found")
	}
	if left := b.Redis("HKEYS", storage.PostKey(post.ID)); strings.Contains(left, "media") {
		t.Errorf("the stub has %s", left)
	}
	b.wantClean()
}

// Pictures of a post are hidden from those who do not see the post.
func TestHidden(t *testing.T) {
	t.Parallel()
	onEachServer(t, testHidden)
}

func testHidden(t *testing.T, b bundle) {
	ada, ben, staff := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carol")
	b.do(b.Moderation.SetRole(b.Ctx, social.Operator, staff.ID, social.Moderator, ""))
	staff.Role = social.Moderator
	picture := b.upload(ada, media.Post)
	post := b.post(ada, "look", picture)
	b.do(b.Moderation.HidePost(b.Ctx, staff.Actor(), post.ID, "no", ""))
	for user, want := range map[string]bool{"ada": true, "ben": false, "carol": true, "": false} {
		of := map[string]social.User{"ada": ada, "ben": ben, "carol": staff}[user]
		if found, public := b.sees(of, picture.ID); found != want || public {
			t.Errorf("hidden, to %q: found %v, public %v", user, found, public)
		}
	}
	b.do(b.Moderation.UnhidePost(b.Ctx, staff.Actor(), post.ID, ""))
	if found, public := b.sees(social.User{}, picture.ID); !found || !public {
		t.Error("it is not shown again")
	}
	b.do(b.Moderation.SetStanding(b.Ctx, staff.Actor(), ada.ID, moderation.StandingChange{Standing: social.Suspended}))
	if found, _ := b.sees(ben, picture.ID); found {
		t.Error("the picture of a suspended author is shown")
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	onEachServer(t, testClaims)
}

func testClaims(t *testing.T, b bundle) {
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	picture := b.upload(ada, media.Post)
	avatar := b.upload(ada, media.Avatar)
	draft := func(chosen ...media.Chosen) posts.Draft { return posts.Draft{Body: "x", Pictures: chosen} }
	for what, d := range map[string]posts.Draft{
		"not an id":   draft(media.Chosen{ID: "../../etc"}),
		"unknown":     draft(media.Chosen{ID: strings.Repeat("0", 32)}),
		"an avatar":   draft(media.Chosen{ID: avatar.ID}),
		"twice":       draft(media.Chosen{ID: picture.ID}, media.Chosen{ID: picture.ID}),
		"a long text": draft(media.Chosen{ID: picture.ID, Alt: strings.Repeat("x", 1501)}),
		"five":        draft(make([]media.Chosen, 5)...),
	} {
		_, err := b.Posts.PostOnce(b.Ctx, ada, d)
		if invalid := new(social.InvalidError); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.Posts.PostOnce(b.Ctx, ben, draft(media.Chosen{ID: picture.ID})); err == nil {
		t.Error("ben has posted the picture of ada")
	}
	post := b.post(ada, "mine", picture)
	repeated := b.post(ada, "mine", picture) // a double click
	if repeated.ID != post.ID {
		t.Errorf("a double click makes post %d and %d", post.ID, repeated.ID)
	}
	if _, err := b.Posts.PostOnce(b.Ctx, ada, draft(media.Chosen{ID: picture.ID})); err == nil {
		t.Error("two posts have the picture")
	}
	// Without scripts, a form that is sent twice stores its files twice.
	second := b.upload(ada, media.Post)
	if same := b.post(ada, "mine", second); same.ID != post.ID || !same.Media.Has(picture.ID) {
		t.Errorf("the second form is post %d with %s, want %d", same.ID, same.Media, post.ID)
	}
	// A post that could not be written leaves its claim.
	claimed := b.upload(ada, media.Post)
	_, err := b.Media.Store.Claim(b.Ctx, ada.ID, 1<<40, []media.Chosen{{ID: claimed.ID}})
	b.do(err)
	if next := b.post(ada, "once more", claimed); !next.Media.Has(claimed.ID) {
		t.Errorf("the next post has %q", next.Media)
	}
	late := b.upload(ada, media.Post)
	b.Clock.Advance(media.Unused - time.Minute)
	if _, err := b.Posts.PostOnce(b.Ctx, ada, draft(media.Chosen{ID: late.ID})); err == nil {
		t.Error("a picture was posted that is about to be deleted")
	}
}

// A picture that two posts have claimed goes to exactly one of them, whichever is written first.
func TestClaimedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	write := func(id int64, pictures social.Media) {
		b.Redis("HSET", storage.PostKey(id), "user_id", storage.Itoa(ada.ID), "media", string(pictures))
	}
	for _, first := range []int64{1001, 1002} {
		chosen := []media.Chosen{{ID: b.upload(ada, media.Post).ID}}
		claims := map[int64]social.Media{}
		for _, id := range []int64{1001, 1002} { // neither is written yet
			pictures, err := b.Media.Store.Claim(b.Ctx, ada.ID, id, chosen)
			b.do(err)
			claims[id] = pictures
		}
		second := 1001 + 1002 - first
		write(first, claims[first])
		b.do(b.Media.Store.Attach(b.Ctx, first, ada.ID, claims[first]))
		write(second, claims[second])
		err := b.Media.Store.Attach(b.Ctx, second, ada.ID, claims[second])
		if invalid := new(social.InvalidError); !errors.As(err, &invalid) {
			t.Errorf("post %d gets the picture of post %d: %v", second, first, err)
		}
		b.Redis("DEL", storage.PostKey(1001), storage.PostKey(1002))
	}
}

// Of two concurrent forms with the same picture, one is refused.
func TestPostedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for round := range redistest.Cases(10, 200) {
		picture := b.upload(ada, media.Post)
		made, failed := make([]social.Post, 2), make([]error, 2)
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				made[i], failed[i] = b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: fmt.Sprint(round, i), Pictures: []media.Chosen{{ID: picture.ID}}})
			})
		}
		both.Wait()
		var refused int
		for i, err := range failed {
			invalid := new(social.InvalidError)
			switch {
			case err == nil && !made[i].Media.Has(picture.ID):
				t.Errorf("round %d: the post has no picture", round)
			case errors.As(err, &invalid):
				refused++
			default:
				b.do(err)
			}
		}
		if refused != 1 {
			t.Errorf("round %d: %d of two forms were refused", round, refused)
		}
	}
	b.wantClean()
}

// The longest descriptions are stored and shown.
func TestLongestDescriptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for _, character := range []string{"<\u0301\u0302\u0303", "\"\u0301\u0302\u0303", "\\"} {
		draft := posts.Draft{Body: character}
		for range social.MaxPictures {
			draft.Pictures = append(draft.Pictures, media.Chosen{ID: b.upload(ada, media.Post).ID, Alt: strings.Repeat(character, social.MaxAlt)})
		}
		post, err := b.Posts.PostOnce(b.Ctx, ada, draft)
		b.do(err)
		if n := len(post.Media.Pictures()); n != social.MaxPictures {
			t.Errorf("%q: %d pictures are shown", character, n)
		}
	}
	b.wantClean()
}

// Concurrent uploads do not exceed the quota.
func TestQuotaAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	size := b.upload(ada, media.Post).Bytes
	b.Media.Quota = 4*size + size/2
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, err := b.Media.Upload(b.Ctx, ada, "192.0.2.1", photo(t, 600, 450), media.Post)
			var full *media.QuotaError
			if err != nil && !errors.As(err, &full) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var used int64
	for r, err := range b.Media.Store.Of(b.Ctx, ada.ID) {
		b.do(err)
		used += r.Bytes
	}
	if used > b.Media.Quota {
		t.Errorf("%d bytes are used, of %d", used, b.Media.Quota)
	}
	b.wantClean()
}

func TestSweep(t *testing.T) {
	t.Parallel()
	onEachServer(t, testSweep)
}

func testSweep(t *testing.T, b bundle) {
	ada := b.NewUser("ada")
	used, unused := b.upload(ada, media.Post), b.upload(ada, media.Post)
	b.post(ada, "look", used)
	avatar := b.upload(ada, media.Avatar)
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, avatar.ID))
	store := b.Media.Store
	if n, err := store.Sweep(b.Ctx); n != 0 || err != nil {
		t.Errorf("at once: %d, %v", n, err)
	}
	b.Clock.Advance(media.Unused + time.Hour)
	if n, err := store.Sweep(b.Ctx); n != 1 || err != nil {
		t.Errorf("after a day: %d, %v", n, err)
	}
	if _, err := store.Get(b.Ctx, unused.ID); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("the unused one: %v", err)
	}
	if n := len(b.names()); n != 4 {
		t.Errorf("%d files, want those of two pictures", n)
	}
	b.wantClean()
}

func TestPortraits(t *testing.T) {
	t.Parallel()
	onEachServer(t, testPortraits)
}

func testPortraits(t *testing.T, b bundle) {
	ada := b.NewUser("ada")
	first, second, header := b.upload(ada, media.Avatar), b.upload(ada, media.Avatar), b.upload(ada, media.Header)
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, first.ID))
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Header, header.ID))
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, second.ID))
	users, err := b.Users.ByID(social.WithFresh(b.Ctx), []int64{ada.ID})
	b.do(err)
	if id := social.AvatarID(users[ada.ID].Avatar); id != second.ID {
		t.Errorf("the avatar is %q, want %s", users[ada.ID].Avatar, second.ID)
	}
	b.wantShown(map[string]bool{first.ID: true, second.ID: true, header.ID: true})
	b.wantClean()
	b.Clock.Advance(media.Replaced)
	b.wantShown(map[string]bool{first.ID: false, second.ID: true, header.ID: true})
	b.Clock.Advance(media.Unused)
	if n, err := b.Media.Store.Sweep(b.Ctx); n != 1 || err != nil {
		t.Errorf("%d replaced pictures are deleted, %v", n, err)
	}
	if err := b.Media.SetPortrait(b.Ctx, ada, media.Header, second.ID); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("an avatar as a header: %v", err)
	}
	third := b.upload(ada, media.Avatar)
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, third.ID))
	b.wantShown(map[string]bool{second.ID: true, third.ID: true})
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, ""))
	b.wantShown(map[string]bool{second.ID: false, third.ID: false, header.ID: true})
	if n := len(b.names()); n != len(header.Picture.Files) {
		t.Errorf("%d files are left", n)
	}
	b.wantClean()
}

// wantShown checks which pictures everybody sees.
func (b bundle) wantShown(pictures map[string]bool) {
	b.T.Helper()
	for id, want := range pictures {
		if found, public := b.sees(social.User{}, id); found != want || public != want {
			b.T.Errorf("%s: found %v, public %v", id, found, public)
		}
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	onEachServer(t, testQuota, func(opt *app.Options) { opt.MediaQuota = 1_000_000 })
}

func testQuota(t *testing.T, b bundle) {
	ada := b.NewUser("ada")
	var err error
	for range 100 {
		if _, err = b.Media.Upload(b.Ctx, ada, "", photo(t, 600, 450), media.Post); err != nil {
			break
		}
	}
	quota := new(media.QuotaError)
	if !errors.As(err, &quota) || quota.Left < 0 || quota.Left >= 1_000_000 {
		t.Errorf("got %v", err)
	}
	if len(b.names()) == 0 {
		t.Error("nothing was stored before")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for want, file := range map[error]string{picture.ErrType: "<svg/>", picture.ErrDamaged: string(photo(t, 100, 100)[:200])} {
		if _, err := b.Media.Upload(b.Ctx, ada, "", []byte(file), media.Post); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if b.Media.Counts.Refused[media.WrongType].Load() != 1 || b.Media.Counts.Refused[media.Damaged].Load() != 1 || len(b.names()) > 0 {
		t.Errorf("counted %d and %d; files %v", b.Media.Counts.Refused[media.WrongType].Load(), b.Media.Counts.Refused[media.Damaged].Load(), b.names())
	}
}

// Deleting an account deletes its pictures.
func TestRemoval(t *testing.T) {
	t.Parallel()
	onEachServer(t, testRemoval)
}

func testRemoval(t *testing.T, b bundle) {
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.post(ada, "look", b.upload(ada, media.Post), b.upload(ada, media.Post))
	b.upload(ada, media.Post)
	b.do(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, b.upload(ada, media.Avatar).ID))
	bens := b.upload(ben, media.Post)
	b.post(ben, "mine", bens)
	b.do(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	b.do(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	names := b.names()
	if len(names) != len(bens.Picture.Files) || !strings.HasPrefix(names[0], bens.ID) {
		t.Errorf("the files are %v", names)
	}
	b.wantClean()
}

// A check finds the remains of a crash, and what was lost.
func TestCheck(t *testing.T) {
	t.Parallel()
	onEachServer(t, testCheck)
}

func testCheck(t *testing.T, b bundle) {
	ada := b.NewUser("ada")
	lost, intact := b.upload(ada, media.Post), b.upload(ada, media.Post)
	b.post(ada, "look", lost, intact)
	b.Redis("DEL", storage.MediaKey(lost.ID))
	b.do(b.place.Put(b.Ctx, strings.Repeat("a", 32)+"-400.jpg", []byte("orphan")))
	b.do(b.place.Delete(b.Ctx, intact.Picture.Stored(intact.Picture.Small())))
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
	var found []string
	report := func(p check.Problem) { found = append(found, p.Detail) }
	_, err := check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true, Report: report})
	b.do(err)
	for _, want := range []string{"which has no record", "belongs to no picture", "lacks its file"} {
		if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("%q is not among %q", want, found)
		}
	}
	if r, err := b.Media.Store.Get(b.Ctx, lost.ID); err != nil || r.Owner != ada.ID || r.Bytes != lost.Bytes {
		t.Errorf("the record is %+v, %v", r, err)
	}
	if names := b.names(); slices.Contains(names, strings.Repeat("a", 32)+"-400.jpg") {
		t.Error("the orphan is still there")
	}
}
