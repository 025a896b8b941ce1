package work

import "time"

// PollEveryHour makes an engine that has not been started poll for tasks once an hour.
func (e *Engine) PollEveryHour() { e.poll = time.Hour }

// NoPatience makes an engine accept writes that only the master has as soon as the replicas have
// failed to acknowledge a write.
func (e *Engine) NoPatience() { e.fence.patient = 0 }
