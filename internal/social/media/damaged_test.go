package media_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/storage"
)

// damages make a record unreadable.
var damages = map[string]func(b bundle, id string){
	"bytes":   func(b bundle, id string) { b.Redis("HSET", storage.MediaKey(id), "bytes", "many") },
	"picture": func(b bundle, id string) { b.Redis("HSET", storage.MediaKey(id), "picture", "none") },
	"type": func(b bundle, id string) {
		b.Redis("DEL", storage.MediaKey(id))
		b.Redis("SET", storage.MediaKey(id), "none")
	},
}

// damagedPictures is a user with unreadable records of pictures in a post, in an avatar, and
// unused, and one readable record of an unused picture.
type damagedPictures struct {
	bundle
	owner        social.User
	posted       media.Record
	unused, left media.Record
}

func everyDamage(t *testing.T, test func(t *testing.T, d damagedPictures)) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachServer(t, func(t *testing.T, b bundle) {
				d := damagedPictures{bundle: b, owner: b.NewUser("ada")}
				d.posted, d.unused, d.left = b.upload(d.owner, media.Post), b.upload(d.owner, media.Post), b.upload(d.owner, media.Post)
				b.post(d.owner, "look", d.posted)
				avatar := b.upload(d.owner, media.Avatar)
				b.do(b.Media.SetPortrait(b.Ctx, d.owner, media.Avatar, avatar.ID))
				for _, r := range []media.Record{d.posted, d.unused, avatar} {
					damage(b, r.ID)
				}
				test(t, d)
			})
		})
	}
}

// An unreadable record stops nothing: other pictures are uploaded, swept and set.
func TestDamaged(t *testing.T) {
	everyDamage(t, func(t *testing.T, d damagedPictures) {
		second := d.upload(d.owner, media.Avatar)
		d.do(d.Media.SetPortrait(d.Ctx, d.owner, media.Avatar, second.ID))
		d.wantShown(map[string]bool{second.ID: true})
		d.Clock.Advance(media.Unused + time.Hour)
		if n, err := d.Media.Store.Sweep(d.Ctx); n != 1 || err != nil {
			t.Errorf("a sweep deletes %d, %v", n, err)
		}
	})
}

// Deleting an account also deletes pictures with unreadable records.
func TestDamagedRemoval(t *testing.T) {
	everyDamage(t, func(t *testing.T, d damagedPictures) {
		d.do(d.Leaving.DeleteAccount(d.Ctx, d.owner.ID))
		d.Clock.Advance(time.Minute)
		d.do(d.Leaving.FinishRemoval(d.Ctx, d.owner.ID))
		if names := d.names(); len(names) > 0 {
			t.Errorf("%v are left", names)
		}
		d.wantClean()
	})
}

// A repair rewrites the record of a picture that is in a post, and deletes the others. Without a
// repair their files are left alone.
func TestDamagedRepair(t *testing.T) {
	everyDamage(t, func(t *testing.T, d damagedPictures) {
		d.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
		for name, err := range d.Media.Store.Orphans(d.Ctx) {
			t.Errorf("%s is an orphan, %v", name, err)
		}
		_, err := check.Repair(d.Ctx, d.App, check.Options{DeleteFiles: true})
		d.do(err)
		d.wantShown(map[string]bool{d.posted.ID: true})
		if names := d.names(); len(names) != len(d.posted.Picture.Files) {
			t.Errorf("the files are %v", names)
		}
		d.wantClean()
	})
}

// A post picture whose record and files are lost remains a problem until the files are back.
func TestLostPicture(t *testing.T) {
	t.Parallel()
	all := maps.Clone(damages)
	all["lost"] = func(b bundle, id string) { b.Redis("DEL", storage.MediaKey(id)) }
	for name, damage := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ada := b.NewUser("ada")
			r := b.upload(ada, media.Post)
			b.post(ada, "look", r)
			files := b.names()
			b.do(b.place.Delete(b.Ctx, files...))
			damage(b, r.ID)
			for range 2 {
				var left strings.Builder
				result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) {
					if !p.Repaired {
						left.WriteString(p.String())
					}
				}})
				if b.do(err); result.Remaining != 1 || !strings.Contains(left.String(), files[0]) {
					t.Errorf("of %v there remain %d problems: %s", files, result.Remaining, &left)
				}
			}
		})
	}
}
