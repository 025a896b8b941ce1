package work

import "time"

// PollEveryHour makes an engine that is about to start look for tasks once an hour.
func (e *Engine) PollEveryHour() { e.poll = time.Hour }
