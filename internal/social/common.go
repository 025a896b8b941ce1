package social

import (
	"context"
	"fmt"

	"retwis/internal/social/layout"
)

// Common is how many followers two users have in common. Counting stops at a
// bound, for two users with millions of followers: then there are N or more.
type Common struct {
	N       int64
	AtLeast bool
}

const (
	// intersectAtOnce is the size of the smaller set up to which the server
	// intersects by itself, well under a millisecond.
	intersectAtOnce = 1000
	// examine is how many followers of the one are looked up among those of
	// the other at the most.
	examine = 10_000
)

// CommonFollowers counts those who follow both the viewer and a user, up to a bound,
// without those who are hidden from the viewer. Two round trips where one of the two
// has up to a thousand followers (ZINTER); else, and on a Cluster, where no command
// spans the two, the followers of the one are looked up among those of the other,
// 1,000 a round trip.
func (f *follows) CommonFollowers(ctx context.Context, v *Viewer, uid int64) (Common, error) {
	if v.User.ID == 0 || v.Sees(uid) == Hidden {
		return Common{}, nil
	}
	small, large := layout.FollowersKey(v.User.ID), layout.FollowersKey(uid)
	sizes := f.readMany(ctx, f.client.B().Zcard().Key(small).Cache(), f.client.B().Zcard().Key(large).Cache())
	var n [2]int64
	for i := range n {
		var err error
		if n[i], err = sizes[i].AsInt64(); err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
	}
	if n[0] > n[1] {
		n[0], small, large = n[1], large, small
	}
	if n[0] == 0 {
		return Common{}, nil
	}
	if !f.cluster && n[0] <= intersectAtOnce {
		both, err := f.client.Do(ctx, f.client.B().Zinter().Numkeys(2).Key(small, large).Build()).AsStrSlice()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		return Common{N: countSeen(v, both)}, nil
	}
	return f.countCommon(ctx, v, small, large)
}

func (f *follows) countCommon(ctx context.Context, v *Viewer, small, large string) (Common, error) {
	var common Common
	for from := int64(0); ; from += intersectAtOnce {
		ids, err := f.client.Do(ctx, f.client.B().Zrevrange().Key(small).
			Start(from).Stop(from+intersectAtOnce-1).Build()).AsStrSlice()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		if len(ids) == 0 {
			return common, nil
		}
		if from >= examine {
			common.AtLeast = true
			return common, nil
		}
		scores, err := f.client.Do(ctx, f.client.B().Zmscore().Key(large).Member(ids...).Build()).ToArray()
		if err != nil {
			return Common{}, fmt.Errorf("social: common followers: %w", err)
		}
		both := ids[:0]
		for i, score := range scores {
			if !score.IsNil() {
				both = append(both, ids[i])
			}
		}
		common.N += countSeen(v, both)
	}
}

// countSeen counts the users who are not hidden from a viewer.
func countSeen(v *Viewer, ids []string) int64 {
	if !v.hidesPeople() {
		return int64(len(ids))
	}
	var n int64
	for _, text := range ids {
		if id, ok := layout.ParseID(text); ok && v.Sees(id) != Hidden {
			n++
		}
	}
	return n
}
