package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// escape escapes the help texts of all commands for cobra's manual page generator, which parses
// help texts as Markdown. Indented lines become code blocks, and no character is markup.
func escape(cmd *cobra.Command) {
	cmd.Long = escapeText(cmd.Long)
	for _, sub := range cmd.Commands() {
		escape(sub)
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "#", `\#`, "[", `\[`)

func escapeText(text string) string {
	var b strings.Builder
	inBlock := false
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, " ")
		if indented != inBlock && strings.TrimSpace(line) != "" {
			b.WriteByte('\n')
			inBlock = indented
		}
		if inBlock {
			b.WriteString("    " + line)
		} else {
			b.WriteString(escaper.Replace(line))
		}
	}
	return b.String()
}
