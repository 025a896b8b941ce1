package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// escape escapes the help texts of all commands for cobra's manual page generator, which reads them
// as Markdown: indented lines are kept as they are, and no character is markup.
func escape(cmd *cobra.Command) {
	cmd.Long = escapeText(cmd.Long)
	for _, below := range cmd.Commands() {
		escape(below)
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "#", `\#`, "[", `\[`)

func escapeText(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.Lines(text) {
		is := strings.HasPrefix(line, " ")
		if is != indented && strings.TrimSpace(line) != "" {
			b.WriteByte('\n')
			indented = is
		}
		if indented {
			b.WriteString("    " + line)
		} else {
			b.WriteString(escaper.Replace(line))
		}
	}
	return b.String()
}
