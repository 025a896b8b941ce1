package web

import (
	"context"
	"fmt"
	"net/http"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"retwis/internal/app"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// overview shows the state of the site. It reads counters, not the lists that they count:
// ten commands and the memory of each server, whatever the size of the site.
func (h *handlers) overview(req *request.Request) error {
	var overview view.Overview
	accounts, posts, err := h.app.Totals(req.Ctx)
	if err != nil {
		return err
	}
	reports, err := h.app.Reports.OpenReportCount(req.Ctx)
	if err != nil {
		return err
	}
	overview.Site = []view.OverviewLine{
		{Name: "Accounts created", Value: view.Thousands(accounts)},
		{Name: "Posts created", Value: view.Thousands(posts)},
		{Name: "Open reports", Value: view.Thousands(reports)},
	}
	last, err := h.lastBackup(req.Ctx)
	if err != nil {
		return err
	}
	overview.Site = append(overview.Site, last)
	if overview.Work, err = h.backgroundWork(req.Ctx); err != nil {
		return err
	}
	overview.Load = []view.OverviewLine{
		{Name: "Requests", Value: fmt.Sprintf("%.1f a second, in the last minute", h.metrics.Meter.PerSecond(time.Now()))},
		{Name: "Open pages", Value: view.Thousands(int64(h.live.Connections()))},
		{Name: "Memory of this process", Value: megabytes(processMemory())},
	}
	servers := h.app.Memory(req.Ctx)
	for _, use := range servers {
		line := view.OverviewLine{Name: "Memory of the database", Value: megabytes(use.Used)}
		if use.Max > 0 {
			line.Value += fmt.Sprintf(" of %s (%.0f %%)", megabytes(use.Max), 100*use.Share())
			line.Bad = use.Share() > 0.8
		}
		if len(servers) > 1 {
			line.Name += " at " + use.Address
		}
		overview.Load = append(overview.Load, line)
	}
	overview.Load = append(overview.Load, view.OverviewLine{Name: "Version", Value: h.version})
	return req.Render(http.StatusOK, view.OverviewPage(req.Frame("Overview"), overview))
}

func (h *handlers) lastBackup(ctx context.Context) (view.OverviewLine, error) {
	at, err := h.app.LastBackup(ctx)
	line := view.OverviewLine{Name: "Last backup", Value: "never", Bad: true}
	if !at.IsZero() {
		line.Value, line.Bad = view.HumanTime(at), time.Since(at) > app.BackupDue
	}
	return line, err
}

// backgroundWork is what is done after the response to a request.
func (h *handlers) backgroundWork(ctx context.Context) (lines []view.OverviewLine, err error) {
	work, err := h.app.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	line := view.OverviewLine{Name: "Unfinished work, such as posts on their way to timelines", Value: view.Thousands(work.Waiting)}
	if work.Stalled > time.Minute {
		line.Value += ", waiting for " + work.Stalled.Round(time.Second).String()
		line.Bad = true
	}
	lines = append(lines, line)
	dead, err := h.app.DeadJobs(ctx)
	return append(lines, view.OverviewLine{Name: "Work given up", Value: strconv.FormatInt(dead, 10), Bad: dead > 0}), err
}

// processMemory is the memory that this process has from the system, in bytes.
func processMemory() int64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

func megabytes(bytes int64) string {
	return view.Thousands((bytes+1<<19)>>20) + " MB"
}
