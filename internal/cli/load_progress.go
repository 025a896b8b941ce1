package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"retwis/bulk"
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
		bar.Describe(fmt.Sprintf("%s commands, %s/s, %s", thousands(r.Commands), thousands(int64(r.Rate)),
			plural(int(r.Errors), "error", "errors")))
		_ = bar.Set64(r.Input)
	}
	return draw, func() { _ = bar.Clear() }
}

// thousands writes a number for people: 1,234,567.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}

// byteSize is the value of a flag that says how many bytes: 4MB, 512KB, 65536.
type byteSize int64

func (b *byteSize) Type() string { return "bytes" }

func (b *byteSize) String() string {
	switch n := int64(*b); {
	case n > 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	default:
		return strconv.FormatInt(n, 10)
	}
}

func (b *byteSize) Set(text string) error {
	digits := strings.ToUpper(text)
	unit := int64(1)
	for _, u := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if rest, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("use a number of bytes, with KB, MB or GB behind it")
	}
	*b = byteSize(n * unit)
	return nil
}
