// Package load bulk-loads users, follows, posts and likes.
package load

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/text"

	"retwis/internal/social/work"
)

// Loader bulk-loads users, follows and posts, with given times, and leaves the database as if each
// had been written separately: all invariants hold. It is for trusted data: bodies are not
// validated. It writes by mass insertion, or in pipelines; see app.Options.Server.
type Loader struct {
	app    *app.App
	client rueidis.Client
	tasks  *work.Engine
	log    *slog.Logger
	server *rueidis.ClientOption
	names  *storage.Directory
	lists  *collection.Timelines
	homes  *collection.Timelines // the home timelines; on a Cluster only existing ones
}

// New returns a loader.
func New(s *app.App) Loader {
	in := s.Internals()
	homes := in.Lists
	if in.Client.Mode() == rueidis.ClientModeCluster {
		homes = homes.Existing()
	}
	return Loader{
		app: s, client: in.Client, tasks: in.FanOut.Tasks(), log: in.Log, server: in.Server,
		names: in.Directory, lists: in.Lists, homes: homes,
	}
}

const (
	// pipeline is how many commands are sent together: enough to make the cost of starting and
	// ending a load small.
	pipeline = 5000
	// pipelinePart is how many commands a client sends together, so that other requests are served
	// in between.
	pipelinePart = 1000
	// postBatch is how many posts are put on timelines together.
	postBatch = 5000
)

// NewUser is a user to load. PasswordHash is a PHC string, as returned by HashPassword, or a
// password of an older program, which becomes a hash at the next login. If it is empty, nobody can
// log in. ID is used by KeepUsers only.
type NewUser struct {
	ID                 int64
	Name, PasswordHash string
	Joined             time.Time // zero if unknown
}

// registered returns the score of a user among the users by time. Users whose time is unknown come
// before all others, ordered by ID.
func (u NewUser) registered() float64 {
	if u.Joined.IsZero() {
		return float64(u.ID - storage.MaxID)
	}
	return float64(u.Joined.Unix())
}

// AddUsers loads users and returns them with their IDs. If a name is in use, it returns
// social.ErrTaken with the name; then nothing is loaded, unless a concurrent registration took the
// name.
func (l Loader) AddUsers(ctx context.Context, users []NewUser) ([]social.User, error) {
	if len(users) == 0 {
		return nil, nil
	}
	if err := l.checkNames(ctx, users); err != nil {
		return nil, err
	}
	// Outdate the completions before and after, because a concurrent build may miss some of the
	// users.
	if err := search.Outdate(ctx, l.client); err != nil {
		return nil, err
	}
	last, err := l.reserve(ctx, storage.NextUserID, len(users))
	if err != nil {
		return nil, err
	}
	users = slices.Clone(users)
	added := make([]social.User, len(users))
	for i := range users {
		users[i].ID = last - int64(len(users)-1-i)
		added[i] = social.User{ID: users[i].ID, Name: users[i].Name, Joined: users[i].Joined}
	}
	if err := l.putUsers(ctx, users); err != nil {
		return nil, err
	}
	for _, user := range added {
		if err := l.app.Accounts.Claim(ctx, user); err != nil {
			return nil, fmt.Errorf("%w: %q", err, user.Name)
		}
	}
	return added, l.listUsers(ctx, users)
}

