package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"

	"retwis/maintain"
)

// relation is a fact stored in two sorted sets in different slots. The source is authoritative, and
// the mirror must agree with the source.
type relation struct {
	source, mirror string // key prefixes
	what           string // the format of a description, for the owner and the member of the source
	scoreIsEnd     bool   // the score is an end time, after which either side can be missing
	visible        bool   // users notice if a side is missing, so that is not a leftover
	anyScore       bool   // the scores of source and mirror differ
	copy           func(ctx context.Context, client rueidis.Client, source, mirror storage.SetEntry) error
}

// Kinds of members of a set.
const (
	ofUsers = iota
	ofPosts
	ofTags
)

// set describes a sorted set with members of one kind.
type set struct {
	prefix         string
	phase          int
	members        int
	relation       *relation // the relation that the set is one side of; nil if nothing mirrors it
	selfProblem    string    // the problem of a set that contains its owner
	missingProblem string    // the problem of a member that does not exist
	counter        string    // the field of the post that holds the size of the set
	count          *int64
	filter         func(ctx context.Context, page []entry) ([]entry, error) // further checks; returns the entries to compare
}

// setCheck checks that the members of sorted sets exist, and that the two sets of a relation agree.
type setCheck struct{ check *checker }

func (c *setCheck) sets() []set {
	const noUser, containsOwner = "user %q does not exist", "contains its owner"
	like := &relation{source: storage.LikersPrefix, mirror: storage.LikedPrefix, what: "user %[2]s likes post %[1]s", copy: storage.CopyEntry}
	repost := &relation{source: storage.RepostersPrefix, mirror: storage.RepostedPrefix, what: "user %[2]s has reposted post %[1]s", anyScore: true, copy: copyRepost}
	block := &relation{source: storage.BlockedPrefix, mirror: storage.BlockersPrefix, what: "user %s has blocked user %s", scoreIsEnd: true, copy: storage.CopyEntry}
	tag := &relation{source: storage.FollowingTagsPrefix, mirror: storage.TagFollowersPrefix, what: "user %s follows #%s", copy: storage.CopyEntry}
	follow := &relation{source: storage.FollowingPrefix, mirror: storage.FollowersPrefix, what: "user %s follows user %s", visible: true, copy: storage.CopyEntry}
	return []set{
		{prefix: storage.LikersPrefix, phase: sources, members: ofUsers, relation: like, missingProblem: noUser, counter: "likes"},
		{prefix: storage.LikedPrefix, phase: copies, members: ofPosts, relation: like},
		{prefix: storage.RepostersPrefix, phase: sources, members: ofUsers, relation: repost, missingProblem: noUser, counter: "reposts", filter: c.reposts},
		{prefix: storage.RepostedPrefix, phase: copies, members: ofPosts, relation: repost},
		{prefix: storage.BookmarksPrefix, phase: copies, members: ofPosts}, // also of deleted posts
		{prefix: storage.MutedPrefix, phase: sources, members: ofUsers, missingProblem: noUser, selfProblem: containsOwner},
		{prefix: storage.DismissedPrefix, phase: sources, members: ofUsers, missingProblem: noUser, selfProblem: containsOwner},
		{prefix: storage.BlockedPrefix, phase: sources, members: ofUsers, relation: block, missingProblem: noUser, selfProblem: containsOwner, filter: c.blockedFollows},
		{prefix: storage.BlockersPrefix, phase: sources, members: ofUsers, relation: block, missingProblem: noUser, selfProblem: containsOwner},
		{prefix: storage.FollowingTagsPrefix, phase: sources, members: ofTags, relation: tag},
		{prefix: storage.TagFollowersPrefix, phase: sources, members: ofUsers, relation: tag, missingProblem: noUser},
		{prefix: storage.FollowingPrefix, phase: sources, members: ofUsers, relation: follow, missingProblem: "user:%s does not exist", selfProblem: "the user follows themselves", count: &c.check.result.Follows},
		{prefix: storage.FollowersPrefix, phase: sources, members: ofUsers, relation: follow, missingProblem: "user:%s does not exist", selfProblem: "the user follows themselves"},
	}
}

// rules returns the rules for the keys of all sets.
func (c *setCheck) rules() []rule {
	var rules []rule
	for _, s := range c.sets() {
		check := func(ctx context.Context, key string) error { return c.checkSet(ctx, s, key) }
		owned := c.check.ofUsers(check)
		switch {
		case slices.Contains(postSets, s.prefix):
			owned = c.check.ofPosts(check)
		case s.prefix == storage.TagFollowersPrefix:
			owned = each(check)
		}
		rules = append(rules, rule{s.prefix, s.phase, owned})
	}
	return rules
}

