package social

import "time"

// RenewClaims does at once what happens every ten seconds.
func (s *Service) RenewClaims() { s.renew(s.background) }

// Claims is how many fan-outs this process works on.
func (s *Service) Claims() int { return len(s.claims.all()) }

// SessionGrace sets how long a session may take to begin.
func (s *Service) SessionGrace(d time.Duration) { s.sessionGrace = d }
