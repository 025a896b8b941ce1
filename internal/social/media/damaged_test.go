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

// damages holds functions that make a record unreadable.
var damages = map[string]func(b bundle, id string){
	"bytes":   func(b bundle, id string) { b.Redis("HSET", storage.MediaKey(id), "bytes", "many") },
	"picture": func(b bundle, id string) { b.Redis("HSET", storage.MediaKey(id), "picture", "none") },
	"type": func(b bundle, id string) {
		b.Redis("DEL", storage.MediaKey(id))
		b.Redis("SET", storage.MediaKey(id), "none")
	},
}

// damagedPictures is an application with a user. The records of the user's avatar, of posted and of
// unused are unreadable. The record intact is readable, and its picture is unused.
type damagedPictures struct {
	bundle
	owner                  social.User
	posted, unused, intact media.Record
}

// forEachDamage runs a test for each kind of damage, on a single server and on a Cluster.
func forEachDamage(t *testing.T, test func(t *testing.T, d damagedPictures)) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachServer(t, func(t *testing.T, b bundle) {
				d := damagedPictures{bundle: b, owner: b.NewUser("ada")}
				d.posted, d.unused, d.intact = b.upload(d.owner, media.Post), b.upload(d.owner, media.Post), b.upload(d.owner, media.Post)
				b.post(d.owner, "look", d.posted)
				avatar := b.upload(d.owner, media.Avatar)
				b.must(b.Media.SetPortrait(b.Ctx, d.owner, media.Avatar, avatar.ID))
				for _, r := range []media.Record{d.posted, d.unused, avatar} {
					damage(b, r.ID)
				}
				test(t, d)
			})
		})
	}
}

// Unreadable records do not prevent a user from uploading, sweeping and setting other pictures.
func TestDamaged(t *testing.T) {
	forEachDamage(t, func(t *testing.T, d damagedPictures) {
		second := d.upload(d.owner, media.Avatar)
		d.must(d.Media.SetPortrait(d.Ctx, d.owner, media.Avatar, second.ID))
		d.wantShown(map[string]bool{second.ID: true})
		d.Clock.Advance(media.Unused + time.Hour)
		if n, err := d.Media.Store.Sweep(d.Ctx); n != 1 || err != nil {
			t.Errorf("Sweep deleted %d pictures, %v; want 1", n, err)
		}
	})
}

// Deleting an account also deletes pictures with unreadable records.
func TestDamagedRemoval(t *testing.T) {
	forEachDamage(t, func(t *testing.T, d damagedPictures) {
		d.must(d.Leaving.DeleteAccount(d.Ctx, d.owner.ID))
		d.Clock.Advance(time.Minute)
		d.must(d.Leaving.FinishRemoval(d.Ctx, d.owner.ID))
		if names := d.names(); len(names) > 0 {
			t.Errorf("files that were not deleted: %v", names)
		}
		d.wantClean()
	})
}

// Repair rewrites the unreadable record of a posted picture and deletes the other records. Until
// then, the files of unreadable records are no orphans.
func TestDamagedRepair(t *testing.T) {
	forEachDamage(t, func(t *testing.T, d damagedPictures) {
		d.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix())
		for name, err := range d.Media.Store.Orphans(d.Ctx) {
			t.Errorf("Orphans returned %s, %v; want none", name, err)
		}
		_, err := check.Repair(d.Ctx, d.App, check.Options{DeleteFiles: true})
		d.must(err)
		d.wantShown(map[string]bool{d.posted.ID: true})
		if names := d.names(); len(names) != len(d.posted.Picture.Files) {
			t.Errorf("files after the repair: %v, want those of the posted picture", names)
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
			b.must(b.place.Delete(b.Ctx, files...))
			damage(b, r.ID)
			for range 2 {
				var left strings.Builder
				result, err := check.Repair(b.Ctx, b.App, check.Options{Report: func(p check.Problem) {
					if !p.Repaired {
						left.WriteString(p.String())
					}
				}})
				if b.must(err); result.Remaining != 1 || !strings.Contains(left.String(), files[0]) {
					t.Errorf("lost files %v: %d problems remain, want 1: %s", files, result.Remaining, &left)
				}
			}
		})
	}
}
