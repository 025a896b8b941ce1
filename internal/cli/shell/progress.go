package shell

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Bar returns functions to draw and remove a progress bar. If to is not a terminal, draw is nil.
func Bar(to io.Writer, what string) (draw func(done, total int), erase func()) {
	if !IsTerminal(to) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	draw = func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(to), progressbar.OptionSetDescription(what),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
				progressbar.OptionThrottle(50*time.Millisecond))
		}
		_ = bar.Set(done)
	}
	erase = func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
	return draw, erase
}

// clearLine clears a progress line on a terminal.
func clearLine(terminal io.Writer) { fmt.Fprint(terminal, "\r\x1b[K") }
