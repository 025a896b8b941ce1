package load

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"retwis/bulk"
	"retwis/internal/cli/shell"
)

// progress returns functions to draw and remove a progress bar. If to is not a terminal, draw is
// nil. size is the size of the input, or -1 if unknown.
func progress(to io.Writer, size int64, emit bool) (draw func(bulk.Report), erase func()) {
	if !shell.IsTerminal(to) || emit && shell.IsTerminal(os.Stdout) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(to), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14),
		progressbar.OptionThrottle(50*time.Millisecond))
	draw = func(r bulk.Report) {
		bar.Describe(fmt.Sprintf("%s commands, %s/s, %s", shell.Thousands(r.Commands), shell.Thousands(int64(r.Rate)),
			shell.Plural(r.Errors, "error", "errors")))
		_ = bar.Set64(r.Input)
	}
	return draw, func() { _ = bar.Clear() }
}
