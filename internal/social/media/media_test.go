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

func (b bundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// photos caches the results of photo: [2]int → []byte.
var photos sync.Map

// photo returns a JPEG file of a size.
func photo(t testing.TB, width, height int) []byte {
	t.Helper()
	size := [2]int{width, height}
	if file, ok := photos.Load(size); ok {
		return file.([]byte)
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
	b.must(err)
	return r
}

func (b bundle) post(author social.User, body string, records ...media.Record) social.Post {
	b.T.Helper()
	draft := posts.Draft{Body: body}
	for i, r := range records {
		draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID, Alt: fmt.Sprint("picture ", i)})
	}
	post, err := b.Posts.PostOnce(b.Ctx, author, draft)
	b.must(err)
	return post
}

// names returns the names of the existing files.
func (b bundle) names() []string {
	b.T.Helper()
	names := []string{}
	for file, err := range b.place.List(b.Ctx) {
		b.must(err)
		names = append(names, file.Name)
	}
	return names
}

// sees reports whether a user can see a picture, and whether the picture is public.
func (b bundle) sees(user social.User, id string) (found, public bool) {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, user)
	b.must(err)
	picture, err := b.Media.Find(b.Ctx, v, id)
	if errors.Is(err, social.ErrNotFound) {
		return false, false
	}
	b.must(err)
	return true, picture.Public
}

// wantClean checks that Verify finds no problems and no leftovers.
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
		t.Error("the owner does not see an uploaded picture")
	}
	for _, other := range []social.User{ben, {}} {
		if found, _ := b.sees(other, first.ID); found {
			t.Errorf("%q sees an unused picture of ada", other.Name)
		}
	}
	post := b.post(ada, "look", second, first)
	read, err := b.Posts.Posts(b.Ctx, post.ID)
	b.must(err)
	pictures := read[0].Media.Pictures()
	if len(pictures) != 2 || pictures[0].ID != second.ID || pictures[1].Alt != "picture 1" || pictures[0].Large().Width != 600 || pictures[0].Blurhash == "" {
		t.Errorf("pictures of the post: %+v", pictures)
	}
	if r, err := b.Media.Store.Get(b.Ctx, first.ID); err != nil || r.Use != fmt.Sprint("post:", post.ID) || r.Picture.Alt != "picture 1" {
		t.Errorf("record of the first picture: %+v, %v", r, err)
	}
	for _, user := range []social.User{ada, ben, {}} {
		if found, public := b.sees(user, first.ID); !found || !public {
			t.Errorf("%q: found %v, public %v; want true, true", user.Name, found, public)
		}
	}
	file, err := b.Media.Open(b.Ctx, first, "400")
	b.must(err)
	if file.Size == 0 || file.Close() != nil {
		t.Errorf("file of size 400: %+v", file.Info)
	}
	if _, err := b.Media.Open(b.Ctx, first, "80"); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Open of a missing size: %v, want ErrNotFound", err)
	}
	b.wantClean()
	b.must(b.Posts.Edit(b.Ctx, ada, post.ID, "look again"))
	edited, err := b.Posts.Posts(b.Ctx, post.ID)
	b.must(err)
	if len(edited) != 1 || edited[0].Media != read[0].Media {
		t.Error("Edit changed the pictures")
	}
	b.must(b.Posts.Delete(b.Ctx, ada, post.ID))
	if names := b.names(); len(names) > 0 {
		t.Errorf("files after the deletion: %v, want none", names)
	}
	if found, _ := b.sees(ada, first.ID); found {
		t.Error("Find returned a deleted picture")
	}
	if left := b.Redis("HKEYS", storage.PostKey(post.ID)); strings.Contains(left, "media") {
		t.Errorf("fields of the stub: %s, want no media", left)
	}
	b.wantClean()
}

// The pictures of a post are hidden from users who cannot see the post.
func TestHidden(t *testing.T) {
	t.Parallel()
	onEachServer(t, testHidden)
}

