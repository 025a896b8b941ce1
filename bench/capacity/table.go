package main

import (
	"fmt"
	"math"
	"os"
	"strings"

	"retwis/bench/measure"
)

// table prints what sites need, one below the other in Markdown.
func table(needs []Need) string {
	var b strings.Builder
	row := func(name string, cell func(n Need) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range needs {
			fmt.Fprintf(&b, " %s |", cell(n))
		}
		b.WriteByte('\n')
	}
	row("users", func(n Need) string { return fmt.Sprintf("%g million", n.Users/1e6) })
	b.WriteString("| --- |" + strings.Repeat(" ---: |", len(needs)) + "\n")
	row("posts a second, at the peak", func(n Need) string { return number(n.PostsASecond) })
	row("pages a second", func(n Need) string { return number(n.PagesASecond) })
	row("timelines written a second", func(n Need) string { return number(n.PushesASecond) })
	row("CPU of all masters, cores", func(n Need) string { return number(n.MastersCPU) })
	row("CPU of all web processes, cores", func(n Need) string { return number(n.WebCPU) })
	row("CPU of the fan-out in workers, cores", func(n Need) string { return number(n.WorkersCPU) })
	row("memory for users, GB", func(n Need) string { return number(n.UserBytes / 1e9) })
	row("… for follows", func(n Need) string { return number(n.FollowBytes / 1e9) })
	row("… for home timelines", func(n Need) string { return number(n.TimelineBytes / 1e9) })
	row("… for notifications", func(n Need) string { return number(n.NoticeBytes / 1e9) })
	row("… for likes", func(n Need) string { return number(n.LikeBytes / 1e9) })
	row(fmt.Sprintf("… for the posts of %s", years(needs[0].Years)), func(n Need) string { return number(n.PostBytes / 1e9) })
	row("**masters**, each with as many replicas", func(n Need) string { return fmt.Sprintf("**%d**", n.Masters) })
	row("**web processes**", func(n Need) string { return fmt.Sprintf("**%d**", n.Web) })
	row("**workers**", func(n Need) string {
		if n.Workers == 0 {
			return "none: web processes"
		}
		return fmt.Sprintf("**%d**", n.Workers)
	})
	row("**memory, GB**", func(n Need) string { return "**" + number(n.RAM/1e9) + "**" })
	row("`timeline`, share of a core", func(n Need) string { return percent(n.Timeline) })
	row("`tasks`, share of a core", func(n Need) string { return percent(n.Tasks) })
	row("largest set of followers, GB", func(n Need) string { return number(n.StarBytes / 1e9) })
	row("limited first by", func(n Need) string { return n.First })
	return b.String()
}

// costs prints what was measured.
func costs() string {
	var b strings.Builder
	b.WriteString("| what | cost | measured |\n| --- | ---: | --- |\n")
	for _, c := range Costs {
		source := c.Otherwise
		if source == "" {
			source = fmt.Sprintf("[benchmarks](benchmarks.md), “%s”", c.Column)
		}
		fmt.Fprintf(&b, "| %s | %g %s | %s |\n", c.What, c.Value, c.Unit, source)
	}
	return b.String()
}

func percent(share float64) string { return number(100*share) + " %" }

// number prints two digits at least.
func number(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.2g", n)
	}
	return measure.Thousands(int(math.RoundToEven(n)))
}

// replaced returns a page with other tables.
func replaced(page, needed string) (string, error) {
	for name, table := range map[string]string{"capacity": needed, "costs": costs()} {
		begin, end := "<!-- "+name+": written by bench/capacity -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(page, begin)
		_, after, found := strings.Cut(rest, end)
		if !ok || !found {
			return "", fmt.Errorf("the page has no place for a table: %q", begin)
		}
		page = before + begin + table + end + after
	}
	return page, nil
}

func write(path string, needs []Need) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := replaced(string(text), table(needs))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

func years(n float64) string {
	if n == 1 {
		return "a year"
	}
	return fmt.Sprintf("%g years", n)
}
