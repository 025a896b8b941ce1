package web

import (
	"context"
	"fmt"
	"net/http"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// overview says what needs attention, and admins the state of the site. It reads counters, not the
// lists that they count: a dozen commands and the memory of each server, whatever the size of the site.
func (h *handlers) overview(req *request.Request) error {
	overview, err := h.toDecide(req.Ctx)
	if err != nil {
		return err
	}
	if req.User.Role >= social.Admin {
		if err := h.siteState(req.Ctx, &overview); err != nil {
			return err
		}
	}
	return req.Render(http.StatusOK, view.OverviewPage(req.Frame("Moderation"), overview))
}

// toOverview is for links to where the overview was.
func toOverview(req *request.Request) error { return req.Redirect(view.ModerationPath) }

// toDecide says what waits for moderators.
func (h *handlers) toDecide(ctx context.Context) (overview view.Overview, err error) {
	reports, err := h.app.Reports.OpenReportCount(ctx)
	if err != nil {
		return overview, err
	}
	if reports > 0 {
		since, err := h.app.Reports.OldestReport(ctx)
		if err != nil {
			return overview, err
		}
		overview.Attention = append(overview.Attention, view.Attention{
			Text: view.Thousands(reports) + " " + view.Plural(reports, "open report", "open reports"), Since: since, Path: view.ReportsPath,
		})
	}
	signUps, err := h.app.Applications.Count(ctx)
	if signUps > 0 {
		overview.Attention = append(overview.Attention, view.Attention{
			Text: view.Thousands(signUps) + " " + view.Plural(signUps, "sign-up waits for an approval", "sign-ups wait for an approval"), Path: "/moderation/signups",
		})
	}
	return overview, err
}

// siteState adds the state of the site, and what of it needs attention.
func (h *handlers) siteState(ctx context.Context, overview *view.Overview) error {
	accounts, posts, err := h.app.Totals(ctx)
	if err != nil {
		return err
	}
	last, err := h.lastBackup(ctx)
	if err != nil {
		return err
	}
	overview.Site = []view.OverviewLine{
		{Name: "Accounts created", Value: view.Thousands(accounts)},
		{Name: "Posts created", Value: view.Thousands(posts)},
		last,
	}
	if overview.Work, err = h.backgroundWork(ctx); err != nil {
		return err
	}
	overview.Load = h.load(ctx)
	for _, lines := range [][]view.OverviewLine{overview.Work, overview.Load, overview.Site} {
		for _, line := range lines {
			if line.Bad {
				overview.Attention = append(overview.Attention, view.Attention{Text: line.Name + ": " + line.Value})
			}
		}
	}
	return nil
}

// load is what this process and its database bear.
func (h *handlers) load(ctx context.Context) []view.OverviewLine {
	lines := []view.OverviewLine{
		{Name: "Requests", Value: fmt.Sprintf("%.1f a second, in the last minute", h.metrics.Meter.PerSecond(time.Now()))},
		{Name: "Open pages", Value: view.Thousands(int64(h.live.Connections()))},
		{Name: "Memory of this process", Value: megabytes(processMemory())},
	}
	servers := h.app.Memory(ctx)
	for _, use := range servers {
		line := view.OverviewLine{Name: "Memory of the database", Value: megabytes(use.Used)}
		if use.Max > 0 {
			line.Value += fmt.Sprintf(" of %s (%.0f %%)", megabytes(use.Max), 100*use.Share())
			line.Bad = use.Share() > 0.8
		}
		if len(servers) > 1 {
			line.Name += " at " + use.Address
		}
		lines = append(lines, line)
	}
	return append(lines, view.OverviewLine{Name: "Version", Value: h.version})
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
	line := view.OverviewLine{Name: "Background jobs waiting", Value: view.Thousands(work.Waiting)}
	if work.Stalled > time.Minute {
		line.Value += ", waiting for " + work.Stalled.Round(time.Second).String()
		line.Bad = true
	}
	lines = append(lines, line)
	dead, err := h.app.DeadJobs(ctx)
	return append(lines, view.OverviewLine{Name: "Background jobs failed", Value: strconv.FormatInt(dead, 10), Bad: dead > 0}), err
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
