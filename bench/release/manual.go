package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"retwis/internal/cli"
)

// manual writes a manual page for each command to dir/man1, and shell completions to
// dir/completions.
func manual(dir string, date time.Time) error {
	root := cli.Command(cli.Env{
		Getenv: func(string) string { return "" }, Stdin: &bytes.Buffer{}, Stdout: io.Discard, Stderr: io.Discard,
	})
	root.DisableAutoGenTag = true
	escape(root)
	pages := filepath.Join(dir, "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "Retwis", Manual: "Retwis"}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	return completions(root, filepath.Join(dir, "completions"))
}

// completions writes the completions of each shell to a file with the name that the shell expects.
func completions(root *cobra.Command, dir string) error {
	for name, write := range map[string]func(io.Writer) error{
		"bash/retwis":      func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh/_retwis":      root.GenZshCompletion,
		"fish/retwis.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
