package shell

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

func IsTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// Progress draws a bar on a terminal, and nothing elsewhere. The bar stays when
// the work was cut short, until it is wiped away.
func Progress(to io.Writer, what string) (draw func(done, total int), wipe func()) {
	file, ok := to.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
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
	wipe = func() {
		if bar != nil {
			_ = bar.Clear()
		}
	}
	return draw, wipe
}