// KeepUsers loads users of an older program under their IDs, with any names. Each name as spelled
// leads to its user, and its lower-case form to the first user with that name. A user whose name as
// spelled already leads to another user is not loaded. KeepUsers returns the loaded users. It can
// be repeated. No counter is raised.
func (l Loader) KeepUsers(ctx context.Context, users []NewUser) (kept []NewUser, err error) {
	if err := search.Outdate(ctx, l.client); err != nil {
		return nil, err
	}
	owners := make([]int64, len(users))
	err = storage.AtOnce(len(users), func(i int) (err error) {
		owners[i], err = l.names.Keep(ctx, users[i].Name, users[i].ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("social: load: %w", err)
	}
	for i, owner := range owners {
		if owner == users[i].ID {
			kept = append(kept, users[i])
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	if err := l.putUsers(ctx, kept); err != nil {
		return nil, err
	}
	return kept, l.listUsers(ctx, kept)
}

// putUsers writes the hashes of users.
func (l Loader) putUsers(ctx context.Context, users []NewUser) error {
	return l.chunks(ctx, len(users), 1, func(i int) rueidis.Commands {
		hash := l.client.B().Hset().Key(storage.UserKey(users[i].ID)).FieldValue().FieldValue("username", users[i].Name)
		if users[i].PasswordHash != "" {
			hash = hash.FieldValue("password", users[i].PasswordHash)
		}
		if !users[i].Joined.IsZero() {
			hash = hash.FieldValue("joined", storage.Seconds(users[i].Joined))
		}
		return rueidis.Commands{hash.Build()}
	})
}

// listUsers adds users whose names lead to them to the users by time and to the search index.
func (l Loader) listUsers(ctx context.Context, users []NewUser) error {
	ids := make([]int64, len(users))
	err := l.chunks(ctx, len(users), 1, func(i int) rueidis.Commands {
		ids[i] = users[i].ID
		return rueidis.Commands{l.client.B().Zadd().Key(storage.UsersByTime).Nx().ScoreMember().
			ScoreMember(users[i].registered(), users[i].Name).Build()}
	})
	if err != nil {
		return err
	}
	if err := l.app.SearchIndex.People.PutMany(ctx, ids); err != nil {
		return err
	}
	if err := l.names.Trim(ctx); err != nil {
		return err
	}
	return search.Outdate(ctx, l.client)
}

// checkNames rejects invalid and taken names before anything is written.
func (l Loader) checkNames(ctx context.Context, users []NewUser) error {
	names := make([]string, len(users))
	seen := make(map[string]bool, len(users))
	for i, user := range users {
		if err := social.CheckName(user.Name); err != nil {
			return err
		}
		names[i] = user.Name
		if seen[storage.Fold(user.Name)] {
			return fmt.Errorf("%w: %q appears twice", social.ErrTaken, user.Name)
		}
		seen[storage.Fold(user.Name)] = true
	}
	taken, err := l.Taken(ctx, names)
	if err != nil {
		return err
	}
	for i := range users {
		if taken[i] {
			return fmt.Errorf("%w: %q", social.ErrTaken, names[i])
		}
	}
	return nil
}

// Taken reports for each name whether it is in use.
func (l Loader) Taken(ctx context.Context, names []string) ([]bool, error) {
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = storage.Fold(name)
	}
	owners, err := l.names.Owners(ctx, folded...)
	if err != nil {
		return nil, fmt.Errorf("social: load: %w", err)
	}
	taken := make([]bool, len(names))
	for i, owner := range owners {
		taken[i] = owner.First() != ""
	}
	return taken, nil
}

// NewFollow is a follow to load.
type NewFollow struct {
	From, To int64
	Time     time.Time
}

// AddFollows loads follows, in both directions.
func (l Loader) AddFollows(ctx context.Context, follows []NewFollow) error {
	b := l.client.B()
	return l.chunks(ctx, len(follows), 2, func(i int) rueidis.Commands {
		f := follows[i]
		at := float64(f.Time.Unix())
		return rueidis.Commands{
			b.Zadd().Key(storage.FollowingKey(f.From)).Nx().ScoreMember().ScoreMember(at, storage.Itoa(f.To)).Build(),
			b.Zadd().Key(storage.FollowersKey(f.To)).Nx().ScoreMember().ScoreMember(at, storage.Itoa(f.From)).Build(),
		}
	})
}

// NewPost is a post to load. ID is used by KeepPosts only.
type NewPost struct {
	ID     int64
	Author int64
	Time   time.Time
	Body   string

	// For a reply: the existing parent, its author, and the first post of the conversation.
	Parent, ParentAuthor, Root int64
}

// AddPosts loads posts, which should be in order of time, and puts them on all timelines where they
// belong, without notifications. It returns the ID of the first post; the IDs of the others follow
// consecutively.
func (l Loader) AddPosts(ctx context.Context, posts []NewPost) (first int64, err error) {
	last, err := l.reserve(ctx, storage.NextPostID, len(posts))
	if err != nil {
		return 0, err
	}
	first = last - int64(len(posts)) + 1
	posts = slices.Clone(posts)
	for i := range posts {
		posts[i].ID = first + int64(i)
	}
	return first, l.KeepPosts(ctx, posts)
}

// KeepPosts is AddPosts for posts of an older program, in order of the IDs, which they keep. It can
// be repeated. No counter is raised.
func (l Loader) KeepPosts(ctx context.Context, posts []NewPost) error {
	if err := search.Outdate(ctx, l.client); err != nil {
		return err
	}
	for chunk := range slices.Chunk(posts, postBatch) {
		if err := l.addPosts(ctx, chunk); err != nil {
			return fmt.Errorf("social: load posts: %w", err)
		}
	}
	return search.Outdate(ctx, l.client)
}

func (l Loader) addPosts(ctx context.Context, posts []NewPost) error {
	b := l.client.B()
	members := make([]string, len(posts))
	for i, post := range posts {
		members[i] = post.member()
	}
	held, err := l.tasks.Begin(ctx, members...)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			l.tasks.Later(ctx, work.ErrAgain, held...)
		}
	}()
	err = l.chunks(ctx, len(posts), 5+text.MaxTags, func(i int) rueidis.Commands {
		post, id := posts[i], storage.Itoa(posts[i].ID)
		hash := b.Hset().Key(storage.PostKey(post.ID)).FieldValue().FieldValue("user_id", storage.Itoa(post.Author)).
			FieldValue("time", storage.Seconds(post.Time)).FieldValue("body", post.Body)
		if post.Parent != 0 {
			hash = hash.FieldValue("parent", storage.Itoa(post.Parent)).FieldValue("root", storage.Itoa(post.Root)).
				FieldValue("to", storage.Itoa(post.ParentAuthor))
		}
		cmds := rueidis.Commands{hash.Build()}
		if post.Parent != 0 {
			replies := storage.RepliesKey(post.Parent)
			cmds = append(cmds, b.Sadd().Key(replies).Member(id).Build(), l.count(post.Parent, replies, "SCARD", "replies"))
		}
		for _, key := range post.places().Entries() {
			cmds = append(cmds, b.Zadd().Key(key).ScoreMember().ScoreMember(float64(post.ID), id).Build())
		}
		return cmds
	})
	if err != nil {
		return err
	}
	homes, err := l.followers(ctx, posts)
	if err != nil {
		return err
	}
	if err := l.push(ctx, posts, homes); err != nil {
		return err
	}
	if err := l.index(ctx, posts); err != nil {
		return err
	}
	ended = true
	return l.tasks.End(ctx, held...)
}

// index puts the words of posts into the search index.
func (l Loader) index(ctx context.Context, posts []NewPost) error {
	return l.app.SearchIndex.Posts.PutMany(ctx, func(yield func(search.IndexedPost) bool) {
		for _, p := range posts {
			if !yield(search.IndexedPost{ID: p.ID, Author: p.Author, Parent: p.Parent, To: p.ParentAuthor, Body: p.Body}) {
				return
			}
		}
	})
}

// push puts posts on timelines, with one command per timeline, because the number of timelines
// grows only with the number of users, but the number of entries with the number of follows.
func (l Loader) push(ctx context.Context, posts []NewPost, homes *homes) error {
	var public []int64
	lists := map[string][]int64{}
	add := func(list string, id int64) {
		ids := lists[list]
		if n := len(ids); n == 0 || ids[n-1] != id { // a user may follow both the author and a tag
			lists[list] = append(ids, id)
		}
	}
	for _, post := range posts {
		if post.places().OnTimeline() {
			public = append(public, post.ID)
		}
		add(storage.HomeKey(post.Author), post.ID)
		for _, home := range homes.forPost(post) {
			add(home, post.ID)
		}
	}
	put := func(timelines *collection.Timelines, names ...string) error {
		cmds := make(rueidis.Commands, len(names))
		for i, name := range names {
			ids, err := lists[name], error(nil)
			if cmds[i], err = timelines.PutManyCommand(name, ids[max(0, len(ids)-storage.TimelineCap):]...); err != nil {
				return err
			}
		}
		return l.send(ctx, cmds)
	}
	names := slices.Collect(maps.Keys(lists))
	for chunk := range slices.Chunk(names, pipeline) {
		if err := put(l.homes, chunk...); err != nil {
			return err
		}
	}
	if lists[storage.Timeline] = public; len(public) == 0 {
		return nil
	}
	return put(l.lists, storage.Timeline)
}

func (p NewPost) places() storage.Places {
	return storage.Places{Author: p.Author, Parent: p.Parent, Root: p.Root, Tags: text.Tags(p.Body)}
}

// member returns the task of a post.
func (p NewPost) member() string { return posts.Member(p.ID, p.Author, storage.Seconds(p.Time)) }

// homes holds the home timelines of the followers of authors and of tags.
type homes struct {
	authors map[int64][]string
	tags    map[string][]string
	sets    map[int64]map[string]bool // the home timelines of followers, by author that was replied to
}

// forPost returns the home timelines on which a post belongs, except its author's.
func (h *homes) forPost(post NewPost) []string {
	lists := h.authors[post.Author]
	if post.Parent != 0 && post.ParentAuthor != post.Author {
		heard := h.sets[post.ParentAuthor]
		if heard == nil {
			heard = map[string]bool{storage.HomeKey(post.ParentAuthor): true}
			for _, home := range h.authors[post.ParentAuthor] {
				heard[home] = true
			}
			h.sets[post.ParentAuthor] = heard
		}
		all := lists
		lists = nil
		for _, home := range all {
			if heard[home] {
				lists = append(lists, home)
			}
		}
	}
	for _, tag := range text.Tags(post.Body) {
		lists = slices.Concat(lists, h.tags[tag])
	}
	return lists
}

// followers returns the home timelines of the followers of the authors and tags of posts.
func (l Loader) followers(ctx context.Context, posts []NewPost) (*homes, error) {
	var cmds rueidis.Commands
	var add []func(lists []string)
	h := &homes{authors: map[int64][]string{}, tags: map[string][]string{}, sets: map[int64]map[string]bool{}}
	read := func(set string, then func(lists []string)) {
		cmds = append(cmds, l.client.B().Zrange().Key(set).Min("0").Max("-1").Build())
		add = append(add, then)
	}
	author := func(uid int64) {
		if _, ok := h.authors[uid]; !ok && uid != 0 {
			h.authors[uid] = nil
			read(storage.FollowersKey(uid), func(lists []string) { h.authors[uid] = lists })
		}
	}
	for _, post := range posts {
		author(post.Author)
		author(post.ParentAuthor)
		for _, tag := range text.Tags(post.Body) {
			if _, ok := h.tags[tag]; !ok {
				h.tags[tag] = nil
				read(storage.TagFollowersKey(tag), func(lists []string) { h.tags[tag] = lists })
			}
		}
	}
	for i, res := range l.client.DoMulti(ctx, cmds...) {
		ids, err := res.AsStrSlice()
		if err != nil {
			return nil, err
		}
		for j, id := range ids {
			ids[j] = storage.HomePrefix + id
		}
		add[i](ids)
	}
	return h, nil
}

// reserve assigns n IDs and returns the last one.
func (l Loader) reserve(ctx context.Context, counter string, n int) (int64, error) {
	last, err := l.client.Do(ctx, l.client.B().Incrby().Key(counter).Increment(int64(n)).Build().ToRetryable()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("social: load: %w", err)
	}
	return last, nil
}