func testHidden(t *testing.T, b bundle) {
	ada, ben, staff := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carol")
	b.must(b.Moderation.SetRole(b.Ctx, social.Operator, staff.ID, social.Moderator, ""))
	staff.Role = social.Moderator
	picture := b.upload(ada, media.Post)
	post := b.post(ada, "look", picture)
	b.must(b.Moderation.HidePost(b.Ctx, staff.Actor(), post.ID, "no", ""))
	for name, want := range map[string]bool{"ada": true, "ben": false, "carol": true, "": false} {
		viewer := map[string]social.User{"ada": ada, "ben": ben, "carol": staff}[name]
		if found, public := b.sees(viewer, picture.ID); found != want || public {
			t.Errorf("hidden post, viewer %q: found %v, public %v; want %v, false", name, found, public, want)
		}
	}
	b.must(b.Moderation.UnhidePost(b.Ctx, staff.Actor(), post.ID, ""))
	if found, public := b.sees(social.User{}, picture.ID); !found || !public {
		t.Error("the picture is not shown after UnhidePost")
	}
	b.must(b.Moderation.SetStanding(b.Ctx, staff.Actor(), ada.ID, moderation.StandingChange{Standing: social.Suspended}))
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
	for name, d := range map[string]posts.Draft{
		"not an id":   draft(media.Chosen{ID: "../../etc"}),
		"unknown":     draft(media.Chosen{ID: strings.Repeat("0", 32)}),
		"an avatar":   draft(media.Chosen{ID: avatar.ID}),
		"twice":       draft(media.Chosen{ID: picture.ID}, media.Chosen{ID: picture.ID}),
		"a long text": draft(media.Chosen{ID: picture.ID, Alt: strings.Repeat("x", 1501)}),
		"five":        draft(make([]media.Chosen, 5)...),
	} {
		_, err := b.Posts.PostOnce(b.Ctx, ada, d)
		if invalid := new(social.InvalidError); !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want InvalidError", name, err)
		}
	}
	if _, err := b.Posts.PostOnce(b.Ctx, ben, draft(media.Chosen{ID: picture.ID})); err == nil {
		t.Error("ben posted the picture of ada")
	}
	post := b.post(ada, "mine", picture)
	repeated := b.post(ada, "mine", picture) // the same form again
	if repeated.ID != post.ID {
		t.Errorf("the same form created the posts %d and %d", post.ID, repeated.ID)
	}
	if _, err := b.Posts.PostOnce(b.Ctx, ada, draft(media.Chosen{ID: picture.ID})); err == nil {
		t.Error("a second post has the same picture")
	}
	// Without JavaScript, a form that is submitted twice uploads its files twice.
	second := b.upload(ada, media.Post)
	if same := b.post(ada, "mine", second); same.ID != post.ID || !same.Media.Has(picture.ID) {
		t.Errorf("the second form created post %d with %s, want post %d", same.ID, same.Media, post.ID)
	}
	// If a post cannot be written, its claim remains.
	claimed := b.upload(ada, media.Post)
	_, err := b.Media.Store.Claim(b.Ctx, ada.ID, 1<<40, []media.Chosen{{ID: claimed.ID}})
	b.must(err)
	if next := b.post(ada, "once more", claimed); !next.Media.Has(claimed.ID) {
		t.Errorf("media of the next post: %q, want the claimed picture", next.Media)
	}
	late := b.upload(ada, media.Post)
	b.Clock.Advance(media.Unused - time.Minute)
	if _, err := b.Posts.PostOnce(b.Ctx, ada, draft(media.Chosen{ID: late.ID})); err == nil {
		t.Error("PostOnce accepted a picture that is about to be deleted")
	}
}

// If two posts claim a picture, the post that is written first gets the picture.
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
		for _, id := range []int64{1001, 1002} { // neither post is written yet
			pictures, err := b.Media.Store.Claim(b.Ctx, ada.ID, id, chosen)
			b.must(err)
			claims[id] = pictures
		}
		second := 1001 + 1002 - first
		write(first, claims[first])
		b.must(b.Media.Store.Attach(b.Ctx, first, ada.ID, claims[first]))
		write(second, claims[second])
		err := b.Media.Store.Attach(b.Ctx, second, ada.ID, claims[second])
		if invalid := new(social.InvalidError); !errors.As(err, &invalid) {
			t.Errorf("Attach to post %d of the picture of post %d: %v, want InvalidError", second, first, err)
		}
		b.Redis("DEL", storage.PostKey(1001), storage.PostKey(1002))
	}
}

