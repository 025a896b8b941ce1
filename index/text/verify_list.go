package text

import (
	"context"
	"strconv"

	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// termCheck checks the keys of terms, each on its own.
type termCheck struct{ run *checker }

// structure checks the keys of a partition, each on its own.
func (c termCheck) structure(ctx context.Context, part int) error {
	p := &c.run.parts[part]
	n := c.run.names(part)
	if err := c.list(ctx, part); err != nil {
		return err
	}
	for _, r := range p.ranges {
		if err := c.run.hasType(ctx, n.prefix+"ids:"+strconv.FormatInt(r, 10), "hash"); err != nil {
			return err
		}
	}
	for _, bucket := range p.rares {
		if err := c.run.hasType(ctx, n.rareOf(bucket), "hash"); err != nil {
			return err
		}
	}
	err := c.run.rareTerms(ctx, n, p.rares, func(bucket int, terms map[string]string) error { return c.rare(ctx, part, bucket, terms) })
	if err != nil {
		return err
	}
	for _, terms := range [][]string{p.tails, p.segmented} {
		for _, term := range terms {
			if err := c.term(ctx, part, term); err != nil {
				return err
			}
		}
	}
	p.compact()
	return nil
}

// list checks the words that Complete knows.
func (c termCheck) list(ctx context.Context, part int) error {
	key := c.run.x.keys[part].Index
	if err := c.run.hasType(ctx, key, "zset"); err != nil {
		return err
	}
	err := c.run.Pages(ctx, scan.SortedSet(ctx, c.run.x.set.Client, key, pageKeys), func(page []string) (int, error) {
		for i := 0; i+1 < len(page); i += 2 {
			if err := c.listed(ctx, part, page[i]); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	if isType(err) {
		return nil // reported
	}
	return err
}

// listed checks a member of the list of words.
func (c termCheck) listed(ctx context.Context, part int, member string) error {
	if len(member) < 2 || member[0] < '0' || member[0] > '9' {
		c.run.Found(maintain.Problem{Kind: maintain.Dangling, ID: member, Found: "a member of the list of words that is not one"})
		if !c.run.repair {
			return nil
		}
		c.run.Report.Repaired++
		return c.run.x.set.Client.Do(ctx, c.run.x.set.Client.B().Zrem().Key(c.run.x.keys[part].Index).Member(member).Build()).Error()
	}
	return c.relist(ctx, part, member[1:])
}

// relist checks whether a word is listed in its magnitude.
func (c termCheck) relist(ctx context.Context, part int, term string) error {
	run := func(repair string) (int64, error) {
		n := c.run.names(part)
		keys := append(c.run.x.keys[part].All(), n.rare(term), n.tail(term))
		args := append(c.run.x.set.Args(), c.run.parts[part].state.now, term, repair)
		wrong, err := c.run.x.scripts.list.Run(ctx, c.run.x.set.Client, keys, args).AsInt64()
		if isType(err) {
			return 0, nil // reported with the term
		}
		return wrong, err
	}
	wrong, err := run("")
	if err != nil || wrong == 0 {
		return err
	}
	p := maintain.Problem{Kind: maintain.Missing, ID: term, Want: "in the list of words"}
	if wrong == 2 {
		p = maintain.Problem{Kind: maintain.Stale, ID: term, Found: "listed with another number of documents"}
	}
	c.run.Found(p)
	if c.run.repair {
		c.run.Report.Repaired++
		_, err = run("1")
	}
	return err
}