// postSets are the prefixes of the keys that end in the key of a post in braces.
var postSets = []string{storage.LikersPrefix, storage.RepostersPrefix, storage.RepliesPrefix, storage.StubsPrefix}

// setKey returns the key of a set of a user, a post or a tag.
func setKey(prefix, owner string) string {
	if slices.Contains(postSets, prefix) {
		return prefix + "{" + storage.PostPrefix + owner + "}"
	}
	return prefix + owner
}

// entry is a member of a set. id is 0 if the member is not an ID.
type entry struct {
	key, owner, member, score string
	id                        int64
}

// checkSet checks the entries of a set.
func (c *setCheck) checkSet(ctx context.Context, s set, key string) error {
	_, owner, ok := storage.ParseTagKey(key)
	if !ok {
		_, id, _ := storage.ParseKey(key)
		owner = storage.Itoa(id)
	}
	return c.check.sortedSet(ctx, key, func(members, scores []string) error {
		if s.count != nil {
			*s.count += int64(len(members))
		}
		page := make([]entry, len(members))
		for i, member := range members {
			page[i] = entry{key: key, owner: owner, member: member, score: scores[i]}
			page[i].id, _ = storage.ParseID(member)
		}
		page, err := c.members(ctx, s, page)
		if err == nil && s.filter != nil {
			page, err = s.filter(ctx, page)
		}
		if err != nil || s.relation == nil {
			return err
		}
		return c.mirrored(ctx, s, page)
	})
}

// members reports the entries whose members are invalid, and returns the others.
func (c *setCheck) members(ctx context.Context, s set, page []entry) (good []entry, err error) {
	if s.members == ofTags {
		return page, nil
	}
	exist := map[int64]bool{}
	if s.members == ofUsers {
		ids := make([]int64, len(page))
		for i, e := range page {
			ids[i] = e.id
		}
		if exist, err = c.check.usersExist(ctx, ids); err != nil {
			return nil, err
		}
	}
	for _, e := range page {
		p := Problem{Kind: maintain.Invalid, Key: e.key, Repair: "remove it"}
		repair := func(ctx context.Context) (bool, error) { return c.remove(ctx, s, e) }
		switch {
		case e.id == 0 && s.members == ofPosts:
			p.Detail = fmt.Sprintf("%.40q is not a post id", e.member)
		case e.id == 0:
			p.Detail = fmt.Sprintf("%.40q is not a user id", e.member)
		case s.selfProblem != "" && e.member == e.owner:
			p.Detail = s.selfProblem
		case s.members == ofUsers && !exist[e.id]:
			p.Kind, p.Detail = maintain.Dangling, fmt.Sprintf(s.missingProblem, e.member)
			repair = c.check.withoutUser(e.id, repair)
		default:
			good = append(good, e)
			continue
		}
		if err := c.check.found(ctx, p, repair); err != nil {
			return nil, err
		}
	}
	return good, nil
}

// remove removes an entry, and updates the counter of the set.
func (c *setCheck) remove(ctx context.Context, s set, e entry) (bool, error) {
	if s.counter == "" {
		return c.check.zrem(ctx, e.key, e.member)
	}
	return c.check.dropMember(ctx, e.key, s.counter, e.member, "")
}

// sides returns the entries on both sides of a relation, given one of them, and a description of
// the fact.
func (r *relation) sides(e entry) (source, other storage.SetEntry, what string) {
	owner, member := e.owner, e.member
	if e.key != setKey(r.source, owner) {
		owner, member = member, owner
	}
	source = storage.SetEntry{Key: setKey(r.source, owner), Member: member}
	other = storage.SetEntry{Key: setKey(r.mirror, member), Member: owner}
	return source, other, fmt.Sprintf(r.what, owner, member)
}

// mirrored compares entries with their counterparts on the other side.
func (c *setCheck) mirrored(ctx context.Context, s set, page []entry) error {
	scores, err := reads.Many(ctx, c.check.client, page, func(e entry) rueidis.Completed {
		source, other, _ := s.relation.sides(e)
		if source.Key == e.key {
			source = other
		}
		return c.check.client.B().Zscore().Key(source.Key).Member(source.Member).Build()
	}, reply.Text)
	if err != nil {
		return err
	}
	for i, e := range page {
		if err := c.compare(ctx, s.relation, e, scores[i]); err != nil {
			return err
		}
	}
	return nil
}

