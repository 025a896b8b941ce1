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

// New returns the retwis site command.
func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "site",
		Short: "Show and change the settings of the site",
		Long: `Shows and changes the settings of the site, such as its name, its contact and its rules.
Admins do the same in the browser, at /moderation/site. A change takes effect at once, in
all processes; the audit log records the change without its text: retwis audit.

  name         the name of the site, in place of Retwis
  description  one sentence
  contact      an e-mail address, or the address of a web page
  account      the name of the user who represents the site; the header of that profile is
               the picture of the site
  rules        one rule per line
  about        a text for /about, in Markdown
  privacy      the page /privacy, in Markdown
  terms        the page /terms, in Markdown
  noindex      on asks search engines to leave out the whole site

To set who can sign up, see: retwis invite mode.`,
		Example: `  retwis site show
  retwis site set name "Lighthouse"
  retwis site set privacy < privacy.md`,
	}, newShow(env), newSet(env))
}

// fieldNames returns the names of all settings.
func fieldNames() []string {
	names := make([]string, len(about.Fields))
	for i, f := range about.Fields {
		names[i] = string(f)
	}
	return names
}

func newShow(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "show [flags] [SETTING]",
		Short: "Show all settings of the site, or the text of one setting",
		Long:  "Shows the beginning of each setting of the site, or the whole text of one setting.",
		Example: `  retwis site show
  retwis site show privacy > privacy.md`,
		Args:              shell.Arguments(0, 1, ""),
		ValidArgsFunction: shell.CompleteArgument(0, fieldNames()...),
	})
	c.Check = checkField
	return Build(c, "print the settings as JSON", func(ctx context.Context, db *Database, args []string) error {
		info, err := db.Social.Site.Get(ctx)
		switch {
		case err != nil:
			return err
		case len(args) == 1:
			return Print(c, settings{info, []about.Field{about.Field(args[0])}})
		case c.JSON:
			return Print(c, settings{info, about.Fields})
		}
		return printAll(c, info)
	})
}

// checkField rejects an unknown setting.
func checkField(args []string) error {
	if len(args) > 0 && !slices.Contains(about.Fields, about.Field(args[0])) {
		return shell.Usage(fmt.Errorf("unknown setting %q: use one of %s", args[0], strings.Join(fieldNames(), ", ")))
	}
	return nil
}

// settings are settings of a site, as printed.
type settings struct {
	info   about.Info
	fields []about.Field
}

// String returns the text of the first setting.
func (s settings) String() string { return shown(s.info, s.fields[0]) }

// MarshalJSON implements [json.Marshaler].
func (s settings) MarshalJSON() ([]byte, error) {
	var o shell.Object
	for _, f := range s.fields {
		value := any(shown(s.info, f))
		switch f {
		case about.NoIndex:
			value = s.info.NoIndex()
		case about.Rules:
			value = append([]string{}, s.info.Rules()...)
		}
		o = append(o, shell.Field{Name: string(f), Value: value})
	}
	return o.MarshalJSON()
}

// shown returns a setting as printed.
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

// maxShown limits the characters of a text shown on a line.
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

// maxInput limits how much is read from standard input.
const maxInput = 1 << 20

func newSet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "set [flags] SETTING [TEXT]",
		Short: "Change a setting of the site",
		Long: `Changes a setting of the site. Without TEXT, the text is read from standard input, which
must not be empty. An empty TEXT, "", removes the setting.`,
		Example: `  retwis site set description "A place for people who keep lighthouses."
  retwis site set rules < rules.txt
  retwis site set noindex on
  retwis site set terms ""`,
		Args:              shell.Arguments(1, 2, ", with a setting and its text"),
		ValidArgsFunction: shell.CompleteArgument(0, fieldNames()...),
	})
	c.Creates = true // the setting may be changed before the site is served for the first time
	var text string
	c.Check = func(args []string) (err error) {
		if err := checkField(args); err != nil {
			return err
		}
		if text, err = textOf(c, args); err != nil {
			return err
		}
		if _, err := about.Clean(about.Field(args[0]), text); err != nil {
			return shell.Usage(InvalidInput(err))
		}
		return nil
	}
	return Act(c, "print the setting as JSON", func(ctx context.Context, db *Database, args []string) (settings, error) {
		f := about.Field(args[0])
		if _, err := db.Social.Site.Set(ctx, social.Operator, map[about.Field]string{f: text}, nil); err != nil {
			return settings{}, err
		}
		info, err := db.Social.Site.Get(ctx)
		return settings{info, []about.Field{f}}, err
	})
}

// textOf returns the text of a setting: the second argument, or standard input.
func textOf(c *shell.Command, args []string) (string, error) {
	if len(args) == 2 {
		return args[1], nil
	}
	read, err := io.ReadAll(io.LimitReader(c.Stdin, maxInput))
	if err == nil && strings.TrimSpace(string(read)) == "" {
		err = shell.Usage(fmt.Errorf("standard input is empty; remove the setting with: retwis site set %s \"\"", args[0]))
	}
	return string(read), err
}
