package media_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redis/keys"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
)

// on returns an application with a picture store on a database.
func on(t *testing.T, client rueidis.Client, change ...func(*app.Options)) bundle {
	t.Helper()
	place := files.Directory(t.TempDir())
	return bundle{socialtest.On(t, client, append([]func(*app.Options){func(opt *app.Options) { opt.Media = place }}, change...)...), place}
}

// onEachServer runs a test on a single server and on a Cluster.
func onEachServer(t *testing.T, test func(t *testing.T, b bundle), change ...func(*app.Options)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, setup(t, change...))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, on(t, redistest.Cluster(t, 3).Client(t), change...))
	})
}

// The slots of a Cluster migrate between masters while pictures are uploaded, posted and deleted.
// Nothing fails, each post has its pictures, and no other files are left.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	b := on(t, cluster.Client(t))
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	const rounds = 8
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for round := range rounds {
			for _, user := range []social.User{ada, ben} {
				if err := b.usePictures(user, round); err != nil {
					done <- fmt.Errorf("%s, round %d: %w", user.Name, round, err)
					return
				}
			}
		}
		done <- b.Leaving.DeleteAccount(b.Ctx, ben.ID)
	}()
	moves := 0
	for isOver := false; !isOver; moves++ {
		b.moveSlot(cluster, moves%3)
		select {
		case err := <-done:
			b.must(err)
			isOver = true
		default:
		}
	}
	t.Logf("slots moved %d times", moves)
	b.must(b.RetryTasks(b.Ctx))
	b.Clock.Advance(time.Minute)
	b.must(b.Leaving.FinishRemoval(b.Ctx, ben.ID))
	b.wantPictures(ada, 0)
	b.Clock.Advance(media.Unused + time.Hour)
	const unused = rounds + rounds - 1 // including replaced avatars
	if n, err := b.Media.Store.Sweep(b.Ctx); n != unused || err != nil {
		t.Errorf("Sweep deleted %d unused pictures, %v; want %d", n, err, unused)
	}
	// The files of ada's avatar and of two pictures per post that was not deleted remain.
	if got, want := len(b.names()), 2*(2*rounds/2+1); got != want {
		t.Errorf("there are %d files, want %d", got, want)
	}
	b.wantClean()
}

// usePictures uploads, posts and deletes pictures of a user.
func (b bundle) usePictures(user social.User, round int) error {
	upload := func(kind media.Kind) (media.Record, error) {
		return b.Media.Upload(b.Ctx, user, "", photo(b.T, 60, 60), kind)
	}
	draft := posts.Draft{Body: fmt.Sprint("look ", round)}
	for range 2 {
		r, err := upload(media.Post)
		if err != nil {
			return err
		}
		draft.Pictures = append(draft.Pictures, media.Chosen{ID: r.ID, Alt: "noise"})
	}
	post, err := b.Posts.PostOnce(b.Ctx, user, draft)
	if err != nil {
		return err
	}
	if err := b.Posts.Edit(b.Ctx, user, post.ID, fmt.Sprint("look again ", round)); err != nil {
		return err
	}
	edited, err := b.Posts.Posts(b.Ctx, post.ID)
	if err != nil || len(edited) != 1 || edited[0].Media != post.Media || len(post.Media.Pictures()) != 2 {
		return fmt.Errorf("post %d has %s; after an edit, %v, %w", post.ID, post.Media, edited, err)
	}
	avatar, err := upload(media.Avatar)
	if err == nil {
		err = b.Media.SetPortrait(b.Ctx, user, media.Avatar, avatar.ID)
	}
	if err == nil {
		_, err = upload(media.Post) // an unused picture
	}
	if err == nil && round%2 == 1 {
		err = b.Posts.Delete(b.Ctx, user, post.ID)
	}
	return err
}

// moveSlot migrates the slot of a random key of a master to the next master.
func (b bundle) moveSlot(cluster *redistest.ClusterServers, from int) {
	b.T.Helper()
	client := cluster.Masters[from].Client(b.T)
	defer client.Close()
	key, err := client.Do(b.Ctx, client.B().Randomkey().Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return
	}
	b.must(err)
	b.must(cluster.MoveSlot(b.Ctx, keys.Slot([]byte(key)), from, (from+1)%len(cluster.Masters)))
}
