package shell

import (
	"errors"

	"retwis/index"
)

// PageFlags are the flags that select a part of the results.
type PageFlags struct {
	index.Page
	Cursor bool // show the cursor of each result
}

// Add adds the flags.
func (p *PageFlags) Add(c *Command) {
	f := c.Flags()
	f.IntVarP(&p.Limit, "limit", "n", 0, "show at most this many results; 0 for all")
	f.IntVar(&p.Offset, "offset", 0, "skip this many results first")
	f.BoolVarP(&p.Reverse, "reverse", "r", false, "show the results in reverse order")
	f.BoolVar(&p.Cursor, "cursor", false, "show the cursor of each result, for --after")
	c.AddAfter(&p.After)
}

// AddAfter adds --after.
func (c *Command) AddAfter(cursor *string) {
	c.Flags().StringVar(cursor, "after", "", "continue after the result with this `CURSOR`")
}

// AddOrderBy adds --order-by.
func (c *Command) AddOrderBy(names *[]string) {
	c.Flags().StringSliceVar(names, "order-by", nil, "sort by these `NAMES`, separated by commas, each with or without \" desc\"")
}

// Check rejects negative values.
func (p *PageFlags) Check() error {
	if p.Limit < 0 || p.Offset < 0 {
		return Usage(errors.New("--limit and --offset cannot be negative"))
	}
	return nil
}
