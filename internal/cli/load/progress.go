package load

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"retwis/bulk"
	"retwis/internal/cli/shell"
)

// loadProgress draws a bar on a terminal, and nothing elsewhere. size is that of the
// input, -1 if nobody knows.
func loadProgress(to io.Writer, size int64, emit bool) (draw func(bulk.Report), wipe func()) {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || emit && term.IsTerminal(int(os.Stdout.Fd())) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(to), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14),
		progressbar.OptionThrottle(50*time.Millisecond))
	draw = func(r bulk.Report) {
		bar.Describe(fmt.Sprintf("%s commands, %s/s, %s", shell.Thousands(r.Commands), shell.Thousands(int64(r.Rate)),
			shell.Plural(int(r.Errors), "error", "errors")))
		_ = bar.Set64(r.Input)
	}
	return draw, func() { _ = bar.Clear() }
}