// compare reports a mirror that does not agree with its source, as after a process died between the
// two writes.
func (c *setCheck) compare(ctx context.Context, r *relation, e entry, otherScore string) error {
	if c.agree(r, e.score, otherScore) {
		return nil
	}
	source, other, what := r.sides(e)
	score, mirrored, opposite := e.score, otherScore, other
	if source.Key != e.key {
		score, mirrored, opposite = otherScore, e.score, source
	}
	p := Problem{
		Kind: maintain.Stale, Key: other.Key, Leftover: !r.visible,
		Detail: fmt.Sprintf("%s: %q in %s, %q here", what, score, source.Key, mirrored),
		Repair: fmt.Sprintf("copy the entry from %s", source.Key),
	}
	switch "" {
	case score:
		p.Kind = maintain.Dangling
	case mirrored:
		p.Kind = maintain.Missing
	}
	if r.visible {
		owner, _ := storage.ParseID(e.owner)
		closed, err := c.check.isAnyClosed(ctx, owner, e.id)
		if err != nil {
			return err
		}
		p.Leftover = closed // the account is being deleted
		p.Key, p.Repair = e.key, p.Repair+" to "+other.Key
		p.Detail = fmt.Sprintf("user %s since %s, but %q in %s", e.member, e.score, otherScore, opposite.Key)
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		score, err := storage.EntryScore(ctx, c.check.client, source)
		if err != nil {
			return false, err
		}
		mirrored, err := storage.EntryScore(ctx, c.check.client, other)
		if err != nil || c.agree(r, score, mirrored) {
			return false, err
		}
		return true, r.copy(ctx, c.check.client, source, other)
	})
}

// agree reports whether the scores on both sides agree. An empty score means that the member is
// missing.
func (c *setCheck) agree(r *relation, a, b string) bool {
	if r.scoreIsEnd && !c.inForce(a) && !c.inForce(b) {
		return true
	}
	if a == "" || b == "" || r.anyScore {
		return (a == "") == (b == "")
	}
	return sameNumber(a, b)
}

// inForce reports whether a block with this score has not ended.
func (c *setCheck) inForce(score string) bool {
	until, err := strconv.ParseFloat(score, 64)
	return err == nil && until > float64(c.check.now().Unix())
}

// sameNumber reports whether two scores are equal. Different commands format scores differently.
func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// blockedFollows reports follows between users and the users they have blocked.
func (c *setCheck) blockedFollows(ctx context.Context, page []entry) ([]entry, error) {
	b := c.check.batch()
	since := make([][2]*string, len(page))
	for i, e := range page {
		since[i] = [2]*string{
			b.Score(storage.FollowingPrefix+e.owner, e.member),
			b.Score(storage.FollowingPrefix+e.member, e.owner),
		}
	}
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	for i, e := range page {
		if !c.inForce(e.score) {
			continue
		}
		if err := c.blockedFollow(ctx, e, e.owner, e.member, *since[i][0]); err != nil {
			return nil, err
		}
		if err := c.blockedFollow(ctx, e, e.member, e.owner, *since[i][1]); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// blockedFollow reports a follow between two users, one of whom has blocked the other. The repair
// then checks the block again, and restores the follow if the block has ended meanwhile.
func (c *setCheck) blockedFollow(ctx context.Context, block entry, from, to, since string) error {
	if since == "" {
		return nil
	}
	following := storage.SetEntry{Key: storage.FollowingPrefix + from, Member: to}
	follower := storage.SetEntry{Key: storage.FollowersPrefix + to, Member: from}
	p := Problem{
		Kind: maintain.Stale, Key: following.Key, Leftover: true, Repair: "end the follow",
		Detail: fmt.Sprintf("user %s follows user %s, although user %s has blocked user %s", from, to, block.owner, block.member),
	}
	isBlocked := func(ctx context.Context) (bool, error) {
		score, err := storage.EntryScore(ctx, c.check.client, storage.SetEntry{Key: block.key, Member: block.member})
		return c.inForce(score), err
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		if blocked, err := isBlocked(ctx); err != nil || !blocked {
			return false, err
		}
		ended, err := c.check.zrem(ctx, following.Key, following.Member)
		if err == nil {
			err = storage.CopyEntry(ctx, c.check.client, following, follower)
		}
		if err != nil || !ended {
			return false, err
		}
		if blocked, err := isBlocked(ctx); err != nil || blocked {
			return true, err
		}
		if _, err := c.check.zadd(ctx, following.Key, since, following.Member); err != nil {
			return true, err
		}
		return true, storage.CopyEntry(ctx, c.check.client, following, follower)
	})
}