// One of two concurrent posts with the same picture is rejected.
func TestPostedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for round := range redistest.Cases(10, 200) {
		picture := b.upload(ada, media.Post)
		results, errs := make([]social.Post, 2), make([]error, 2)
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				results[i], errs[i] = b.Posts.PostOnce(b.Ctx, ada, posts.Draft{Body: fmt.Sprint(round, i), Pictures: []media.Chosen{{ID: picture.ID}}})
			})
		}
		wg.Wait()
		var refused int
		for i, err := range errs {
			invalid := new(social.InvalidError)
			switch {
			case err == nil && !results[i].Media.Has(picture.ID):
				t.Errorf("round %d: the post has no picture", round)
			case errors.As(err, &invalid):
				refused++
			default:
				b.must(err)
			}
		}
		if refused != 1 {
			t.Errorf("round %d: %d of two posts were rejected, want 1", round, refused)
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
		b.must(err)
		if n := len(post.Media.Pictures()); n != social.MaxPictures {
			t.Errorf("%q: the post has %d pictures, want %d", character, n, social.MaxPictures)
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
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			_, err := b.Media.Upload(b.Ctx, ada, "192.0.2.1", photo(t, 600, 450), media.Post)
			var full *media.QuotaError
			if err != nil && !errors.As(err, &full) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var used int64
	for r, err := range b.Media.Store.Of(b.Ctx, ada.ID) {
		b.must(err)
		used += r.Bytes
	}
	if used > b.Media.Quota {
		t.Errorf("%d bytes are used, more than the quota of %d", used, b.Media.Quota)
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
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, avatar.ID))
	store := b.Media.Store
	if n, err := store.Sweep(b.Ctx); n != 0 || err != nil {
		t.Errorf("first Sweep = %d, %v; want 0", n, err)
	}
	b.Clock.Advance(media.Unused + time.Hour)
	if n, err := store.Sweep(b.Ctx); n != 1 || err != nil {
		t.Errorf("Sweep after media.Unused = %d, %v; want 1", n, err)
	}
	if _, err := store.Get(b.Ctx, unused.ID); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Get of the unused picture: %v, want ErrNotFound", err)
	}
	if n := len(b.names()); n != 4 {
		t.Errorf("%d files, want 4 files of two pictures", n)
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
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, first.ID))
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Header, header.ID))
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, second.ID))
	users, err := b.Users.ByID(social.WithFresh(b.Ctx), []int64{ada.ID})
	b.must(err)
	if id := social.AvatarID(users[ada.ID].Avatar); id != second.ID {
		t.Errorf("the avatar is %q, want %s", users[ada.ID].Avatar, second.ID)
	}
	b.wantShown(map[string]bool{first.ID: true, second.ID: true, header.ID: true})
	b.wantClean()
	b.Clock.Advance(media.Replaced)
	b.wantShown(map[string]bool{first.ID: false, second.ID: true, header.ID: true})
	b.Clock.Advance(media.Unused)
	if n, err := b.Media.Store.Sweep(b.Ctx); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v; want 1 replaced picture", n, err)
	}
	if err := b.Media.SetPortrait(b.Ctx, ada, media.Header, second.ID); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("SetPortrait of an avatar as a header: %v, want ErrNotFound", err)
	}
	third := b.upload(ada, media.Avatar)
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, third.ID))
	b.wantShown(map[string]bool{second.ID: true, third.ID: true})
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, ""))
	b.wantShown(map[string]bool{second.ID: false, third.ID: false, header.ID: true})
	if n := len(b.names()); n != len(header.Picture.Files) {
		t.Errorf("%d files remain, want %d", n, len(header.Picture.Files))
	}
	b.wantClean()
}

// wantShown checks which pictures are shown to everybody.
func (b bundle) wantShown(pictures map[string]bool) {
	b.T.Helper()
	for id, want := range pictures {
		if found, public := b.sees(social.User{}, id); found != want || public != want {
			b.T.Errorf("%s: found %v, public %v; want %v", id, found, public, want)
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
		t.Errorf("Upload: %v, want QuotaError", err)
	}
	if len(b.names()) == 0 {
		t.Error("no picture was stored before the quota was reached")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	for want, file := range map[error]string{picture.ErrType: "<svg/>", picture.ErrDamaged: string(photo(t, 100, 100)[:200])} {
		if _, err := b.Media.Upload(b.Ctx, ada, "", []byte(file), media.Post); !errors.Is(err, want) {
			t.Errorf("Upload: %v, want %v", err, want)
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
	b.must(b.Media.SetPortrait(b.Ctx, ada, media.Avatar, b.upload(ada, media.Avatar).ID))
	bens := b.upload(ben, media.Post)
	b.post(ben, "mine", bens)
	b.must(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	b.must(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	names := b.names()
	if len(names) != len(bens.Picture.Files) || !strings.HasPrefix(names[0], bens.ID) {
		t.Errorf("files after the removal: %v, want those of ben", names)
	}
	b.wantClean()
}

// Check finds leftovers of a crash, and lost records and files.
func TestCheck(t *testing.T) {
	t.Parallel()
	onEachServer(t, testCheck)
}

func testCheck(t *testing.T, b bundle) {
	ada := b.NewUser("ada")
	lost, intact := b.upload(ada, media.Post), b.upload(ada, media.Post)
	b.post(ada, "look", lost, intact)
	b.Redis("DEL", storage.MediaKey(lost.ID))
	b.must(b.place.Put(b.Ctx, strings.Repeat("a", 32)+"-400.jpg", []byte("orphan")))
	b.must(b.place.Delete(b.Ctx, intact.Picture.Stored(intact.Picture.Small())))
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
	var found []string
	report := func(p check.Problem) { found = append(found, p.Detail) }
	_, err := check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true, Report: report})
	b.must(err)
	for _, want := range []string{"which has no record", "belongs to no picture", "lacks its file"} {
		if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("reports %q, want one that contains %q", found, want)
		}
	}
	if r, err := b.Media.Store.Get(b.Ctx, lost.ID); err != nil || r.Owner != ada.ID || r.Bytes != lost.Bytes {
		t.Errorf("repaired record: %+v, %v", r, err)
	}
	if names := b.names(); slices.Contains(names, strings.Repeat("a", 32)+"-400.jpg") {
		t.Error("Repair did not delete the orphan")
	}
}
