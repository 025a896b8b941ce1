package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/social"
	about "retwis/internal/social/site"
)

// New returns retwis site.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "site",
		Short: "Show and change what the site says about itself",
		Long: `Shows and changes what the site says about itself: its name, who runs it, its rules. Admins
do the same in the browser, at /moderation/site. A change counts at once, in all processes;
the log of decisions has it, without its text: retwis audit.

  name         of the site, in place of Retwis
  description  one sentence
  contact      an e-mail address, or the address of a web page
  account      the name of the user who speaks for the site; the picture above the profile
               is that of the site
  rules        one a line
  about        a text for /about, in Markdown
  privacy      the page /privacy, in Markdown
  terms        the page /terms, in Markdown
  noindex      on: search engines are asked to leave out the whole site

Who can sign up is decided with: retwis invite mode.`,
		Example: `  retwis site show
  retwis site set name "Lighthouse"
  retwis site set privacy < privacy.md`,
	}, newShow(env), newSet(env))
}

// fieldNames are the names of all settings.
func fieldNames() []string {
	names := make([]string, len(about.Fields))
	for i, f := range about.Fields {
		names[i] = string(f)
	}
	return names
}

// field returns the setting of a name.
func field(name string) (about.Field, error) {
	if f := about.Field(name); slices.Contains(about.Fields, f) {
		return f, nil
	}
	return "", shell.Usage(fmt.Errorf("there is no setting %q: there are %s", name, strings.Join(fieldNames(), ", ")))
}

// shown is a setting as it is printed.
func shown(info about.Info, f about.Field) string {
	switch {
	case f == about.Name:
		return info.Name()
	case f == about.NoIndex && info.NoIndex():
		return "on"
	case f == about.NoIndex:
		return "off"
	}
	return info.Of(f)
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show [flags] [SETTING]",
		Short: "Show all settings of the site, or the text of one",
		Long:  "Shows all settings of the site, each in a line, or the whole text of one.",
		Example: `  retwis site show
  retwis site show privacy > privacy.md`,
		Args:              shell.Arguments(0, 1, ""),
		ValidArgsFunction: shell.CompleteArgument(0, fieldNames()...),
	})
	c.AddRedis()
	c.AddJSON("print the settings as JSON")
	return c.Build(func(ctx context.Context, args []string) error {
		fields := about.Fields
		if len(args) == 1 {
			f, err := field(args[0])
			if err != nil {
				return err
			}
			fields = []about.Field{f}
		}
		return Operate(ctx, c, func(db *Database) error {
			info, err := db.Social.Site.Get(ctx)
			if err != nil {
				return err
			}
			switch {
			case c.JSON:
				return shell.NewEncoder(c.Stdout).Encode(object(info, fields))
			case len(args) == 1:
				_, err = fmt.Fprintln(c.Stdout, shown(info, fields[0]))
				return err
			}
			return printAll(c, info)
		})
	})
}

// object is settings as --json prints them.
func object(info about.Info, fields []about.Field) shell.Object {
	var o shell.Object
	for _, f := range fields {
		value := any(shown(info, f))
		switch f {
		case about.NoIndex:
			value = info.NoIndex()
		case about.Rules:
			value = append([]string{}, info.Rules()...)
		}
		o = append(o, shell.Field{Name: string(f), Value: value})
	}
	return o
}

// maxShown is how much of a text a line shows, in characters.
const maxShown = 60

// printAll prints the beginning of each setting.
func printAll(c *shell.Command, info about.Info) (err error) {
	p := c.NewPrinter()
	defer func() { err = errors.Join(err, p.End()) }()
	for _, f := range about.Fields {
		line, _, more := strings.Cut(shown(info, f), "\n")
		if runes := []rune(line); len(runes) > maxShown {
			line, more = string(runes[:maxShown]), true
		}
		if more {
			line += " …"
		}
		if line == "" {
			line = "-"
		}
		if err := p.Row(string(f), shell.ForTerminal(line)); err != nil {
			return err
		}
	}
	return nil
}

// maxInput bounds what is read from standard input.
const maxInput = 1 << 20

func newSet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "set [flags] SETTING [TEXT]",
		Short: "Change a setting of the site",
		Long: `Changes a setting of the site. Without a text it is read from standard input, which must not
be empty. An empty text, "", removes the setting.`,
		Example: `  retwis site set description "A place for people who keep lighthouses."
  retwis site set rules < rules.txt
  retwis site set noindex on
  retwis site set terms ""`,
		Args:              shell.Arguments(1, 2, "give a setting and its text"),
		ValidArgsFunction: shell.CompleteArgument(0, fieldNames()...),
	})
	c.AddRedis()
	c.AddJSON("print the setting as JSON")
	return c.Build(func(ctx context.Context, args []string) error {
		f, err := field(args[0])
		if err != nil {
			return err
		}
		typed := ""
		if len(args) == 2 {
			typed = args[1]
		} else {
			read, err := io.ReadAll(io.LimitReader(c.Stdin, maxInput))
			if err != nil {
				return err
			}
			if typed = string(read); strings.TrimSpace(typed) == "" {
				return shell.Usage(fmt.Errorf("there is no text on standard input; remove the setting with: retwis site set %s \"\"", f))
			}
		}
		if _, err := about.Clean(f, typed); err != nil {
			return shell.Usage(InvalidInput(err))
		}
		c.Creates = true // before the site is served for the first time
		return Operate(ctx, c, func(db *Database) error {
			if _, err := db.Social.Site.Set(ctx, social.Operator, map[about.Field]string{f: typed}, nil); err != nil {
				return InvalidInput(err)
			}
			info, err := db.Social.Site.Get(ctx)
			if err != nil {
				return err
			}
			if c.JSON {
				return shell.NewEncoder(c.Stdout).Encode(object(info, []about.Field{f}))
			}
			_, err = fmt.Fprintln(c.Stdout, shown(info, f))
			return err
		})
	})
}
