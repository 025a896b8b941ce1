package takeout

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// maxPosts limits the number of posts in an archive, because of the memory that a plan takes.
const maxPosts = 500_000

// entry is a post created from an archive post, or from one part of it.
type entry struct {
	item
	source string // the field of the post
	part   int    // the index of the part of the text
	// parent and root are indexes of entries in the same plan; -1 for none.
	parent, root int
}

// datedPost is a post of the archive, without its text.
type datedPost struct {
	item
	source, replyTo string
	time            int64
	parts           int
}

// importPlan holds the posts to create from an archive, oldest first, and counts the posts that are
// left out.
type importPlan struct {
	entries []entry
	report  Report
}

// plan reads an archive. allowed reports whether a text may be posted on this site.
func plan(ctx context.Context, a *Archive, now time.Time, allowed func(archivePost) (bool, error)) (importPlan, error) {
	p := importPlan{report: newReport()}
	var all []datedPost
	parts := 0
	seen := map[string]bool{}
	err := a.each(ctx, func(at item, raw []byte) error {
		post, reason := parse(raw, now)
		if reason == "" && seen[post.source] {
			reason = Repeated
		}
		if reason == "" {
			ok, err := allowed(post)
			if err != nil {
				return err
			}
			if !ok {
				reason = Blocked
			}
		}
		if reason != "" {
			p.report.LeftOut[reason]++
			return nil
		}
		if parts += len(post.parts); parts > maxPosts {
			return fmt.Errorf("it has more than %d posts", maxPosts)
		}
		seen[post.source] = true
		all = append(all, datedPost{at, post.source, post.replyTo, post.time, len(post.parts)})
		return nil
	})
	if err != nil {
		return importPlan{}, err
	}
	slices.SortStableFunc(all, func(a, b datedPost) int { return int(a.time - b.time) })
	p.link(all)
	return p, nil
}

// link creates the entries of posts. A reply to a post that is not among the earlier posts is left
// out.
func (p *importPlan) link(all []datedPost) {
	last := make(map[string]int, len(all)) // the entry of the last part of each post
	for _, post := range all {
		parent, root := -1, -1
		if post.replyTo != "" {
			at, found := last[post.replyTo]
			if !found {
				p.report.LeftOut[Reply]++
				continue
			}
			parent, root = at, p.rootOf(at)
		}
		for part := range post.parts {
			e := entry{item: post.item, source: partOf(post.source, part), part: part, parent: parent, root: root}
			p.entries = append(p.entries, e)
			parent = len(p.entries) - 1
			root = p.rootOf(parent)
		}
		last[post.source] = parent
	}
}

// rootOf returns the first entry of the conversation of an entry.
func (p *importPlan) rootOf(at int) int {
	if root := p.entries[at].root; root >= 0 {
		return root
	}
	return at
}
